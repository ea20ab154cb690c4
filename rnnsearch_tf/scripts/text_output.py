"""Lines that a script gives: to standard output as they come, or to a file, whole or not at all."""

import sys
from collections.abc import Iterable

from rnnsearch_tf.files import replacing


def write_lines(path: str, lines: Iterable[str]) -> None:
    """Write lines as UTF-8.

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
