"""The text input of scripts: a file or standard input, line by line."""

import sys
from collections.abc import Callable, Iterator

from rnnsearch_tf.data.lines import raw_lines, raw_lines_of


def input_lines(path: str) -> Iterator[bytes]:
    """Read lines one by one, on request; they need not be UTF-8.

    Args:
        path: a file, plain or .gz; - is standard input.

    Raises:
        InputError: the file cannot be read.
    """
    return raw_lines_of(sys.stdin.buffer) if path == "-" else raw_lines(path)


def decoded(line: bytes, number: int, warn: Callable[[str], None]) -> str:
    """Decode a line; invalid UTF-8 becomes U+FFFD, as in the served model, with a warning."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        warn(f"line {number:,} is not UTF-8: what is not is read as U+FFFD")
        return line.decode(errors="replace")
