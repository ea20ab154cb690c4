"""Figures that a script prints, and writes to a file."""

import json
import sys
from collections.abc import Callable
from typing import Any, TextIO

from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.terminal import printable


def show(text: str) -> None:
    """Print text to standard output, without the control characters where that is a terminal."""
    print(shown_by(sys.stdout)(text))


def shown_by(stream: TextIO) -> Callable[[str], str]:
    """Return what makes text fit for a stream: a pipe or a file gets it unchanged."""
    return printable if stream.isatty() else str


def write_figures(path: str | None, figures: dict[str, Any], table: str) -> None:
    """Write figures as JSON where a file is named, and print the table.

    Where the file is -, the JSON is printed instead of the table.
    """
    content = json.dumps(figures, indent=2) + "\n"
    if path and path != "-":
        write_atomically(path, content.encode())
    show((content if path == "-" else table).removesuffix("\n"))
