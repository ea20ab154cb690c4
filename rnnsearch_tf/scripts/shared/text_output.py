"""Figures that a script prints, and writes to a file."""

import json
from typing import Any

from rnnsearch_tf.files import write_atomically


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
