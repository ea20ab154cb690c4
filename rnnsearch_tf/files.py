"""Files written whole or not at all, and locks that end with their process."""

import contextlib
import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import portalocker

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import say

_RETRY_SECONDS = 0.1


@contextlib.contextmanager
def replacing(path: str | Path, suffix: str = "") -> Iterator[Path]:
    """Yield a temporary name beside `path`, renamed to `path` when the block ends without error.

    Args:
        path: the file to write.
        suffix: an ending that the writer insists on.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{suffix}")
    try:
        yield temporary
        synchronize(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a file so that no reader sees half of it, not even after a power cut."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def check_space(path: str | Path, size: int) -> None:
    """Check that the disk has room for a file, for a writer that crashes on a full disk.

    Args:
        path: the file, which is not there yet.
        size: in bytes.

    Raises:
        OSError: there is no room, or the file cannot be written.
    """
    try:
        with open(path, "wb") as file:
            if sys.platform == "linux":
                os.posix_fallocate(file.fileno(), 0, size)
            elif shutil.disk_usage(Path(path).parent).free < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        Path(path).unlink(missing_ok=True)


def synchronize(path: str | Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    flags = os.O_RDONLY
    if sys.platform == "win32":  # it syncs no folders, and only files that are open for writing
        if Path(path).is_dir():
            return
        flags = os.O_RDWR
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_lock(path: str | Path, wait: bool = True) -> Iterator[None]:
    """Hold a lock that ends with the process, however the process ends.

    The file stays: another process may already wait for the lock on it.

    Args:
        path: the file to lock; created when absent.
        wait: whether to wait while another process holds the lock.

    Raises:
        BlockingIOError: another process holds the lock, and `wait` is false.
        OSError: the file cannot be written or locked.
    """
    with open(path, "a") as file:
        while not _try_lock(file):
            if not wait:
                raise BlockingIOError(errno.EAGAIN, "locked by another process", str(path))
            time.sleep(_RETRY_SECONDS)
        yield


def _try_lock(file: IO[str]) -> bool:
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException as error:
        raise OSError(f"{file.name}: cannot be locked: {error}") from error
    return True


def make_once(folder: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], None]) -> None:
    """Make a folder unless it exists and is whole.

    The folder is made under another name beside it, brought to the disk and renamed. Of several
    processes one makes it and the others wait; when that one dies, the next removes what it left
    and makes the folder itself.

    Args:
        folder: the path of the folder.
        is_whole: whether a folder is what `make` makes; a damaged one is told, and made again.
        make: fills an empty folder.

    Raises:
        InputError: the place cannot be written; the text names it.
    """
    if is_whole(folder):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(folder.with_name(f".{folder.name}.lock")):
            if not is_whole(folder):
                if folder.exists():
                    say(f"{folder}: damaged; it is made again")
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
            synchronize(path)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
        synchronize(folder.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
