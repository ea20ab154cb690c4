"""Files written whole or not at all."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rnnsearch_tf.errors import InputError


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


def make_once(folder: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], None]) -> None:
    """Make a folder unless it is there and whole.

    It is made under another name beside it, brought to the disk and renamed. A process that comes
    while another makes it waits for that one, and makes it itself should the other one die: the
    lock ends with its process, and what a dead process left is removed.

    Args:
        folder: to be.
        is_whole: whether a folder is what `make` makes; a damaged one is made again.
        make: fills an empty folder.

    Raises:
        InputError: the place cannot be written; the text names it.
    """
    if is_whole(folder):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f".{folder.name}.lock")):
            if not is_whole(folder):
                _make(folder, make)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder.parent}: cannot be written: {reason}") from error


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        make(unfinished)
        for path in (*unfinished.iterdir(), unfinished):
            synchronise(path)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        synchronise(folder.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process; the file stays, for to remove it would be a race."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
