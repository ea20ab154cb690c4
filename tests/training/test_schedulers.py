"""The files in cluster/: that schedulers take them, and that all start the same training run."""

import copy
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import kubernetes_validate
import pytest
import yaml

from rnnsearch_tf.errors import InputError, TemporaryError, UsageError
from rnnsearch_tf.scripts.shared.command import BUG
from rnnsearch_tf.scripts.train import COMMAND
from rnnsearch_tf.training.cluster import Cluster, find_cluster

CLUSTER = Path(__file__).parents[2] / "cluster"
MOUNT = "/mnt/nfs/training"


def built(name: str) -> dict[str, Any]:
    """What kustomize makes of a folder, by kind."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    command = ["kubectl", "kustomize", str(CLUSTER / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    documents = list(yaml.safe_load_all(done.stdout))
    by_kind = {document["kind"]: document for document in documents}
    assert len(by_kind) == len(documents)
    return by_kind


@pytest.fixture(scope="module")
def trainjob() -> dict[str, Any]:
    return built("trainjob")


@pytest.fixture(scope="module")
def statefulset() -> dict[str, Any]:
    return built("statefulset")


def read(path: str) -> Any:
    return yaml.safe_load((CLUSTER / path).read_text("utf-8"))


def the_job(trainjob: dict[str, Any]) -> Any:
    """The only Job of the JobSet."""
    (only,) = trainjob["TrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"]
    return only


def the_container(pod: Any) -> Any:
    (only,) = pod["containers"]
    return only


def flags(arguments: list[str]) -> dict[str, str]:
    """Values by flag, of arguments that are all of the form --name=value."""
    values = dict(each.removeprefix("--").split("=", 1) for each in arguments)
    assert len(values) == len(arguments)
    return values


def template() -> Any:
    return the_container(read("pod/pod.yaml")["template"]["spec"])


def settings(arguments: list[str]) -> dict[str, str]:
    """Flags that do not say who the workers are."""
    return {k: v for k, v in flags(arguments).items() if k not in ("workers", "worker_index")}


@pytest.mark.parametrize("version", ["1.32", "1.36"])
def test_the_rest_is_kubernetes(trainjob, statefulset, version):
    job = {"apiVersion": "batch/v1", "kind": "Job", **the_job(trainjob)["template"]}
    job["metadata"] = {**job["metadata"], "name": "job"}
    others = [v for k, v in trainjob.items() if k not in ("TrainJob", "TrainingRuntime")]
    for document in [job, *others, *statefulset.values(), read("pod/pod.yaml")]:
        kubernetes_validate.validate(document, version, strict=True)


# One training run.


def test_kustomize_puts_the_one_pod_into_both(trainjob, statefulset):
    wanted = read("pod/pod.yaml")["template"]
    job = copy.deepcopy(the_job(trainjob)["template"]["spec"]["template"])
    assert job["spec"].pop("restartPolicy") == "Never"
    assert job == wanted
    pods = copy.deepcopy(statefulset["StatefulSet"]["spec"]["template"])
    del the_container(pods["spec"])["env"]
    assert pods == wanted


def test_the_flags_are_those_of_rnnsearch_train():
    for name, value in flags(template()["args"]).items():
        if "$(" not in value:
            copy.deepcopy(COMMAND.flags[name]).parse(value)


def test_a_worker_that_waits_for_the_others_can_be_stopped():
    """TensorFlow catches SIGTERM then; and no signal ends process 1 by default."""
    assert "\nSTOPSIGNAL SIGHUP\n" in (CLUSTER / "Dockerfile").read_text("utf-8")
    assert read("pod/pod.yaml")["template"]["spec"]["shareProcessNamespace"] is True


def test_vertex_ai_starts_the_same_training():
    pools = read("vertex.yaml")["workerPoolSpecs"]
    for pool in pools:
        container = pool["containerSpec"]
        assert container["imageUri"] == template()["image"]
        assert container["command"] == template()["command"]
        assert flags(container["args"]) == settings(template()["args"])
        (mount,) = pool["nfsMounts"]
        assert f"/mnt/nfs/{mount['mountPoint']}" == MOUNT


def test_what_is_written_lies_on_a_volume():
    mounts = {mount["name"]: mount["mountPath"] for mount in template()["volumeMounts"]}
    assert mounts == {"training": MOUNT, "tmp": "/tmp"}
    volumes = read("pod/pod.yaml")["template"]["spec"]["volumes"]
    assert {volume["name"] for volume in volumes} == set(mounts)
    claim = read("pod/pvc.yaml")
    assert volumes[0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for name, value in flags(template()["args"]).items():
        assert not name.endswith(("_dir", "_source", "_target")) or value.startswith(MOUNT)


# The workers find each other, and are as many everywhere.


def found(environment: dict[str, str], index: int) -> Cluster:
    """What a worker makes of its flags, once Kubernetes has put the variables in."""
    variables = {**environment, "JOB_COMPLETION_INDEX": str(index)}
    given = flags(template()["args"])
    workers, own = (
        re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], given[flag])
        for flag in ("workers", "worker_index")
    )
    return find_cluster(workers, int(own), {})


def environment(variables: list[dict[str, Any]]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in variables if "value" in each}


def test_workers_of_a_trainjob(trainjob):
    job, runtime = (trainjob[kind] for kind in ("TrainJob", "TrainingRuntime"))
    reference, trainer = job["spec"]["runtimeRef"], job["spec"]["trainer"]
    group, _ = runtime["apiVersion"].split("/")
    assert reference == {
        "apiGroup": group, "kind": runtime["kind"], "name": runtime["metadata"]["name"]
    }  # fmt: skip
    replicated, name = the_job(trainjob), job["metadata"]["name"]
    (port,) = template()["ports"]
    hosts = [
        f"{name}-{replicated['name']}-0-{i}.{name}:{port['containerPort']}"
        for i in range(trainer["numNodes"])
    ]
    for i in range(len(hosts)):
        assert found(environment(trainer["env"]), i) == Cluster(hosts, i)


def test_workers_of_a_statefulset(statefulset):
    name = statefulset["StatefulSet"]["metadata"]["name"]
    service, spec = statefulset["Service"], statefulset["StatefulSet"]["spec"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"]
    assert service["spec"]["selector"] == spec["selector"]["matchLabels"]
    assert spec["serviceName"] == service["metadata"]["name"]
    (port,) = service["spec"]["ports"]
    hosts = [f"{name}-{i}.{spec['serviceName']}:{port['port']}" for i in range(spec["replicas"])]
    variables = the_container(spec["template"]["spec"])["env"]
    assert [each["name"] for each in variables] == ["WORKERS", "JOB_COMPLETION_INDEX"]
    for i in range(len(hosts)):
        assert found(environment(variables), i) == Cluster(hosts, i)


def test_strangers_reach_no_worker(trainjob, statefulset):
    labels = read("pod/pod.yaml")["template"]["metadata"]["labels"]
    for resources in (trainjob, statefulset):
        policy = resources["NetworkPolicy"]["spec"]
        assert policy["podSelector"]["matchLabels"] == labels
        assert policy["ingress"] == [{"from": [{"podSelector": {"matchLabels": labels}}]}]


def test_all_have_as_many_workers(trainjob, statefulset):
    first, second = (pool["replicaCount"] for pool in read("vertex.yaml")["workerPoolSpecs"])
    nodes = re.search(r"^#SBATCH --nodes=(\d+)$", (CLUSTER / "slurm.sh").read_text("utf-8"), re.M)
    assert nodes
    assert first == 1  # Vertex AI takes no other number of chiefs
    assert {
        trainjob["TrainJob"]["spec"]["trainer"]["numNodes"],
        statefulset["StatefulSet"]["spec"]["replicas"],
        first + second,
        int(nodes[1]),
    } == {4}


# Losing one, all are started again.


def test_a_lost_worker_ends_all_and_all_begin_anew(trainjob, statefulset):
    job = the_job(trainjob)
    assert job["template"]["spec"]["backoffLimit"] == 0
    policy = trainjob["TrainingRuntime"]["spec"]["template"]["spec"]["failurePolicy"]
    assert policy["restartStrategy"] == "BlockingRecreate"
    assert policy["maxRestarts"] > 10
    (given_up,) = job["template"]["spec"]["podFailurePolicy"]["rules"]
    assert given_up["onExitCodes"]["values"] == [InputError.status, UsageError.status, BUG]
    assert statefulset["StatefulSet"]["spec"]["podManagementPolicy"] == "Parallel"
    assert read("vertex.yaml")["scheduling"]["restartJobOnWorkerRestart"] is True


# SLURM's script, with stand-ins for srun and scontrol.

# One worker ends with WORKER, another with STATUS, which is the higher one. Where STOPPED is
# "task", SIGTERM is sent to what srun was given alone, twice; with "all", to its child too.
SRUN = """#!/bin/sh
printf '%s\\n' "$@" > "$NOTES/srun"
shift 3
"$@" &
if [ -n "$STOPPED" ]; then
    until [ -s "$NOTES/begun" ]; do sleep 0.01; done
    sleep 0.5 # the shell sets its trap behind the start of the worker
    [ "$STOPPED" = task ] || kill "$(cat "$NOTES/begun")"
    kill $!
    until [ -e "$NOTES/asked" ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    kill $! 2>/dev/null # it may have ended already
fi
wait $!
echo $? > "$NOTES/task"
exit $STATUS
"""
TRAIN = """#!/bin/sh
[ -z "$STOPPED" ] && exit $WORKER
trap 'exit 1' TERM
trap 'trap "" HUP; touch "$NOTES/asked"; sleep 0.3; touch "$NOTES/saved"; exit 129' HUP
echo $$ > "$NOTES/begun"
sleep 9 > "$NOTES/slept" 2>&1 &
wait
"""
SCONTROL = """#!/bin/sh
[ -z "$STOPPED" ] || [ -e "$NOTES/saved" ] || exit 1
echo "$@" > "$NOTES/scontrol"
"""


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """A function that runs slurm.sh as sbatch would, where srun ends with a status."""
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL), ("rnnsearch-train", TRAIN)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "notes").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.en.gz").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("STOPPED", "")

    def run(
        *arguments: str, status: int = 0, worker: int | None = None
    ) -> tuple[int, str, dict[str, str]]:
        monkeypatch.setenv("STATUS", str(status))
        monkeypatch.setenv("WORKER", str(status if worker is None else worker))
        command = ["bash", str(CLUSTER / "slurm.sh"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        notes = {path.name: path.read_text() for path in (tmp_path / "notes").iterdir()}
        return done.returncode, done.stderr, notes

    return run


def test_slurm_starts_the_same_training(submit):
    status, said, notes = submit("folder")
    assert (status, said, set(notes)) == (0, "", {"srun", "task"})
    written = notes["srun"].replace("=folder/", f"={MOUNT}/").splitlines()
    shell = written.index("bash")
    assert written[:shell] == ["--cpus-per-task=8", "--kill-on-bad-exit=1", "--label"]
    command, *arguments = written[written.index("rnnsearch-train") :]
    assert [command] == template()["command"]
    assert flags(arguments) == settings(template()["args"])


@pytest.mark.parametrize(
    ("status", "worker"), [(TemporaryError.status, 75), (129, 129), (137, 0), (143, 0), (1, 0)]
)
def test_slurm_requeues_what_was_lost(submit, status, worker):
    """Also where srun itself fails, with status 1."""
    ended, _, notes = submit("folder", status=status, worker=worker)
    assert (ended, notes["scontrol"]) == (status, "requeue 17\n")


@pytest.mark.parametrize("signaled", ["task", "all"])
def test_slurm_waits_for_a_worker_that_is_stopped_and_saves(submit, monkeypatch, signaled):
    monkeypatch.setenv("STOPPED", signaled)
    status, said, notes = submit("folder", status=143)
    assert (status, said) == (143, "")
    assert {"saved", "scontrol"} <= set(notes)
    assert notes["task"] == "129\n"


def test_slurm_requeues_neither_errors_that_come_again_nor_for_ever(submit, monkeypatch):
    for status in (1, 2, 70, 126, 127):
        notes = {"srun": ANY, "task": f"{status}\n"}
        assert submit("folder", status=status)[::2] == (status, notes)
        # Of the other workers, killed or lost with it, the status is higher.
        assert submit("folder", status=137, worker=status)[::2] == (137, notes)
    assert [path.name for path in Path("folder").iterdir()] == ["train.en.gz"]
    monkeypatch.setenv("SLURM_RESTART_COUNT", "100")
    assert submit("folder", status=75)[::2] == (75, {"srun": ANY, "task": "75\n"})


def test_slurms_script_needs_a_folder_with_text_to_write_to(submit):
    assert submit("none") == (2, "none/train.en.gz: cannot be read\n", {})
    status, said, notes = submit()
    assert status != 0
    assert said.count("\n") == 1 and "usage: sbatch slurm.sh FOLDER" in said
    assert not notes
    Path("folder", ".requeue-17").mkdir()
    status, said, notes = submit("folder")
    assert (status, said.count("\n"), notes) == (1, 1, {})
