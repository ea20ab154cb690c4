"""Timing, and the circumstances that are reported with it.

For Linux; nothing here knows the model. `own_harness` measures with this module,
`peers_harness` with the code that measures the peers.
"""

import argparse
import datetime
import importlib
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
import workloads
from workloads import Workload

from rnnsearch_tf.provenance import hardware, library_versions, processor
from rnnsearch_tf.threads import cores

# Both return when the work is done.
Update = Callable[[np.ndarray, np.ndarray], float]  # source, target -> nats per word
Search = Callable[[np.ndarray, int, int], Any]  # source, beam size, words of each translation

_IDLE = 0.05  # maximum fraction of the machine in use by others when a measurement starts


class Harness(NamedTuple):
    """The source of the work, and the functions that time and report it."""

    load: Callable[[str], Workload]
    time_training: Callable[[Workload, Update], dict[str, Any]]
    time_search: Callable[[Workload, int, Search], dict[str, Any]]
    report: Callable[[dict[str, Any]], None]


def argument_parser(description: str | None, part: str) -> argparse.ArgumentParser:
    """Build a parser with the options of both commands.

    Args:
        description: for `--help`.
        part: "training" or "search".
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--workload", choices=workloads.names(part), default="multi30k")
    parser.add_argument(
        "--dtype_policy",
        choices=["float32", "mixed_bfloat16"],
        default="float32",
        help="of products",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=30.0,
        help="maximum seconds to wait for an idle machine (with --peers: PEERS_WAIT_QUIET)",
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="DIR",
        help="measure with the common.py in DIR, on its batches (PEERS_DATA as for the peers)",
    )
    parser.add_argument(
        "--gpu", action="store_true", help="use the GPU and all cores, not two cores alone"
    )
    return parser


def start(arguments: argparse.Namespace) -> Harness:
    """Set cores, seeds and the dtype policy; to be called before TensorFlow does anything."""
    if arguments.gpu and arguments.peers:
        raise SystemExit("--gpu: the peers' harness hides the GPU")
    if not arguments.gpu:
        workloads.use_cores()
        if keras.config.backend() == "jax":
            importlib.import_module("jax").config.update("jax_platforms", "cpu")
    harness = peers_harness(arguments.peers) if arguments.peers else own_harness(arguments.wait)
    if keras.config.backend() != "tensorflow" or not arguments.gpu:
        tf.config.set_visible_devices([], "GPU")  # the backend's memory is not to be taken
    if arguments.gpu and _device().startswith(("CPU", "1 CPU")):
        raise SystemExit(f"--gpu: {keras.config.backend()} sees no accelerator")
    keras.config.set_dtype_policy(arguments.dtype_policy)
    keras.utils.set_random_seed(workloads.SEED)
    return harness


def own_harness(wait: float) -> Harness:
    """Build the harness of our batches, this module's clock, and a line of JSON for each result.

    Args:
        wait: maximum seconds to wait for an idle machine before each measurement.
    """
    return Harness(
        workloads.load,
        lambda workload, update: time_training(workload, update, wait),
        lambda workload, beam, search: time_search(workload, beam, search, wait),
        say,
    )


def peers_harness(folder: Path) -> Harness:
    """Build the harness of the peers' batches, clock and report.

    Args:
        folder: with their common.py.
    """
    if not (folder / "common.py").is_file():
        raise SystemExit(f"{folder}: holds no common.py")
    sys.path.insert(0, str(folder))
    common = importlib.import_module("common")
    for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):  # it sets the peers' threads
        os.environ.pop(name, None)
    return Harness(
        lambda name: workloads.from_peers(common.Workload(name)),
        common.timed_training,
        common.timed_decode,
        lambda fields: common.report(peer="rnnsearch_tf", **fields),
    )


def time_training(workload: Workload, update: Update, wait: float) -> dict[str, Any]:
    """Time updates: warm-up batches once, then each other batch twice, the shorter time counting.

    Args:
        workload: with training batches.
        update: makes one update and returns when it is done.
        wait: maximum seconds to wait for an idle machine.

    Returns:
        Rates, seconds and losses; `words_s` counts target words with `</s>`, without padding.
    """
    neighbors = Neighbors(wait)
    losses: list[float] = []

    def timed(batches: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[float]:
        times = []
        for source, target in batches:
            begin = time.perf_counter()
            losses.append(update(source, target))
            times.append(time.perf_counter() - begin)
        return times

    warm_up, rest = workload.train[: workload.warm], workload.train[workload.warm :]
    warm_up_times = timed(warm_up)
    best = list(map(min, timed(rest), timed(rest)))
    words = sum(np.count_nonzero(target) for _, target in rest)
    return {
        "words_s": words / sum(best),
        "updates_s": len(rest) / sum(best),
        "first_update_s": warm_up_times[0],
        "median_update_s": statistics.median(best),
        "loss_first": losses[0],
        "loss_last": losses[-1],
        "foreign_cpu": neighbors.fraction(),
    }


def time_search(workload: Workload, beam: int, search: Search, wait: float) -> dict[str, Any]:
    """Time searches: each batch twice, the shorter time counting.

    Args:
        workload: with search batches.
        beam: the beam size.
        search: translates a batch and returns when it is done.
        wait: maximum seconds to wait for an idle machine.

    Returns:
        Rates and counts; `words_s` counts the words of the best hypothesis of each sentence.
    """
    neighbors = Neighbors(wait)

    def timed() -> list[float]:
        times = []
        for source, length in workload.test:
            begin = time.perf_counter()
            search(source, beam, length)
            times.append(time.perf_counter() - begin)
        return times

    seconds = sum(map(min, timed(), timed()))
    sentences = sum(len(source) for source, _ in workload.test)
    words = sum(len(source) * length for source, length in workload.test)
    return {
        "beam": beam,
        "sents_s": sentences / seconds,
        "words_s": words / seconds,
        "sentences": sentences,
        "seconds": seconds,
        "foreign_cpu": neighbors.fraction(),
    }


class Neighbors:
    """The use of the machine by other processes.

    Args:
        wait: maximum seconds to wait here until they use next to nothing.
    """

    def __init__(self, wait: float):
        self._before = _processor_times()
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            time.sleep(1.0)
            is_idle = self.fraction() < _IDLE
            self._before = _processor_times()
            if is_idle:
                return

    def fraction(self) -> float:
        """Return their fraction of the time of all cores since the wait was over, 0 to 1."""
        now = _processor_times()
        elapsed = now.clock - self._before.clock
        everyone = now.machine - self._before.machine
        ours = now.ours - self._before.ours
        return max(0.0, (everyone - ours) / (elapsed * (os.cpu_count() or 1)))


class _Times(NamedTuple):
    """Seconds, each since a fixed moment in the past."""

    clock: float
    machine: float  # of work, summed over cores
    ours: float  # likewise, for this process and those it has started


def _processor_times() -> _Times:
    with open("/proc/stat", encoding="ascii") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    user, nice, system, _idle, _waiting, interrupt, soft_interrupt, stolen = ticks
    worked = user + nice + system + interrupt + soft_interrupt + stolen
    own = os.times()
    return _Times(
        time.monotonic(),
        worked / os.sysconf("SC_CLK_TCK"),
        own.user + own.system + own.children_user + own.children_system,
    )


def circumstances() -> dict[str, Any]:
    """Return date, hardware, versions and settings, and the peak memory of this process."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "date": now.isoformat(timespec="seconds"),
        "cpu": processor(),
        "device": _device(),
        "cores": os.cpu_count(),
        "threads": cores(),
        "dtype_policy": keras.config.dtype_policy().name,
        **library_versions(),
    }


def _device() -> str:
    """Describe the devices that Keras's backend uses."""
    if keras.config.backend() != "jax":
        return hardware()
    from rnnsearch_tf.training.jax_batches import jax_hardware

    return f"{jax_hardware()}, by JAX"


def say(fields: dict[str, Any]) -> None:
    """Print one line of JSON, with four decimals."""
    rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in fields.items()}
    print(json.dumps(rounded), flush=True)
