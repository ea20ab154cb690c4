"""Parts of a batch side by side, one on each core."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import tensorflow as tf

from rnnsearch_tf import interrupts, threads

Line = TypeVar("Line", str, bytes, str | bytes)
Result = TypeVar("Result")

_PART = 64  # lines; fixed, so that results do not depend on the number of threads


@contextlib.contextmanager
def side_by_side() -> Iterator[Callable[..., Iterable]]:
    """Yield a function like `map` that uses all cores if TensorFlow runs each operation on one."""
    count = threads.cores() if tf.config.threading.get_intra_op_parallelism_threads() == 1 else 1
    if count == 1:
        yield map
        return
    pool = ThreadPoolExecutor(count, thread_name_prefix=interrupts.LEFT_BEHIND)
    try:
        yield pool.map
    except BaseException:  # after a signal, or in a closed generator, do not wait for a search
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def map_parts(
    apply: Callable[..., Iterable],
    function: Callable[[Sequence[Line]], Sequence[Result]],
    lines: Sequence[Line],
) -> list[Result]:
    """Apply a function to parts of similar length, and return its results in the order of `lines`.

    `apply` is from `side_by_side`; the function maps lines to as many results.
    """
    order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
    # The longest go first: what is left to the end takes little time.
    parts = [order[max(end - _PART, 0) : end] for end in range(len(order), 0, -_PART)]
    done = apply(lambda part: function([lines[i] for i in part]), parts)
    results: dict[int, Result] = {}
    for part, part_results in zip(parts, done, strict=True):
        results.update(zip(part, part_results, strict=True))
    return [results[i] for i in range(len(lines))]
