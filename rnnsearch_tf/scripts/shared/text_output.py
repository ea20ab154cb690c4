"""The output of scripts: to standard output, or to a file, completely or not at all."""

import json
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from rnnsearch_tf.files import replacing, write_atomically
from rnnsearch_tf.terminal import printable

_LINE_END = re.compile("\r\n|\r|\n")


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines as UTF-8, to standard output as they come.

    Args:
        path: a file; - is standard output.
        lines: without their ends; an end of line inside one is written as a blank.

    Raises:
        OSError: the disk refuses.
    """
    single_lines = (_LINE_END.sub(" ", line) for line in lines)
    if path == "-":
        shown = _shown_by(sys.stdout)
        for line in single_lines:
            sys.stdout.buffer.write(f"{shown(line)}\n".encode())
            sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary, open(temporary, "wb") as file:
        for line in single_lines:
            file.write(f"{line}\n".encode())


def show(text: str) -> None:
    """Print text to standard output, without the control characters where that is a terminal."""
    print(_shown_by(sys.stdout)(text))


def _shown_by(stream: TextIO) -> Callable[[str], str]:
    """Return what makes text fit for a stream: a pipe or a file gets it unchanged."""
    return printable if stream.isatty() else str


def write_figures(path: str | None, figures: dict[str, Any], table: str) -> None:
    """Write figures as JSON where a file is named, and print the table.

    Args:
        path: a file; - prints the JSON instead of the table.
        figures: values that JSON can hold.
        table: the same figures as text.

    Raises:
        OSError: the disk refuses.
    """
    content = json.dumps(figures, indent=2) + "\n"
    if path and path != "-":
        write_atomically(path, content.encode())
    show((content if path == "-" else table).removesuffix("\n"))
