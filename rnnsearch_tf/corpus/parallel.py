"""Parallel text files: line i of one is the translation of line i of the other."""

import gzip
import zlib
from pathlib import Path
from typing import NamedTuple

from rnnsearch_tf.errors import InputError


class ParallelText(NamedTuple):
    """Sentence pairs as raw text, without line ends."""

    source: list[str]
    target: list[str]


def read_parallel(source: str | Path, target: str | Path) -> ParallelText:
    """Read a pair of files, each plain or .gz.

    Raises:
        InputError: a file that cannot be read or is not UTF-8 (with its line), unequal numbers of
            lines, no line at all.
    """
    pairs = ParallelText(read_lines(source), read_lines(target))
    if len(pairs.source) != len(pairs.target):
        raise InputError(
            f"{source} has {len(pairs.source):,} lines, {target} has {len(pairs.target):,}: "
            "they must be line by line translations"
        )
    if not pairs.source:
        raise InputError(f"{source} and {target} are empty")
    return pairs


def read_lines(path: str | Path) -> list[str]:
    r"""The lines of a UTF-8 text file, plain or .gz; only \\n and \\r\\n end a line.

    Raises:
        InputError: the file cannot be read, or is not UTF-8; the text names the line.
    """
    try:
        content = Path(path).read_bytes()
        if Path(path).suffix == ".gz":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or f"not a whole gzip file ({error})"
        raise InputError(f"{path}: {reason}") from error
    return split_lines(content, str(path))


def split_lines(content: bytes, name: str) -> list[str]:
    """Bytes to lines.

    Args:
        content: UTF-8 text.
        name: what an error calls it.

    Raises:
        InputError: not UTF-8; the text names the line.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1  # counted without the BOM
        raise InputError(f"{name}: line {line:,} is not UTF-8") from error
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
