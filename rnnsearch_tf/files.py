"""Files written whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | Path, suffix: str = "") -> Iterator[Path]:
    """Give a temporary name beside `path`, renamed to `path` when the block ends well.

    Args:
        path: the file to write.
        suffix: an ending that the writer insists on.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{suffix}")
    try:
        yield temporary
        synchronise(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a file so that a reader, or a power cut, never meets half of it."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def check_space(path: str | Path, size: int) -> None:
    """See that a file of `size` bytes can be written, for a writer that dies of a full disk.

    Raises:
        OSError: it cannot.
    """
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
    finally:
        Path(path).unlink(missing_ok=True)


def synchronise(path: str | Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
