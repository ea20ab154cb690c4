"""Output of a script: the standard streams, and figures that it prints and writes to a file."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.terminal import printable


def open_closed_streams() -> None:
    """Open the standard streams that the process was started without, and let all text be printed.

    Otherwise, a file opened later would get the number of a missing stream, and what libraries
    print. Reading such an input, or writing to such an output, is an OSError; errors are dropped.
    Characters that the streams' encoding lacks are printed as escapes.
    """
    access = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for number, (name, flags) in enumerate(access.items()):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free: this one
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop_unwritten() -> None:
    """Drop what the standard streams refuse, which Python would report again when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show(text: str) -> None:
    """Print text to standard output; on a terminal, control characters are escaped."""
    print(shown_by(sys.stdout)(text))


def shown_by(stream: TextIO) -> Callable[[str], str]:
    """Return a function that prepares text for a stream: for pipes and files, it is unchanged."""
    return printable if stream.isatty() else str


def write_scores(path: str | None, figures: dict[str, Any], table: str) -> None:
    """Write figures as JSON where a file is named, and print the table, also if that fails.

    Where the file is -, the JSON is printed instead of the table.
    """
    content = json.dumps(figures, indent=2) + "\n"
    try:
        if path and path != "-":  # first: a closed pipe refuses the table
            write_atomically(path, content.encode())
    finally:
        show((content if path == "-" else table).removesuffix("\n"))
