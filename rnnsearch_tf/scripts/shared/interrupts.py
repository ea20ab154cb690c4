"""Signals that end a command in order; and at once where it computes in a graph."""

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from rnnsearch_tf.progress import open_line

_GRACE = 0.5  # seconds for Python to raise an error, which it cannot while a graph runs

_has_raised = threading.Event()
_is_held = threading.Event()
_pending: list[int] = []  # signals that came meanwhile
_last_words: list[Callable[[], object]] = []


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Raise KeyboardInterrupt, with its number, for a signal that would end the process.

    Outside the main thread, nothing is changed.
    """
    names = "SIGINT", "SIGTERM", "SIGHUP"
    defaults = {
        number: signal.getsignal(number)
        for number in (getattr(signal, name, None) for name in names)
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    }
    if threading.current_thread() is not threading.main_thread():
        defaults.clear()
    for number in defaults:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in defaults.items():
            signal.signal(number, handler)


def _raise(number: int, frame: Any) -> None:
    del frame
    if number == signal.SIGINT and number not in _pending:
        open_line()
    if _is_held.is_set():
        _pending.append(number)
        return
    _has_raised.set()
    raise KeyboardInterrupt(number)


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
def forced(say: Callable[[int], int]) -> Iterator[None]:
    """End the process when a signal comes and Python cannot raise KeyboardInterrupt.

    The last thing done is `say`, which gets the signal's number and returns the exit status.
    """
    reader, writer = socket.socketpair()  # Windows takes no pipe
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, say), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()


def _watch(reader: socket.socket, say: Callable[[int], int]) -> None:
    with reader:
        while received := reader.recv(1):
            number = received[0]
            # Training has its own handler, which waits for the end of an update.
            if signal.getsignal(number) is _raise and not _has_raised.wait(_GRACE):
                if number == signal.SIGINT:
                    open_line()
                for last_word in _last_words:
                    last_word()
                os._exit(say(number))


@contextlib.contextmanager
def last_word(say: Callable[[], object]) -> Iterator[None]:
    """Have something done before a forced end within the block."""
    _last_words.append(say)
    try:
        yield
    finally:
        _last_words.remove(say)
