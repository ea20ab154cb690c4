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

from rnnsearch_tf.client.address import Address
from rnnsearch_tf.client.errors import DeadlineError, ServingError, UnavailableError
from rnnsearch_tf.errors import until_error

_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 10.0

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


class Call(Generic[_Result]):
    """The call of one batch, its retries included; it may take `seconds` from now on."""

    def __init__(self, address: Address, seconds: float):
        self.attempts = 0
        self._address = address
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._break_off: Callable[[], None] | None = None
        self._future: concurrent.futures.Future[_Result] = concurrent.futures.Future()
        self._is_over = threading.Event()

    def start(self, work: Callable[[], _Result]) -> None:
        """Begin the work, which observes deadline and cancellation, in a thread of its own."""
        # A daemon: a process that has given up must not wait for the resolver of host names.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def result(self) -> _Result:
        """Wait for the result or the error of the work, at most until the deadline."""
        # The work's own timeouts do not cover an answer that trickles in, or a slow name lookup.
        self._is_over.wait(self.remaining())
        if not self._future.done():
            late = self.late()
            self.cancel()
            raise late
        return self._future.result()

    def remaining(self) -> float:
        """Return the seconds to the deadline, 0 after it."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise an error where the deadline has passed or the call was cancelled."""
        if self._cancelled.is_set() or not self.remaining():
            raise self.late()

    def late(self) -> DeadlineError:
        """Make the error of a call that has not ended before its deadline or its cancellation."""
        if self._cancelled.is_set():
            problem = "the client was closed before the answer came"
        else:
            problem = (
                f"no complete answer within {self._seconds:g} s; a longer deadline or a smaller "
                "batch_size may help"
            )
        return DeadlineError(self._address, problem, self.attempts)

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
        """Cancel the call, without waiting for its end: its answer is not needed any more."""
        with self._lock:
            self._cancelled.set()
            if self._break_off is not None:
                self._break_off()
        self._is_over.set()

    def _run(self, work: Callable[[], _Result]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:
            self._future.set_exception(error)
        self._is_over.set()


def in_order(
    items: Iterable[_Batch], start: Callable[[_Batch], Call[_Result]], concurrency: int
) -> Generator[_Result, None, None]:
    """Iterate over results in the order of `items`, with several calls running.

    The next item is read when the caller asks for the next result. An error, of an item's work or
    of `items` itself, is raised after the results before it. Calls that are still running then, or
    when the caller stops early, are cancelled.
    """
    window: collections.deque[Call[_Result]] = collections.deque()
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
        for call in window:
            call.cancel()
    if errors:
        raise errors[0]


def with_retries(call: Call, attempt: Callable[[Call], _Result], attempts: int) -> _Result:
    """Repeat an attempt while it raises `UnavailableError`, at most `attempts` times.

    The pauses double, each shortened at random by up to a half, so that clients which failed
    together do not come back together. No attempt begins after the deadline of the call. The error
    of the last attempt gives their number.
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        call.attempts += 1
        try:
            return attempt(call)
        except ServingError as error:
            error.attempts = call.attempts
            wait = pause * random.uniform(0.5, 1.0)
            is_last = call.attempts >= attempts or wait >= call.remaining()
            if is_last or not isinstance(error, UnavailableError):
                raise
        call.pause(wait)
        call.check()
        pause = min(2 * pause, _MAX_PAUSE_SECONDS)
