"""Bars at the bottom of a terminal, drawn by rich; what is printed meanwhile stays above them."""

import logging
import sys
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

_FIELDS = ("name", "percentage", "count", "status")
_MARGIN = 4  # columns at the right for the ^C ^C that a terminal shows; a full line would wrap
_MIN_BAR = 6


class Bars(Progress):
    """All bars of a process, with the terminal that they are on: standard error.

    Lines that Python prints or logs to standard error, or to standard output on the same terminal,
    go above the bars. Nothing is drawn between two calls, so there is no thread.
    """

    def __init__(self) -> None:
        name, percentage, count, status = (
            TextColumn(f"{{task.fields[{f}]}}", markup=False, table_column=Column(no_wrap=True))
            for f in _FIELDS
        )
        # Before rich's own beginning, which asks for the bars.
        self._console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        super().__init__(
            *(name, BarColumn(bar_width=None), percentage, count, status),
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            expand=True,
        )
        self._ids: dict[object, TaskID] = {}
        stream = sys.stderr
        self.start()
        _move_handlers(stream, sys.stderr)

    def show(
        self, bar: object, name: str, done: int, total: int | None, notes: Sequence[str]
    ) -> None:
        """Draw a bar, or draw it anew.

        Args:
            bar: which one.
            name: of what is counted.
            done: how many.
            total: of how many; None: unknown.
            notes: the most important first; those that fit are shown.
        """
        fields = {
            "name": name,
            "percentage": f"{100 * done // total:3}%" if total else "",
            "count": f"{done:,}/{total:,}" if total else f"{done:,}",
            "notes": notes,
        }
        if bar not in self._ids:
            self._ids[bar] = self.add_task(name, total=total, **fields)
        self.update(self._ids[bar], completed=done, refresh=True, **fields)

    def remove(self, bar: object) -> bool:
        """Erase a bar; return whether there are others."""
        if bar in self._ids and len(self._ids) > 1:
            self.remove_task(self._ids.pop(bar))
            self.refresh()
        elif bar in self._ids:
            self.close()
        return bool(self._ids)

    def close(self) -> None:
        """Erase all bars, and give the terminal back."""
        self._ids.clear()
        stream = sys.stderr
        self.stop()
        _move_handlers(stream, sys.stderr)

    def get_renderables(self) -> list[RenderableType]:
        """Return the bars, for rich to draw."""
        width = self._console.width - _MARGIN
        taken = (max((len(t.fields[f]) for t in self.tasks), default=0) + 1 for f in _FIELDS[:3])
        room = width - sum(taken) - _MIN_BAR - 1
        for task in self.tasks:
            notes = task.fields["notes"]
            fitting = (", ".join(notes[:n]) for n in range(len(notes), 0, -1))
            task.fields["status"] = next((text for text in fitting if len(text) <= room), "")
        return [Constrain(self.make_tasks_table(self.tasks), width)]


def _move_handlers(before: TextIO, after: TextIO) -> None:
    """Have what Python logs to one stream, also by absl or TensorFlow, written to another."""
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        for handler in getattr(logger, "handlers", ()):
            if getattr(handler, "stream", None) is before:
                handler.setStream(after)
