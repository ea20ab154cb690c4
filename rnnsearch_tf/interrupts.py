"""Signals that end a command: in order, or at once while TensorFlow runs a graph.

Python writes a signal's number to a socket at once, where the thread of `forced` reads it. Python
runs the handler (`_raise`, or that of `deferred`) at the next bytecode of the main thread, which it
does not reach while a graph runs. If no handler has run within `_GRACE`, the thread of `forced`
ends the process.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import open_line

LEFT_BEHIND = "rnnsearch-"  # begins the name of a thread that a command does not wait for
_GRACE = 0.5  # seconds for Python to run a handler, which it cannot while a graph runs
_HANDLED = 0  # no signal's number
_HANGUP = getattr(signal, "SIGHUP", None)  # Windows lacks it
_BREAK = getattr(signal, "SIGBREAK", None)  # Ctrl-Break, on Windows alone
_ENDING = [number for number in (signal.SIGINT, signal.SIGTERM, _HANGUP, _BREAK) if number]

_watched: list[socket.socket] = []  # gets a signal's number at once, _HANDLED from its handler
_is_held = threading.Event()
_pending: list[int] = []  # signals that came meanwhile
_raised: list[int] = []  # signals that have raised KeyboardInterrupt in this `raised`
_last_words: list[Callable[[], object]] = []


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Raise KeyboardInterrupt, with its number, for a signal that would end the process.

    A library's error that takes its place, as TensorFlow's of a worker that is lost at the same
    time, is replaced. Outside the main thread, nothing is changed.
    """
    ends_process = signal.SIG_DFL, signal.default_int_handler
    _raised.clear()
    with _handled_by(_raise, {n: one for n, one in _handlers().items() if one in ends_process}):
        try:
            yield
        except Exception as error:
            if not _raised or isinstance(error, InputError | OSError):  # such as a full disk's
                raise
            raise KeyboardInterrupt(_raised[0]) from error


def _raise(number: int, frame: Any) -> None:
    del frame
    if number == signal.SIGINT and number not in _pending:
        open_line()
    if _is_held.is_set():
        _pending.append(number)
        return
    _tell_handled()
    _raised.append(number)
    raise KeyboardInterrupt(number)


@contextlib.contextmanager
def deferred() -> Iterator[list[int]]:
    """Collect the first signal instead of exiting; a second one, except SIGHUP, acts at once.

    Ignored signals, as under nohup, stay ignored. Outside the main thread, where Python handles no
    signals, nothing is collected.
    """
    received: list[int] = []
    earlier = _handlers()

    def receive(number: int, frame: Any) -> None:
        del frame
        received.append(number)
        if number == signal.SIGINT:
            open_line()
        _tell_handled()  # first, for `_watch` may already see the earlier handler
        # A terminal that closes sends SIGHUP twice: the shell does, and the kernel.
        _set({n: handler for n, handler in earlier.items() if n != _HANGUP})

    with _handled_by(receive, earlier):
        yield received


def _handlers() -> dict[int, Any]:
    """Return the handlers of signals that are not ignored; none outside the main thread.

    Those of a program around Python, such as R, are left out: Python could not set them again.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    return {n: one for n, one in handlers.items() if one not in (signal.SIG_IGN, None)}


@contextlib.contextmanager
def _handled_by(handler: Any, earlier: dict[int, Any]) -> Iterator[None]:
    """Use a handler in place of earlier ones within the block."""
    _set(dict.fromkeys(earlier, handler))
    try:
        yield
    finally:
        _set(earlier)


def _set(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _tell_handled() -> None:
    """Mark the signals that came before as handled."""
    for writer in _watched:
        with contextlib.suppress(OSError):  # full
            writer.send(bytes([_HANDLED]))


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Leave signals to `forced`, or raise KeyboardInterrupt once the block has ended.

    While TensorFlow is imported, an error raised by a signal may be dropped, or crash the process.
    """
    _is_held.set()
    try:
        yield
    finally:
        _is_held.clear()
        pending, _pending[:] = _pending[:], []
    if pending:
        _raise(pending[0], None)


@contextlib.contextmanager
def by_default() -> Iterator[None]:
    """Let signals end the process at once, in a block of native code that keeps Python waiting.

    Signals that are ignored stay so. Outside the main thread, nothing is changed.
    """
    with _handled_by(signal.SIG_DFL, _handlers()):
        if _pending:  # it came before, and would be forgotten
            raise KeyboardInterrupt(_pending[0])
        yield


@contextlib.contextmanager
def forced(say: Callable[[int], int]) -> Iterator[None]:
    """End the process when a signal comes and Python cannot raise KeyboardInterrupt.

    `say` is called last: it gets the signal's number and returns the exit status.
    """
    reader, writer = socket.socketpair()  # Windows takes no pipe
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    _watched.append(writer)
    threading.Thread(target=_watch, args=(reader, say), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        _watched.remove(writer)
        writer.close()


def end(status: int) -> None:
    """End the process if threads were left behind; otherwise do nothing.

    Python's own exit would wait for them, such as for a search that takes seconds.
    """
    if any(thread.name.startswith(LEFT_BEHIND) for thread in threading.enumerate()):
        os._exit(status)


def _watch(reader: socket.socket, say: Callable[[int], int]) -> None:
    with reader:
        while received := reader.recv(1):
            number = received[0]
            # While training has its own handler, a signal waits for the end of an update.
            can_force = number != _HANDLED and signal.getsignal(number) is _raise
            if can_force and not _is_handled(reader):
                if number == signal.SIGINT:
                    open_line()
                for last_word in _last_words:
                    with contextlib.suppress(Exception):  # the process ends in any case
                        last_word()
                os._exit(say(number))


def _is_handled(reader: socket.socket) -> bool:
    """Return whether a handler, of training or ours, has run within the grace."""
    end = time.monotonic() + _GRACE
    try:
        while (left := end - time.monotonic()) > 0:
            reader.settimeout(left)
            if reader.recv(1) in (bytes([_HANDLED]), b""):
                return True
    except TimeoutError:
        pass
    finally:
        reader.settimeout(None)
    return False


@contextlib.contextmanager
def last_word(say: Callable[[], object]) -> Iterator[None]:
    """Call `say` before a forced end within the block."""
    _last_words.append(say)
    try:
        yield
    finally:
        _last_words.remove(say)
