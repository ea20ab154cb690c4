"""Progress on standard error: one line that is rewritten, and lines that stay."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

from rnnsearch_tf.terminal import printable

Item = TypeVar("Item")

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 20.0


class ProgressLine:
    """A line that tells how far long work has come.

    On a terminal the line is rewritten every half second; in a log file a new one is written every
    20 seconds.

    Args:
        stream: the terminal or log file; None: standard error.
    """

    def __init__(self, stream: TextIO | None = None):
        self._stream = stream or sys.stderr
        self._on_terminal = self._stream.isatty()
        self._seconds = _TERMINAL_SECONDS if self._on_terminal else _LOG_SECONDS
        self._next = time.monotonic() + _TERMINAL_SECONDS
        self._width = 0

    def is_due(self) -> bool:
        """Whether enough time has passed to show another line."""
        return time.monotonic() >= self._next

    def show(self, text: str) -> None:
        """Rewrite the line on a terminal, or write a new one."""
        text = printable(text)
        if self._on_terminal:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()
        self._next = time.monotonic() + self._seconds

    def counter(self, total: int, things: str) -> Callable[[int], None]:
        """Return a function to call with the number done, which shows it when it is due.

        Args:
            total: how many there are.
            things: what is counted, in the plural.
        """
        self._next = time.monotonic() + self._seconds

        def report(done: int) -> None:
            if self.is_due():
                self.show(f"{done:,} of {total:,} {things}")

        return report

    def counted(self, items: Iterable[Item], things: str) -> Iterator[Item]:
        """Yield the items, and show how many there were when it is due.

        Args:
            items: of any number.
            things: what is counted, in the plural.
        """
        self._next = time.monotonic() + self._seconds
        for done, item in enumerate(items, 1):
            yield item
            if self.is_due():
                self.show(f"{done:,} {things}")
        self.clear()

    def finish(self, text: str) -> None:
        """Write a line that stays, in place of the one that is rewritten."""
        self.clear()
        self._stream.write(printable(text) + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Erase the line from a terminal."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def say(line: str) -> None:
    """Write a line that stays to standard error."""
    print(printable(line), file=sys.stderr, flush=True)
