"""Folders that are made once, whole or not at all, by one process at a time."""

import contextlib
import fcntl
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import synchronise


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
