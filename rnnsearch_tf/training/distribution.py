"""The devices of a training run: one, several in a machine, or several machines."""

import contextlib
import functools
import os
import subprocess
import sys
import typing
from collections.abc import Iterator

import tensorflow as tf
from numpy.typing import ArrayLike

from rnnsearch_tf import interrupts
from rnnsearch_tf.config import StrategyName
from rnnsearch_tf.digests import json_digest
from rnnsearch_tf.errors import InputError, TemporaryError, first_line
from rnnsearch_tf.extras import package
from rnnsearch_tf.provenance import hardware
from rnnsearch_tf.tf_functions import graph_function
from rnnsearch_tf.training.cluster import ROLES, Cluster, direct_connections, find_cluster

STRATEGIES: tuple[StrategyName, ...] = typing.get_args(StrategyName)
ONE, MIRRORED, MULTI_WORKER = STRATEGIES
_GPU_ADVICE = (
    "it can in WSL 2"
    if sys.platform == "win32"
    else f'pip install "{package("[cuda]")}" brings the CUDA libraries that it needs'
)
# Errors of a collective operation when another machine no longer answers.
_WORKER_GONE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)


def build_strategy(name: str, cluster: Cluster | None = None) -> tf.distribute.Strategy:
    """Build a strategy; "multi_worker" must be built before TensorFlow does anything.

    "one" is the first device; "mirrored" is all GPUs of this machine, or all logical CPUs where
    there is no GPU; "multi_worker" is the cluster, or the one that the environment describes (see
    `find_cluster`). InputError for an unknown name, and for "multi_worker" without a usable
    cluster.
    """
    if name == ONE:
        return tf.distribute.get_strategy()
    if name == MIRRORED:
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return _mirrored(tuple(device.name for device in devices))
    if name != MULTI_WORKER:
        raise InputError(f"--strategy {name}: choose one of {', '.join(STRATEGIES)}")
    cluster = cluster or find_cluster(None, None, os.environ)
    os.environ.update(direct_connections(cluster.workers, os.environ))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": cluster.workers}),
        task_type="worker",
        task_id=cluster.index,
        rpc_layer="grpc",
        num_accelerators={"GPU": len(tf.config.get_visible_devices("GPU"))},
    )
    try:
        # It waits for the others, while no Python handler can run. TensorFlow takes over SIGTERM.
        with interrupts.by_default():
            return tf.distribute.MultiWorkerMirroredStrategy(resolver)
    except tf.errors.OpError as error:
        # For a port that another job still uses, gRPC reports an unknown error.
        may_come = tf.errors.DeadlineExceededError, tf.errors.UnknownError
        kind = TemporaryError if isinstance(error, (*_WORKER_GONE, *may_come)) else InputError
        count = len(cluster.workers)
        raise kind(f"{count} workers could not connect: {first_line(error)}") from error


# Built once in a process: the collective operations of two strategies would have the same keys.
@functools.cache
def _mirrored(devices: tuple[str, ...]) -> tf.distribute.Strategy:
    return tf.distribute.MirroredStrategy(devices)


def used_hardware(strategy: tf.distribute.Strategy) -> str:
    """Describe the devices of a training run, as a record of training.jsonl names them.

    For example "2 × NVIDIA H200", or "4 workers, the chief on 1 × NVIDIA H200".
    """
    resolver = strategy.cluster_resolver
    if resolver is None:
        return hardware(strategy.num_replicas_in_sync)
    workers = len(_tasks(resolver))
    return f"{workers} workers, the chief on {hardware(strategy.num_replicas_in_sync // workers)}"


def _tasks(resolver: tf.distribute.cluster_resolver.ClusterResolver) -> list[tuple[str, int]]:
    """Name the workers by role and index; the first is the chief, perhaps in a role of its own."""
    hosts = resolver.cluster_spec().as_dict()
    return [(role, i) for role in ROLES for i in range(len(hosts.get(role, [])))]


def gpu_advice(strategy: tf.distribute.Strategy) -> str:
    """Return what to append to the hardware if a training run does not use an expected GPU."""
    if tf.config.get_visible_devices("GPU"):
        return ""
    if unusable := _unusable_gpus():
        return f": TensorFlow cannot use this machine's {unusable}; {_GPU_ADVICE}"
    if isinstance(strategy, tf.distribute.MirroredStrategy):
        replicas = strategy.num_replicas_in_sync
        return f": --strategy={MIRRORED} has found no GPU and uses the CPU as {replicas} devices"
    return ""


def _unusable_gpus() -> str:
    """Return the names of the GPUs that NVIDIA's driver knows and TensorFlow does not use."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # hidden on purpose
        return ""
    try:
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return ", ".join(sorted(set(listed.stdout.splitlines())))


class Workers:
    """The machines that train together; a single one without a cluster.

    Worker 0 is the chief: only it evaluates and writes to the model directory.
    """

    def __init__(self, strategy: tf.distribute.Strategy):
        self.strategy = strategy
        resolver = strategy.cluster_resolver
        own = resolver and (resolver.task_type, resolver.task_id)
        self.is_chief = own is None or own == _tasks(resolver)[0]

    @contextlib.contextmanager
    def needed(self) -> Iterator[None]:
        """Run a block that needs the other workers.

        TemporaryError if one no longer answers; InputError if one has another number of GPUs.
        """
        try:
            yield
        except _WORKER_GONE as error:
            raise TemporaryError(f"another worker is gone: {first_line(error)}") from error
        except tf.errors.InternalError as error:
            if "joining a group" not in str(error):
                raise
            raise InputError(f"the workers' numbers of GPUs differ: {first_line(error)}") from error

    def check(self, problem: str | InputError | None) -> None:
        """Wait until all workers have called this; fail together if one has a problem.

        The error of the others is a TemporaryError unless trying again would not help.
        """
        error = InputError(problem) if isinstance(problem, str) else problem
        lasts = error is not None and not isinstance(error, TemporaryError)
        failed, lasting = self._sum([float(error is not None), float(lasts)], chief_only=False)
        if failed:
            self.leave()
            kind = InputError if lasting else TemporaryError
            raise error or kind("another worker failed; see its messages")

    def leave(self) -> None:
        """Wait until all are about to end, or have ended."""
        # A worker that ended at once would cut off the others while they receive the last sum.
        with contextlib.suppress(*_WORKER_GONE):
            self._sum([0.0], chief_only=False)

    def check_same(self, text: str, problem: str | InputError) -> None:
        """Wait for all workers; fail together if the text of one is not the chief's."""
        mine = float(int(json_digest(text)[:12], 16))
        chiefs = float(self.broadcast([mine])[0])
        self.check(None if mine == chiefs else problem)

    def broadcast(self, values: ArrayLike) -> tf.Tensor:
        """Return the chief's values, float64 [N], on every worker; waits until all call this."""
        return self._sum(values, chief_only=True)

    # The signature gives one graph for all lengths: TensorFlow warns of repeated tracing.
    @graph_function(input_signature=[tf.TensorSpec([None], tf.float64), tf.TensorSpec([], tf.bool)])
    def _sum(self, values: ArrayLike, chief_only: bool) -> tf.Tensor:
        """Sum over all replicas, or over the first one alone, which is the chief's."""

        def reduce(values: tf.Tensor) -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = tf.equal(context.replica_id_in_sync_group, 0)
            counts = tf.logical_or(tf.logical_not(chief_only), is_first)
            # A sum with zeros is a broadcast: TensorFlow has no other one across replicas. `where`
            # and not a product, since 0 · NaN is NaN.
            mine = tf.where(counts, values, tf.zeros_like(values))
            return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        # In eager mode, no signature has made them float64.
        summed = self.strategy.run(reduce, (tf.convert_to_tensor(values, tf.float64),))
        return self.strategy.experimental_local_results(summed)[0]
