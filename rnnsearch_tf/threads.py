"""TensorFlow's threads on a CPU.

The operations of a search or of an update are too small to keep several cores busy. Several
searches, or the two halves of a batch, do so side by side, with fewer threads for each operation.
"""

import contextlib
import os

import tensorflow as tf


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_operations(threads: int) -> None:
    """Limit the threads of a TensorFlow operation, so that several operations can run at once.

    It does nothing if there is a GPU, or TensorFlow is already running. `TF_NUM_INTRAOP_THREADS` in
    the environment takes precedence.
    """
    is_chosen = "TF_NUM_INTRAOP_THREADS" in os.environ
    if threads < 1 or is_chosen or tf.config.get_visible_devices("GPU"):
        return
    with contextlib.suppress(RuntimeError):  # TensorFlow runs already
        tf.config.threading.set_intra_op_parallelism_threads(threads)


def limit_for_halves() -> None:
    """Give each half of a batch its own cores, if an update is computed in two halves."""
    if halves_pay():
        limit_operations(cores() // 2)


def halves_pay() -> bool:
    """Return whether an update takes less time in two halves."""
    given = os.environ.get("TF_NUM_INTEROP_THREADS", "")
    at_once = int(given) if given.isdecimal() else 0
    return (at_once or cores()) > 1 and not tf.config.get_visible_devices("GPU")
