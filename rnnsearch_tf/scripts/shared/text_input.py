"""The text input of scripts: a file or standard input, line by line."""

import contextlib
import errno
import math
import os
import queue
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rnnsearch_tf.data.lines import bounded, check_head, raw_lines, raw_lines_of
from rnnsearch_tf.errors import input_errors, until_error
from rnnsearch_tf.windows import MAX_LENGTH, length_of

_PAUSE = 0.02  # seconds without a line, after which a list ends
_LONGEST = 0.2  # seconds after its first line, after which a list ends
_IDLE = 0.5  # seconds; Windows reports Ctrl-C only between waits
_LINES_AHEAD = 4096

Line = TypeVar("Line")


def input_lines(path: str) -> Iterator[bytes]:
    """Read lines of a file, plain or .gz, or of standard input (-), one by one, on request.

    They need not be UTF-8. InputError if the file cannot be read.
    """
    return raw_lines_of(_standard_input()) if path == "-" else raw_lines(path)


def is_live(path: str) -> bool:
    """Whether the writer of the input may wait for answers before it writes more."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == "-" else os.stat(path)
    except OSError:  # standard input is a Python object without a descriptor
        return False
    return not stat.S_ISREG(found.st_mode)


def live_windows(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    """Yield lists of up to `size` lines that arrive without a pause and within 0.2 seconds.

    Long lines end a list early. An error of the lines is raised after the lines before it.
    """
    arriving: queue.Queue[Line | None] = queue.Queue(_LINES_AHEAD)
    errors: list[Exception] = []
    threading.Thread(target=_read, args=(lines, arriving, errors), daemon=True).start()
    has_ended = False
    while not has_ended:
        window: list[Line] = []
        latest, length = math.inf, 0
        with contextlib.suppress(queue.Empty):
            while len(window) < size and length < MAX_LENGTH and time.monotonic() < latest:
                item = arriving.get(timeout=_PAUSE if window else _IDLE)
                if item is None:
                    has_ended = True
                    break
                latest = latest if window else time.monotonic() + _LONGEST
                window.append(item)
                length += length_of(item)
        if window:
            yield window
    if errors:
        raise errors[0]


def _read(
    lines: Iterable[Line], arriving: queue.Queue[Line | None], errors: list[Exception]
) -> None:
    for line in until_error(lines, errors):
        arriving.put(line)
    arriving.put(None)


def _standard_input() -> Iterator[bytes]:
    """Read lines; InputError if they cannot be read, or begin as a binary file.

    A thread that waits in Python's own reader, `sys.stdin`, would crash the interpreter at its end.
    """
    try:
        descriptor = sys.stdin.fileno()
    except OSError:
        yield from sys.stdin.buffer
        return
    with input_errors("standard input"), open(descriptor, "rb", closefd=False) as file:
        # A pause would look like the end. Windows can tell this only for pipes.
        if sys.platform != "win32" and not os.get_blocking(descriptor):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        check_head(file.peek())
        yield from bounded(file)


class Decoder:
    """Decodes lines; what is not UTF-8 becomes U+FFFD, as in the served model.

    `warn` is called for the first such line.
    """

    def __init__(self, warn: Callable[[str], None]):
        self._warn = warn
        self._has_warned = False

    def __call__(self, line: bytes, number: int) -> str:
        """Decode line `number`, from 1."""
        try:
            return line.decode()
        except UnicodeDecodeError:
            if not self._has_warned:
                self._has_warned = True
                self._warn(
                    f"line {number:,} is not UTF-8: invalid bytes are read as U+FFFD, here and in "
                    "later lines"
                )
            return line.decode(errors="replace")
