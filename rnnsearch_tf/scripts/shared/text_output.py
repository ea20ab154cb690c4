"""The output of scripts: to standard output, or to a file, completely or not at all."""

import json
import sys
from collections.abc import Iterable
from typing import Any

from rnnsearch_tf.files import replacing, write_atomically


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines as UTF-8, to standard output as they come.

    Args:
        path: a file; - is standard output.
        lines: without their ends.

    Raises:
        OSError: the disk refuses.
    """
    if path == "-":
        for line in lines:
            sys.stdout.buffer.write(f"{line}\n".encode())
            sys.stdout.buffer.flush()
        return
    with replacing(path) as temporary, open(temporary, "wb") as file:
        for line in lines:
            file.write(f"{line}\n".encode())


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
    print(content if path == "-" else table, end="")
