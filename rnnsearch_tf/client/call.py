"""Calls: deadline, retries, cancellation, and several at once."""

import collections
import concurrent.futures
import contextlib
import itertools
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Generic, TypeVar

from rnnsearch_tf.client.errors import ServingError, UnavailableError
from rnnsearch_tf.errors import until_error

_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 10.0

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


class Call:
    """The call of one batch, its retries included; it may take `seconds` from now on."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.attempts = 0
        self._end = time.monotonic() + seconds
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._break_off: Callable[[], None] | None = None

    def remaining(self) -> float:
        """Return the seconds to the deadline, 0 after it."""
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Whether the deadline has passed or the call was cancelled."""
        return self.is_cancelled() or self.remaining() == 0

    def is_cancelled(self) -> bool:
        """Whether its answer is not needed any more."""
        return self._cancelled.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, at most until the call is cancelled."""
        self._cancelled.wait(seconds)

    @contextlib.contextmanager
    def broken_off_by(self, action: Callable[[], None]) -> Iterator[None]:
        """Return a context in which `cancel` calls `action`, in the thread of the caller."""
        with self._lock:
            self._break_off = action
            if self._cancelled.is_set():
                action()
        try:
            yield
        finally:
            with self._lock:
                self._break_off = None

    def cancel(self) -> None:
        """Cancel the call: its answer is not needed any more."""
        with self._lock:
            self._cancelled.set()
            if self._break_off is not None:
                self._break_off()


class Running(Generic[_Result]):
    """Work in a thread of its own.

    The work observes the deadline and the cancellation of its call; `late` makes the error of a
    call that has not ended by its deadline.
    """

    def __init__(
        self, call: Call, work: Callable[[Call], _Result], late: Callable[[Call], Exception]
    ):
        self._call = call
        self._late = late
        self._future: concurrent.futures.Future[_Result] = concurrent.futures.Future()
        # A daemon: a process that has given up must not wait for the resolver of host names.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def result(self) -> _Result:
        """Wait for the result or the error of the work, at most until the deadline of the call."""
        # The work's own timeouts do not see an answer that trickles, or a resolver that is slow.
        concurrent.futures.wait([self._future], self._call.remaining())
        if not self._future.done():
            late = self._late(self._call)
            self.cancel()
            raise late
        return self._future.result()

    def cancel(self) -> None:
        """Cancel the work, without waiting for its end."""
        self._call.cancel()

    def _run(self, work: Callable[[Call], _Result]) -> None:
        try:
            self._future.set_result(work(self._call))
        except BaseException as error:
            self._future.set_exception(error)


def in_order(
    items: Iterable[_Batch], start: Callable[[_Batch], Running[_Result]], concurrency: int
) -> Generator[_Result, None, None]:
    """Iterate over results in the order of `items`, with several calls running.

    The next item is read when the caller asks for the next result. An error, of an item's work or
    of `items` itself, is raised in its turn. Calls that are then still running are cancelled, as
    they are when the caller leaves.
    """
    window: collections.deque[Running[_Result]] = collections.deque()
    errors: list[Exception] = []
    started = until_error(map(start, items), errors)
    try:
        while True:
            window.extend(itertools.islice(started, concurrency - len(window)))
            if not window:
                break
            yield window[0].result()
            window.popleft()
    finally:
        for running in window:
            running.cancel()
    if errors:
        raise errors[0]


def with_retries(call: Call, attempt: Callable[[], _Result], attempts: int) -> _Result:
    """Repeat an attempt while it raises `UnavailableError`, at most `attempts` times.

    The pauses double, each shortened at random by up to a half, so that clients which failed
    together do not come back together. No attempt begins after the deadline of the call. The error
    of the last one tells their number.
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        call.attempts += 1
        try:
            return attempt()
        except ServingError as error:
            error.attempts = call.attempts
            wait = pause * random.uniform(0.5, 1.0)
            is_last = call.attempts >= attempts or wait >= call.remaining()
            if is_last or not isinstance(error, UnavailableError):
                raise
        call.pause(wait)
        pause = min(2 * pause, _MAX_PAUSE_SECONDS)
