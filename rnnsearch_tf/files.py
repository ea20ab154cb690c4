"""Files written whole or not at all, and locks that end with their process."""

import contextlib
import errno
import functools
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from rnnsearch_tf import interrupts
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import say

Paths = str | Path | Sequence[str | Path]  # one or several

# A full disk, a full quota, a file larger than allowed; such an error need not name its file.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_RETRY_SECONDS = 0.1
_PATIENCE = 2.0  # seconds
_PACKAGE = Path(__file__).parent


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder, which is removed when the block or the process ends."""
    with (
        tempfile.TemporaryDirectory() as folder,
        interrupts.last_word(functools.partial(shutil.rmtree, folder, ignore_errors=True)),
    ):
        yield Path(folder)


@contextlib.contextmanager
def replacing(path: str | Path, suffix: str = "") -> Iterator[Path]:
    """Yield a temporary name, whose file replaces `path` if the block ends without an error.

    A symbolic link stays: the file that it points to is replaced. What is not a regular file, such
    as a device or a pipe, stays too: the content is written into it. `suffix` is a file name ending
    that the writer requires. An OSError has `path` as its `filename`.

    Other users of the folder cannot cause another file to be written or changed, because the
    temporary name is unpredictable. The temporary file is private if it replaces a file.
    """
    target = real_path(path)
    stays = is_stream(path)
    with temporary_folder() if stays else contextlib.nullcontext(target.parent) as folder:
        temporary = folder / f".{target.name}.{uuid.uuid4().hex[:8]}.tmp{suffix}"
        try:
            with interrupts.last_word(temporary.unlink):
                if target.exists():
                    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                yield temporary
            if stays:
                with open(temporary, "rb") as content, opened_stream(path) as stream:
                    shutil.copyfileobj(content, stream)
            else:
                move_over(temporary, target)
        except OSError as error:
            own = error.filename is None and error.errno in NO_SPACE
            if own or error.filename == str(temporary):
                error.filename = str(path)
            raise
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()


def as_list(paths: Paths) -> list[str | Path]:
    """Return a list of the paths, or of the single path."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def real_path(path: str | Path) -> Path:
    """Return the absolute path of the file that symbolic links lead to."""
    return Path(os.path.realpath(path))


def is_url(path: str | Path) -> bool:
    """Whether a path begins with gs:// or the like; a `Path` keeps only one of the slashes."""
    return re.match(r"[A-Za-z][\w+.-]+:/", str(path)) is not None  # one letter is a drive


def home_path(path: str | Path) -> Path:
    """Return a path with the user's home in place of a leading ~; InputError for a URL."""
    if is_url(path):
        raise InputError(f"{path}: a URL, not a path on this machine")
    return Path(os.path.expanduser(path))


def is_stream(path: str | Path) -> bool:
    """Whether a file is written into, never replaced: a device, a pipe or an open descriptor."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    is_special = stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode)
    return is_special or _descriptor(path) is not None


def opened_stream(path: str | Path) -> IO[bytes]:
    """Open a file of which `is_stream` is true, to write into it."""
    descriptor = _descriptor(path)
    # Opened by its name, a file behind /dev/stdout would be written from its beginning.
    return open(path if descriptor is None else os.dup(descriptor), "wb")


def _descriptor(path: str | Path) -> int | None:
    """Return the number of the open file that a path such as /dev/stdout stands for."""
    standard = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}.get(str(path))
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    return int(numbered[1]) if numbered else standard


def move_over(temporary: Path, path: Path) -> None:
    """Rename a finished file within its disk; it gets the mode and owner of the file it replaces.

    When this returns, it is on the disk. Give the real path: a symbolic link would be replaced.
    """
    synchronize(temporary)
    if path.exists():
        take_mode(temporary, path)
    _patiently(os.replace, temporary, path)
    synchronize(path.parent)


def _patiently(rename: Callable[[Path, Path], None], old: Path, new: Path) -> None:
    """Rename; try again while another program, such as a virus scanner, blocks it on Windows."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            rename(old, new)
            return
        except PermissionError:
            if sys.platform != "win32" or time.monotonic() >= end:
                raise
        time.sleep(_RETRY_SECONDS)


def take_mode(path: Path, old: Path) -> None:
    """Give a file the mode and, where permitted, the owner of another.

    A link to another file, which somebody may have put in its place, gets neither.
    """
    status = old.stat()
    mode = stat.S_IMODE(status.st_mode) & 0o777
    if sys.platform == "win32":
        path.chmod(mode)
        return
    with contextlib.suppress(OSError), open(path, "rb", opener=_no_link) as file:
        own = os.fstat(file.fileno())
        if not stat.S_ISREG(own.st_mode) or own.st_nlink > 1:
            return
        with contextlib.suppress(OSError):  # only root gives files away, and not on every disk
            os.fchown(file.fileno(), status.st_uid, status.st_gid)
        os.fchmod(file.fileno(), mode)


def _no_link(path: str, flags: int) -> int:
    """Open a file; OSError for a symbolic link or a pipe without a reader."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)


def check_no_link(path: Path, purpose: str) -> None:
    """Raise an InputError for a symbolic link: a copy could reveal any file of this machine.

    Files of this package are trusted, even if an installer has made them links.
    """
    if path.is_symlink() and not path.is_relative_to(_PACKAGE):
        raise InputError(f"{path}: a symbolic link; replace it with the file to {purpose} it")


def check_regular(path: Path) -> None:
    """Raise an InputError for a pipe, a device or a folder, which must not be read to its end."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: not a regular file")


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write a file so that no reader sees half of it, not even after a power cut."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def check_no_pattern(path: str | Path) -> None:
    """Raise an InputError for a folder that TensorFlow would write to but not find again."""
    folder = real_path(path)
    if str(folder).encode(errors="replace") != os.fsencode(folder):  # the name that it would use
        raise InputError(f"{folder}: TensorFlow needs a path and a locale in UTF-8")
    if any(re.search(r"\[[^]]+\]|\\", part) for part in folder.parts[1:]):
        raise InputError(
            f"{folder}: TensorFlow takes […] and \\ in a path for a pattern, and finds no file"
        )


def check_space(path: str | Path, size: int) -> None:
    """Raise an OSError if the disk has no room for a new file of so many bytes.

    For a writer that crashes on a full disk. An existing file is kept, but emptied.
    """
    is_there = Path(path).exists()
    try:
        with open(path, "wb") as file:
            if sys.platform == "linux":
                os.posix_fallocate(file.fileno(), 0, size)
            elif shutil.disk_usage(Path(path).parent).free < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        if is_there:
            os.truncate(path, 0)
        else:
            Path(path).unlink(missing_ok=True)


# Errors of file systems that sync no folders, and of folders that may not be read.
_NO_SYNC = (
    errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES,
    errno.EPERM,
)  # fmt: skip


def synchronize(path: str | Path) -> None:
    """Wait until a file, or a folder's list of files, is on the disk."""
    flags = os.O_RDONLY
    if sys.platform == "win32":  # it syncs no folders, and only files that are open for writing
        if Path(path).is_dir():
            return
        flags = os.O_RDWR
    try:
        descriptor = os.open(path, flags)
        try:
            _flush(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC or not Path(path).is_dir():
            raise


def _flush(descriptor: int) -> None:
    """Wait until an open file is on the disk; on a Mac, `fsync` leaves it in the disk's memory."""
    if sys.platform == "darwin":
        import fcntl  # Windows lacks it

        with contextlib.suppress(OSError):  # not every file system has it
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


@contextlib.contextmanager
def file_lock(
    path: str | Path,
    busy: InputError | None = None,
    before_waiting: Callable[[], None] = lambda: None,
) -> Iterator[IO[bytes]]:
    """Hold a lock that ends with the process, however that ends; yield the file, for appending.

    The file stays: another process may already be waiting for its lock. If another process holds
    the lock, this one waits, or raises `busy`. OSError if the file cannot be locked.
    """
    with open(path, "ab", opener=_no_link) as file:
        if not _try_lock(file):
            if busy:
                raise busy
            before_waiting()
            while not _try_lock(file):
                time.sleep(_RETRY_SECONDS)
        yield file


def _try_lock(file: IO[bytes]) -> bool:
    import portalocker  # it looks for a temporary folder, which a container may lack

    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException as error:
        raise OSError(f"{file.name}: cannot be locked: {error}") from error
    return True


def make_once(folder: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], None]) -> None:
    """Make a folder unless it exists and is complete.

    The folder is made under another name beside it, synced to the disk and renamed. If several
    processes want it, one makes it and the others wait; if that one dies, the next removes what it
    left and makes the folder itself. A folder that `is_whole` finds damaged is reported, and made
    again. InputError if the parent folder cannot be written.
    """
    if is_whole(folder):
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f".{folder.name}.lock")
        with file_lock(lock, before_waiting=lambda: say(f"{folder}: another process writes it")):
            if not is_whole(folder):
                if folder.exists():
                    say(f"{folder}: damaged; writing it again")
                for left in (folder, *folder.parent.glob(f".{folder.name}-{'?' * 8}")):
                    shutil.rmtree(left, ignore_errors=True)
                with new_folder(folder) as empty:
                    make(empty)
    except OSError as error:
        if is_whole(folder):  # another machine's, which NFS shows late
            return
        reason = error.strerror or str(error)
        raise InputError(f"{folder.parent}: cannot be written: {reason}") from error


@contextlib.contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Yield a temporary folder, which gets the name `path` if the block ends without an error.

    By then, all of it is on the disk. OSError if `path` has become a file or a folder that is not
    empty, or if writing fails.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # A name that is not a number: a server that watches the folder for versions skips it.
    temporary = target.with_name(f".{target.name}-{uuid.uuid4().hex[:8]}")
    temporary.mkdir()
    remove = functools.partial(shutil.rmtree, temporary, ignore_errors=True)
    try:
        with interrupts.last_word(remove):
            yield temporary
            for part in [*temporary.rglob("*"), temporary]:
                synchronize(part)
            _patiently(os.rename, temporary, target)
            synchronize(target.parent)
    finally:
        remove()
