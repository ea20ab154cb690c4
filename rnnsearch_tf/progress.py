"""A line that says how far training is."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

Item = TypeVar("Item")

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 20.0


class ProgressLine:
    """Rewrites one line on a terminal; in a log file, writes a line now and then.

    Args:
        stream: where to.
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._seconds = _TERMINAL_SECONDS if self._on_terminal else _LOG_SECONDS
        self._next = time.monotonic() + _TERMINAL_SECONDS
        self._width = 0

    def is_due(self) -> bool:
        """Whether it is time for another line."""
        return time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Replace the line on a terminal, or write one."""
        if self._on_terminal:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
        self._next = time.monotonic() + self._seconds

    def counter(self, total: int, things: str) -> Callable[[int], None]:
        """A function that is told how many of `total` things are done, and shows it when due."""
        self._next = time.monotonic() + self._seconds

        def report(done: int) -> None:
            if self.is_due():
                self.show(f"{done:,} of {total:,} {things}")

        return report

    def counted(self, items: Iterable[Item], things: str) -> Iterator[Item]:
        """The items; how many there were is shown when due."""
        self._next = time.monotonic() + self._seconds
        for done, item in enumerate(items, 1):
            yield item
            if self.is_due():
                self.show(f"{done:,} {things}")
        self.clear()

    def finish(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Wipe the line off a terminal."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def say(line: str) -> None:
    """Write a line to standard error, where progress goes."""
    print(line, file=sys.stderr, flush=True)
