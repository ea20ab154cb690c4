"""Progress on standard error: bars on a terminal, lines in a log, and lines that stay."""

import contextlib
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from rnnsearch_tf.terminal import is_terminal, printable, single_line

if TYPE_CHECKING:
    from rnnsearch_tf.bars import Bars

Item = TypeVar("Item")

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 20.0
_NO_BARS = "dumb", "unknown"  # the terminals on which rich draws none

_lock = threading.RLock()  # bars of several threads are on one terminal
_bars: "Bars | None" = None  # those that are on the terminal
_line_is_open = False  # it ends in ^C


def say(line: str) -> None:
    """Write a line that stays to standard error, above the bars; a terminal breaks it at words.

    A leading newline makes a blank line; others, as in the name of a file, become spaces.

    A failure to write is ignored: the terminal may be gone, or the disk of a log full.
    """
    text = printable(single_line(line.lstrip("\n")))
    width = shutil.get_terminal_size().columns
    if len(text) > width and is_terminal(sys.stderr):
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    with contextlib.suppress(OSError):
        fresh_line()
        text = "\n" * line.startswith("\n") + text
        print(text, file=sys.stderr, flush=True)


def open_line() -> None:
    """Remember that the terminal shows ^C, unless there is a bar, which erases it at its end."""
    global _line_is_open
    _line_is_open = _bars is None


def fresh_line() -> None:
    """End the line on which a terminal shows ^C."""
    global _line_is_open
    if _line_is_open and is_terminal(sys.stderr):
        print(file=sys.stderr)
    _line_is_open = False


class Bar:
    """Progress of long work; close it at the end.

    On a terminal, this is a bar that is redrawn every half second. In a log file, or a notebook, it
    is a line every 20 seconds. Work that takes less time shows nothing.
    """

    def __init__(
        self,
        name: str,  # what is counted, in the singular: "line"
        total: int | None = None,  # how many there are, if that is known
        begins_at: int | None = None,  # how many are done, for a bar shown from the beginning
    ):
        self._name = name
        self._total = total
        can_have_bars = is_terminal(sys.stderr) and os.environ.get("TERM") not in _NO_BARS
        self._on_terminal = _bars is not None or can_have_bars
        self._seconds = _TERMINAL_SECONDS if self._on_terminal else _LOG_SECONDS
        self._next = time.monotonic() + (self._seconds if begins_at is None else 0)
        self._first: tuple[float, int] | None = None
        if self._on_terminal and begins_at is not None:
            self._draw(begins_at, [])

    def update(self, done: int, *notes: str) -> None:
        """Show how many are done, when it is due, and the pace since the first such call.

        Put the most important notes first: a terminal shows only those that fit.
        """
        now = time.monotonic()
        self._first = self._first or (now, done)
        if now < self._next:
            return
        self._next = now + self._seconds
        pace = self._pace(now, done)
        if self._on_terminal:
            self._draw(done, [*pace, *notes])
        else:
            _, _, count = self._labels(done)
            say(": ".join(filter(None, (f"{self._name} {count}", ", ".join([*notes, *pace])))))

    def close(self) -> None:
        """Erase the bar."""
        with _lock, contextlib.suppress(OSError):
            if _bars is None or _bars.rows.keys() <= {self}:
                close_bars()
            else:
                _bars.rows.pop(self, None)
                _bars.refresh()

    def _draw(self, done: int, notes: list[str]) -> None:
        global _bars
        # rich takes time to import, which is spent only where a bar is shown.
        from rnnsearch_tf.bars import Bars, Row

        part = done / self._total if self._total else None
        with _lock, contextlib.suppress(OSError):  # the terminal is gone
            _bars = _bars or Bars()
            _bars.rows[self] = Row(self._labels(done), part, list(map(printable, notes)))
            _bars.refresh()

    def _labels(self, done: int) -> tuple[str, str, str]:
        """Return name, percentage and count."""
        if not self._total:
            return self._name, "", f"{done:,}"
        return self._name, f"{100 * done // self._total:3}%", f"{done:,}/{self._total:,}"

    def _pace(self, now: float, done: int) -> list[str]:
        """Describe the time left or, if that is unknown, the speed."""
        assert self._first is not None
        started, first = self._first
        seconds, count = now - started, done - first
        if not seconds or not count:
            return []
        if self._total is None:
            each = seconds / count
            return [f"{1 / each:,.0f}/s" if each < 0.5 else f"{each:,.1f} s each"]
        return [f"{_duration(seconds / count * (self._total - done))} left"]


def counted(
    items: Iterable[Item],
    name: str,  # what is counted, in the singular
    total: int | None = None,
    size: Callable[[Item], int] = lambda item: 1,  # how many an item is
) -> Iterator[Item]:
    """Yield items, and show how many there were."""
    done = 0
    with contextlib.closing(Bar(name, total)) as bar:
        for item in items:
            # This one is not counted: it may be the first of many that come at once, and their time
            # would be taken for its own.
            bar.update(done)
            yield item
            done += size(item)


def close_bars() -> None:
    """Erase all bars, for the last words of a process."""
    global _bars
    with _lock:
        if _bars is not None:
            with contextlib.suppress(OSError):
                _bars.stop()
            _bars = None


def _duration(seconds: float) -> str:
    """Format seconds: 1 h 05 min, 12 min, 40 s."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 120 else f"{seconds:.0f} s"
