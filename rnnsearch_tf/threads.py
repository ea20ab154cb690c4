"""TensorFlow's threads on a CPU: two operations side by side, each on half of the cores.

Products of small matrices do not occupy several cores. Two halves of the work do, each with
products of its own.
"""

import os

# With more hidden units than this, two halves gain nothing.
_SMALL = 700


def halves_pay(units: int) -> bool:
    """Return whether work is done faster in two halves here, by the number of hidden units."""
    at_once = int(os.environ.get("TF_NUM_INTEROP_THREADS") or _cores())
    return at_once > 1 and units <= _SMALL


def halve_operations(units: int) -> None:
    """Let operations have half of the cores, if `halves_pay`; before TensorFlow is imported.

    `TF_NUM_INTRAOP_THREADS` in the environment takes precedence.
    """
    if halves_pay(units):
        os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(max(1, _cores() // 2)))


def _cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
