"""TensorFlow's threads on a CPU.

The products of a search, and of the training of a small model, are too small to occupy several
cores. Several searches, or the two halves of a batch, do: each with operations of fewer threads.
"""

import contextlib
import os

import tensorflow as tf

_SMALL = 700  # with more hidden units, an update gains nothing from two halves


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_operations(threads: int) -> None:
    """Have TensorFlow give an operation so many threads, so that several operations have cores.

    It does nothing if there is a GPU, or if TensorFlow runs already. `TF_NUM_INTRAOP_THREADS` in
    the environment takes precedence.
    """
    is_chosen = "TF_NUM_INTRAOP_THREADS" in os.environ
    if threads < 1 or is_chosen or tf.config.get_visible_devices("GPU"):
        return
    with contextlib.suppress(RuntimeError):  # TensorFlow runs already
        tf.config.threading.set_intra_op_parallelism_threads(threads)


def limit_for_halves(units: int) -> None:
    """Give each half of a batch its cores, where an update is computed in two halves."""
    if halves_pay(units):
        limit_operations(cores() // 2)


def halves_pay(units: int) -> bool:
    """Return whether an update takes less time in two halves, by the number of hidden units."""
    at_once = int(os.environ.get("TF_NUM_INTEROP_THREADS") or cores())
    return at_once > 1 and units <= _SMALL and not tf.config.get_visible_devices("GPU")
