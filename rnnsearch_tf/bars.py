"""Bars at the bottom of a terminal, drawn by rich; what is printed meanwhile stays above them."""

import logging
import sys
from collections.abc import Collection
from typing import NamedTuple, TextIO

from rich.console import Console, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Column, Table

from rnnsearch_tf.terminal import is_terminal

_MARGIN = 4  # columns at the right for the ^C ^C that a terminal shows; a full line would wrap
_MIN_BAR = 6
_LABELS = 3


class Row(NamedTuple):
    """Content of a bar's line."""

    labels: tuple[str, str, str]  # name, percentage, count
    part: float | None  # fraction done, 0 to 1; None: unknown
    notes: list[str]  # the most important first; those that fit are shown


class Bars(Live):
    """The bars of a process, with their terminal: standard error.

    What Python prints or logs there, or to standard output on the same terminal, goes above them.
    They are drawn only during calls, without a thread.
    """

    def __init__(self) -> None:
        self.rows: dict[object, Row] = {}
        super().__init__(
            console=Console(stderr=True, markup=False, highlight=False, emoji=False),
            auto_refresh=False,
            transient=True,
            redirect_stdout=is_terminal(sys.stdout),
            get_renderable=lambda: drawn(self.rows.values(), self.console.width - _MARGIN),
        )
        stream = sys.stderr
        self.start()
        _move_handlers(stream, sys.stderr)

    def stop(self) -> None:
        """Erase all bars, and give the terminal back."""
        stream = sys.stderr
        super().stop()
        _move_handlers(stream, sys.stderr)


def drawn(rows: Collection[Row], width: int) -> RenderableType:
    """Draw bars below each other, no wider than `width` columns."""
    longest = (max((len(row.labels[i]) for row in rows), default=0) for i in range(_LABELS))
    room = width - _MIN_BAR - sum(longest) - _LABELS - 1  # for the notes; spaces between all
    columns = (Column(no_wrap=i != 1) for i in range(_LABELS + 2))
    table = Table.grid(*columns, padding=(0, 1), expand=True)
    for (name, *numbers), part, notes in rows:
        texts = (", ".join(notes[:n]) for n in range(len(notes), 0, -1))
        fitting = next((text for text in texts if len(text) <= room), "")
        bar = ProgressBar(None if part is None else 1.0, part or 0.0)
        table.add_row(name, bar, *numbers, fitting)
    return Constrain(table, width)


def _move_handlers(before: TextIO, after: TextIO) -> None:
    """Redirect what Python logs to one stream, also by absl or TensorFlow, to another."""
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        for handler in getattr(logger, "handlers", ()):
            if getattr(handler, "stream", None) is before:
                handler.setStream(after)
