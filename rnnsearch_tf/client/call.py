"""A call on its way: its deadline, its retries, and how it is cancelled."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rnnsearch_tf.client.errors import ServingError, UnavailableError

_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0

_Result = TypeVar("_Result")


class Call:
    """One batch's call, its retries included.

    Args:
        seconds: how long it may take from now on.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.attempts = 0
        self._end = time.monotonic() + seconds
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._break_off: Callable[[], None] | None = None

    def remaining(self) -> float:
        """Seconds to the deadline, 0 when it has passed."""
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        """Whether the deadline has passed or nobody wants the answer any more."""
        return self._cancelled.is_set() or self.remaining() == 0

    def pause(self, seconds: float) -> None:
        """Wait, but not when cancelled."""
        self._cancelled.wait(seconds)

    @contextlib.contextmanager
    def broken_off_by(self, action: Callable[[], None]) -> Iterator[None]:
        """Have `cancel` call `action`, in its own thread, as long as the block lasts."""
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
        """Break the call off: its answer is not wanted any more."""
        with self._lock:
            self._cancelled.set()
            if self._break_off is not None:
                self._break_off()


class Running(Generic[_Result]):
    """Work that has begun in a thread of its own.

    Args:
        call: tells the work when to end.
        work: what to do.
        late: makes the error for a call that has not ended by its deadline.
    """

    def __init__(
        self, call: Call, work: Callable[[Call], _Result], late: Callable[[Call], Exception]
    ):
        self._call = call
        self._late = late
        self._done = threading.Event()
        self._results: list[_Result] = []
        self._error: BaseException | None = None
        # A daemon: a process that has given up must not wait for the resolver of host names.
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def result(self) -> _Result:
        """Wait for the result, until the deadline of the call.

        Raises:
            Exception: what the work raised, or that of `late`.
        """
        # The work's own timeouts do not see an answer that trickles, or a resolver that is slow.
        if not self._done.wait(self._call.remaining()):
            self.cancel()
            raise self._late(self._call)
        if self._error is not None:
            raise self._error
        return self._results[0]

    def cancel(self) -> None:
        """Have the work ended, without waiting for that."""
        self._call.cancel()

    def _run(self, work: Callable[[Call], _Result]) -> None:
        try:
            self._results.append(work(self._call))
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()


def with_retries(call: Call, attempt: Callable[[], _Result], attempts: int) -> _Result:
    """Try until something else than `UnavailableError` comes of it.

    The pauses double, each shortened at random by up to a half, so that clients which failed
    together do not come back together.

    Args:
        call: its deadline holds for all attempts; none is begun that it leaves no time for.
        attempt: one try.
        attempts: at most so many.

    Raises:
        ServingError: that of the last attempt, with the number of attempts.
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
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
