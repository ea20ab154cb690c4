"""Many calls at once, their results in order."""

import collections
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import NoReturn, Protocol, TypeVar

_Row = TypeVar("_Row")
_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")
_Promised = TypeVar("_Promised", covariant=True)


class Pending(Protocol[_Promised]):
    """What will have a result."""

    def result(self) -> _Promised:
        """Wait for the result, or raise why there is none."""

    def cancel(self) -> None:
        """Have it ended, without waiting for that."""


class _Failed:
    def __init__(self, error: Exception):
        self._error = error

    def result(self) -> NoReturn:
        raise self._error

    def cancel(self) -> None:
        pass


def batches(rows: Iterable[_Row], size: int) -> Iterator[list[_Row]]:
    """Lists of `size` rows, the last one shorter; rows before an error of `rows` are not lost."""
    batch: list[_Row] = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) == size:
                yield batch
                batch = []
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def in_order(
    items: Iterable[_Batch], start: Callable[[_Batch], Pending[_Result]], at_once: int
) -> Generator[_Result, None, None]:
    """Results in the order of `items`, of which `at_once` are begun before a result is awaited.

    The next item is read when the caller comes back for the next result. An error, of an item's
    work or of `items` itself, is raised when its turn comes. What is then still under way is
    cancelled, as it is when the caller leaves.

    Args:
        items: read lazily.
        start: begins the work for one.
        at_once: at most so many are under way.
    """
    window: collections.deque[Pending[_Result]] = collections.deque()
    started = _started(items, start)
    try:
        while True:
            window.extend(itertools.islice(started, at_once - len(window)))
            if not window:
                return
            yield window[0].result()
            window.popleft()
    finally:
        for pending in window:
            pending.cancel()


def _started(
    items: Iterable[_Batch], start: Callable[[_Batch], Pending[_Result]]
) -> Iterator[Pending[_Result]]:
    try:
        for item in items:
            yield start(item)
    except Exception as error:
        yield _Failed(error)
