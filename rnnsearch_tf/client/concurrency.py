"""Concurrent calls, their results in order."""

import collections
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")
_Promised = TypeVar("_Promised", covariant=True)


class Pending(Protocol[_Promised]):
    """Work that will have a result."""

    def result(self) -> _Promised:
        """Wait for the result, or raise the error of the work."""

    def cancel(self) -> Any:
        """Cancel the work, without waiting for its end."""


def in_order(
    items: Iterable[_Batch], start: Callable[[_Batch], Pending[_Result]], concurrency: int
) -> Generator[_Result, None, None]:
    """Iterate over results in the order of `items`, with several calls running.

    The next item is read when the caller asks for the next result. An error, of an item's work or
    of `items` itself, is raised in its turn. Calls that are then still running are cancelled, as
    they are when the caller leaves.
    """
    window: collections.deque[Pending[_Result]] = collections.deque()
    started = _started(items, start)
    try:
        while True:
            window.extend(itertools.islice(started, concurrency - len(window)))
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
        failed: Future[_Result] = Future()
        failed.set_exception(error)
        yield failed
