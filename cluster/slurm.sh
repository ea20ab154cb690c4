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
# Workers remove it at a status that would only recur: 1, 2 and 70 (bad input, wrong flags, a bug),
# 126 and 127 (no such command). srun gives the highest status of all. Unlike writing, removing
# works on a full disk.
requeue=$folder/.requeue-$SLURM_JOB_ID
: > "$requeue" || exit 1
# Slurm signals this shell, and with some proctrack plugins all its children. So the worker ignores
# SIGTERM and gets a SIGHUP in its place, once for each: it saves and ends, and this shell waits.
worker='
set +e
(trap "" TERM; exec "$@") &
trap "kill -HUP $! 2>/dev/null" TERM INT HUP
wait $!
while kill -0 $! 2>/dev/null; do wait $!; done
wait $!; status=$?
case $status in 1 | 2 | 70 | 126 | 127) rm -f "$0" ;; esac
exit $status'
# --label: each line of the log begins with the number of its worker.
# --cpus-per-task again: SLURM 22.05 and 23.02 do not pass it on.
srun --cpus-per-task="${SLURM_CPUS_PER_TASK:-8}" --kill-on-bad-exit=1 --label \
    bash -c "$worker" "$requeue" rnnsearch-train \
    --strategy=multi_worker \
    --preset=rnnsearch-50 \
    --evaluation_interval=10000 \
    --batch_size=320 \
    --model_dir="$folder/model" \
    --cache_dir="$folder/cache" \
    --train_source="$text" \
    --train_target="$folder/train.fr.gz" \
    --valid_source="$folder/valid.en.gz" \
    --valid_target="$folder/valid.fr.gz"
status=$?
# A worker was lost, or the time is over (SIGTERM, 300 s before): all resume in a new run of the job.
# 75 may also be the lock of a lost machine.
cat "$requeue" 2> /dev/null # opens it, which NFS does not answer from its cache
may_recover=$?
rm -f "$requeue"
if [ "$status" -ne 0 ] && [ $may_recover -eq 0 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 100 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
