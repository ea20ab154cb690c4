"""The machines of a training run, as flags, TF_CONFIG and SLURM name them."""

import json
import re
from typing import Any

import pytest

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.training.cluster import Cluster, direct_connections, expand_hosts, find_cluster

SLURM = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_PROCID": "2",
    "SLURM_STEP_NODELIST": "gpu[01-02],big7",
    "SLURM_STEP_NUM_TASKS": "3",
}


def tf_config(cluster: dict[str, Any], kind: str, index: Any) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a:2222"]),
        ("a:1,b.c:65535", ["a:1", "b.c:65535"]),
        ("n[1-3]", ["n1:2222", "n2:2222", "n3:2222"]),
        ("n[08-10,2],m", ["n08:2222", "n09:2222", "n10:2222", "n2:2222", "m:2222"]),
        ("r[1-2]n[1-2]:9", ["r1n1:9", "r1n2:9", "r2n1:9", "r2n2:9"]),
        ("job-node-0-[0-1].job:2223", ["job-node-0-0.job:2223", "job-node-0-1.job:2223"]),
        ("nid[005123-005124]", ["nid005123:2222", "nid005124:2222"]),
        ("10.0.0.[1-2]", ["10.0.0.1:2222", "10.0.0.2:2222"]),
    ],
)
def test_lists_of_hosts(text, hosts):
    assert expand_hosts(text, "--workers") == hosts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--workers '': must be hosts"),
        ("a b", "must be hosts"),
        ("n[3-1]", "--workers: [3-1] is not a list"),
        ("n[1-999999999]", "[1-999999999] is not a list"),
        ("n[1,]", "[1,] is not a list"),
        ("a:", "--workers: 'a:' is not HOST:PORT"),
        ("a:0", "'a:0' is not HOST"),
        ("a:65536", "'a:65536' is not HOST"),
        (":2222", "':2222' is not HOST"),
        ("a,b,a:2222", "--workers: a:2222 occurs twice"),
        ("a,n[1,1]", "--workers: n1:2222 occurs twice"),
    ],
)
def test_other_lists_are_refused_in_a_line(text, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        find_cluster(text, 0, {})


def test_flags_come_before_variables():
    variables = {**tf_config({"worker": ["x:1"]}, "worker", 0), **SLURM}
    assert find_cluster("a:1,b:1", 1, variables) == Cluster(["a:1", "b:1"], 1)
    assert find_cluster(None, None, variables) == Cluster(["x:1"], 0)


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "place"),
    [
        ({"worker": ["a:1", "b:1", "c:1"]}, "worker", 1, 1),
        ({"worker": ["a:1", "b:1", "c:1"]}, "worker", "2", 2),
        ({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "chief", 0, 0),  # Vertex AI's
        ({"chief": ["a:1"], "worker": ["b:1", "c:1"]}, "worker", 1, 2),
    ],
)
def test_tf_config(cluster, kind, index, place):
    found = find_cluster(None, None, tf_config(cluster, kind, index))
    assert found == Cluster(["a:1", "b:1", "c:1"], place)


def test_tf_config_may_have_ipv6_addresses():
    cluster = {"worker": ["[::1]:1", "[fe80::a]:65535"]}
    assert find_cluster(None, None, tf_config(cluster, "worker", 1)).workers == cluster["worker"]


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (["a", "b"], "TF_CONFIG: 'a' is not HOST:PORT"),
        (["a:1", "a:1"], "TF_CONFIG: a:1 occurs twice"),
    ],
)
def test_hosts_of_a_tf_config_are_checked(hosts, message):
    with pytest.raises(InputError, match=message):
        find_cluster(None, None, tf_config({"worker": hosts}, "worker", 0))


@pytest.mark.parametrize(
    ("cluster", "kind", "index"),
    [
        ({"worker": ["a:1"]}, "worker", 1),
        ({"worker": ["a:1"]}, "worker", -1),
        ({"worker": ["a:1"]}, "worker", float("inf")),
        ({"worker": ["a:1"]}, "worker", None),
        ({"worker": ["a:1"]}, "chief", 0),
        ({"worker": ["a:1"], "ps": ["b:1"]}, "ps", 0),
        ({"worker": "a:1"}, "worker", 0),
        ({"worker": [1]}, "worker", 0),
        ([], "worker", 0),
    ],
)
def test_a_tf_config_without_this_machine_is_refused(cluster, kind, index):
    with pytest.raises(InputError, match=r"^TF_CONFIG is not "):
        find_cluster(None, None, tf_config(cluster, kind, index))


def test_a_job_step_of_slurm():
    workers = ["gpu01:14567", "gpu02:14567", "big7:14567"]
    assert find_cluster(None, None, SLURM) == Cluster(workers, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"SLURM_STEP_NODELIST": None}, "SLURM_STEP_NODELIST is not set: under SLURM, srun starts"),
        ({"SLURM_STEP_NUM_TASKS": None}, "SLURM_STEP_NUM_TASKS is not set"),
        (
            {"SLURM_STEP_NUM_TASKS": "6"},
            "SLURM_STEP_NUM_TASKS 6: must be the number of machines, 3",
        ),
        ({"SLURM_STEP_NUM_TASKS": "many"}, "SLURM_STEP_NUM_TASKS 'many': is not a number"),
        ({"SLURM_STEP_NODELIST": "gpu[01-"}, "SLURM_STEP_NODELIST 'gpu[01-': must be hosts"),
        ({"SLURM_PROCID": "3"}, "SLURM_PROCID 3: of 3 workers, the last is 2"),
        ({"SLURM_PROCID": "-1"}, "SLURM_PROCID '-1': is not a number"),
    ],
)
def test_variables_of_slurm_that_do_not_fit_are_told_in_a_line(change, message):
    variables = {name: value for name, value in {**SLURM, **change}.items() if value is not None}
    with pytest.raises(InputError, match=f"^{re.escape(message)}") as told:
        find_cluster(None, None, variables)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("workers", "index", "message"),
    [
        ("a,b", None, "--workers and --worker_index must be given together"),
        (None, 0, "--workers and --worker_index must be given together"),
        (None, None, "needs --workers and --worker_index, or the variable TF_CONFIG"),
        ("a,b", 2, "^--worker_index 2: of 2 workers, the last is 1$"),
        ("a,,b", 0, "^--workers 'a,,b': must be hosts"),
    ],
)
def test_what_is_missing_or_impossible_is_told(workers, index, message):
    with pytest.raises(UsageError, match=message):
        find_cluster(workers, index, {})


@pytest.mark.parametrize(
    ("environment", "hosts"),
    [
        ({}, "a,b.c"),
        ({"no_proxy": "d"}, "d,a,b.c"),
        ({"no_grpc_proxy": "e", "no_proxy": "d"}, "e,a,b.c"),
        ({"no_grpc_proxy": "", "no_proxy": "d"}, "a,b.c"),
        ({"no_grpc_proxy": "b.c,d"}, "b.c,d,a"),
    ],
)
def test_no_proxy_is_asked_for_workers(environment, hosts):
    workers = ["a:1", "b.c:2", "[::1]:3"]
    assert direct_connections(workers, environment) == {"no_grpc_proxy": f"{hosts},::1"}
