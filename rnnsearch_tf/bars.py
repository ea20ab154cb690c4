"""Bars at the bottom of a terminal, drawn by rich; what is printed meanwhile stays above them."""

import logging
import sys
from typing import NamedTuple, TextIO

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table

_MARGIN = 4  # columns at the right for the ^C ^C that a terminal shows; a full line would wrap
_MIN_BAR = 6
_LABELS = 3


class Work(NamedTuple):
    """Content of a bar; of the notes, the most important first, it shows those that fit."""

    name: str
    done: int
    total: int | None
    notes: list[str]

    @property
    def labels(self) -> tuple[str, str, str]:
        """Name, percentage and count."""
        if not self.total:
            return self.name, "", f"{self.done:,}"
        percentage = f"{100 * self.done // self.total:3}%"
        return self.name, percentage, f"{self.done:,}/{self.total:,}"


class Bars(Live):
    """The bars of a process, with their terminal: standard error.

    What Python prints or logs there, or to standard output on the same terminal, goes above them.
    They are drawn in calls alone, without a thread.
    """

    def __init__(self) -> None:
        self._work: dict[object, Work] = {}
        super().__init__(
            console=Console(stderr=True, markup=False, highlight=False, emoji=False),
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            get_renderable=self._table,
        )
        stream = sys.stderr
        self.start()
        _move_handlers(stream, sys.stderr)

    def show(self, bar: object, work: Work) -> None:
        """Draw a bar, or draw it anew."""
        self._work[bar] = work
        self.refresh()

    def remove(self, bar: object) -> bool:
        """Erase a bar and return True; the last one is for `stop` to erase: return False."""
        others = self._work.keys() - {bar}
        if others:
            self._work.pop(bar, None)
            self.refresh()
        return bool(others)

    def stop(self) -> None:
        """Erase all bars, and give the terminal back."""
        stream = sys.stderr
        super().stop()
        _move_handlers(stream, sys.stderr)

    def _table(self) -> RenderableType:
        width = self.console.width - _MARGIN
        work = self._work.values()
        longest = (max((len(w.labels[i]) for w in work), default=0) for i in range(_LABELS))
        room = width - _MIN_BAR - sum(longest) - _LABELS - 1  # for the notes; blanks between all
        columns = (Column(no_wrap=i != 1) for i in range(_LABELS + 2))
        table = Table.grid(*columns, padding=(0, 1), expand=True)
        for w in work:
            name, percentage, count = w.labels
            texts = (", ".join(w.notes[:n]) for n in range(len(w.notes), 0, -1))
            fitting = next((text for text in texts if len(text) <= room), "")
            table.add_row(name, ProgressBar(w.total, w.done), percentage, count, fitting)
        return Constrain(table, width)


def _move_handlers(before: TextIO, after: TextIO) -> None:
    """Have what Python logs to one stream, also by absl or TensorFlow, written to another."""
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        for handler in getattr(logger, "handlers", ()):
            if getattr(handler, "stream", None) is before:
                handler.setStream(after)
