"""Parts of a batch side by side, one on each core."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import tensorflow as tf

Line = TypeVar("Line", str, bytes, str | bytes)
Result = TypeVar("Result")

_PART = 64  # lines; fixed, so that results do not depend on the number of threads


def prefer_side_by_side() -> None:
    """Have TensorFlow run each operation on one thread, so that `side_by_side` has the cores.

    The operations of a search are small: two searches on a core each are faster than one after the
    other on both. It does nothing if there is a GPU or a single core, or if TensorFlow runs
    already.
    """
    if _cores() > 1 and not tf.config.list_physical_devices("GPU"):
        with contextlib.suppress(RuntimeError):  # TensorFlow runs already
            tf.config.threading.set_intra_op_parallelism_threads(1)


@contextlib.contextmanager
def side_by_side() -> Iterator[Callable[..., Iterable]]:
    """Yield a function like `map`, on all cores where TensorFlow runs each operation on one."""
    threads = _cores() if tf.config.threading.get_intra_op_parallelism_threads() == 1 else 1
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


def map_parts(
    apply: Callable[..., Iterable],
    function: Callable[[Sequence[Line]], Sequence[Result]],
    lines: Sequence[Line],
) -> list[Result]:
    """Apply a function to parts of similar length, and return its results in the order of `lines`.

    Args:
        apply: from `side_by_side`.
        function: maps lines to as many results.
        lines: any number.
    """
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    # The longest go first: what is left to the end takes little time.
    parts = [order[max(end - _PART, 0) : end] for end in range(len(order), 0, -_PART)]
    done = apply(lambda part: function([lines[i] for i in part]), parts)
    results: dict[int, Result] = {}
    for part, part_results in zip(parts, done, strict=True):
        results.update(zip(part, part_results, strict=True))
    return [results[i] for i in range(len(lines))]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
