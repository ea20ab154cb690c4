"""Lines of UTF-8 text files, plain or .gz."""

import codecs
import contextlib
import gzip
import io
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, cast

from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.windows import windows

MAX_LINE_BYTES = 1 << 24
_HEAD = 8_192  # bytes that tell text from other files


def read_lines(path: str | Path) -> list[str]:
    r"""Read the lines of a UTF-8 text file, plain or .gz; only \n and \r\n end a line.

    InputError if it cannot be read, or is not UTF-8; the message has the line's number.
    """
    return [line for block in blocks_of_lines(path, block_size=10_000) for line in block]


def blocks_of_lines(path: str | Path, block_size: int) -> Iterator[list[str]]:
    """Read what `read_lines` reads, in blocks; those before a bad line come before its error."""
    done = 0
    for lines in windows(raw_lines(path), block_size):
        block: list[str] = []
        try:
            block.extend(map(bytes.decode, lines))
        except UnicodeDecodeError as error:
            if block:
                yield block
            bad = done + len(block) + 1
            raise InputError(f"{path}: line {bad:,} is not UTF-8") from error
        yield block
        done += len(lines)


def raw_lines(path: str | Path) -> Iterator[bytes]:
    """Read what `read_lines` reads, line by line, as bytes that need not be UTF-8."""
    with input_errors(path), _opened(path) as file:
        yield from raw_lines_of(bounded(file))


def bounded(file: IO[bytes] | io.BufferedIOBase) -> Iterator[bytes]:
    """Yield lines; ValueError for one too long for the memory, as in a hostile .gz."""
    for number in itertools.count(1):
        line = file.readline(MAX_LINE_BYTES + 1)
        if len(line) > MAX_LINE_BYTES:
            raise ValueError(f"line {number:,} has more than {MAX_LINE_BYTES:,} bytes")
        if not line:
            return
        yield line


def raw_lines_of(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Strip the ends of lines of a file, and the byte order mark of the first."""
    for number, line in enumerate(lines):
        line = line if number else line.removeprefix(codecs.BOM_UTF8)
        yield line.removesuffix(b"\n").removesuffix(b"\r")


@contextlib.contextmanager
def compressed(file: IO[bytes], path: str | Path) -> Iterator[IO[bytes]]:
    """Compress what is written to a file if its path ends in .gz; equal text gives equal bytes."""
    if not is_compressed(path):
        yield file
        return
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as writer:  # neither name nor time
        yield cast(IO[bytes], writer)


def check_is_text(path: str | Path) -> None:
    """Raise an error of `input_errors` for a file, plain or .gz, that is unreadable or binary."""
    with _opened(path) as file:
        head = file.read1(_HEAD)  # `read` could run into damage at the end of a small file
    check_head(head)


def check_head(head: bytes) -> None:
    """Raise a ValueError for the beginning of a file that is binary."""
    if b"\0" in head:
        line = head[: head.index(b"\0")].count(b"\n") + 1
        raise ValueError(
            f"binary, compressed, or UTF-16; text must be UTF-8 (line {line} has a NUL)"
        )


def is_compressed(path: str | Path) -> bool:
    """Whether a file is read as gzip, by the end of its name."""
    return Path(path).suffix == ".gz"


def _opened(path: str | Path) -> io.BufferedIOBase:
    return gzip.open(path) if is_compressed(path) else open(path, "rb")
