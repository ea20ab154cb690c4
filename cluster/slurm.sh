#!/bin/bash
# sbatch slurm.sh FOLDER    FOLDER: text, cache and model directory, shared by all machines
#
# One worker on each machine; they read where they are from the variables of the job step.
#SBATCH --job-name=rnnsearch-training
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
#SBATCH --gpus-per-node=1
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@300
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
folder=${1:?usage: sbatch slurm.sh FOLDER}
text=$folder/train.en.gz
if ! [ -r "$text" ]; then # or it would be tried 100 times
    echo "$text: cannot be read" >&2
    exit 2
fi
# Said again: SLURM 22.05 and 23.02 do not pass it on.
srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-8}" --kill-on-bad-exit=1 rnnsearch-train \
    --strategy=multi_worker \
    --preset=rnnsearch-50 \
    --batch_size=320 \
    --model_dir="$folder/model" \
    --cache_dir="$folder/cache" \
    --train_source="$text" \
    --train_target="$folder/train.fr.gz" \
    --valid_source="$folder/valid.en.gz" \
    --valid_target="$folder/valid.fr.gz"
status=$?
# A worker was lost, or the time is over (SIGTERM, 300 s before): all resume in a new run of the job.
# Not after 0, the end, or 2 and 70, wrong flags and a bug. 1 may be the lock of a lost machine.
case $status in
    0 | 2 | 70) ;;
    *) [ "${SLURM_RESTART_COUNT:-0}" -ge 100 ] || scontrol requeue "$SLURM_JOB_ID" ;;
esac
exit "$status"
