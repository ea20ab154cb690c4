"""Types of flags that name files and folders, which are checked before a command begins."""

import dataclasses
import errno
import os
import uuid
from collections.abc import Callable
from pathlib import Path

from rnnsearch_tf.data.lines import check_is_text
from rnnsearch_tf.errors import UsageError, input_errors
from rnnsearch_tf.files import is_stream, is_url, real_path


@dataclasses.dataclass(frozen=True)
class FileType:
    """A type of flag."""

    placeholder: str  # text that `--help` shows after the name of the flag
    check: Callable[[str], None]  # raises an error of `input_errors` for an unusable file
    has_stream: bool = False  # whether - is standard input or output, which needs no check
    has_several: bool = False  # whether a value may be several paths, with commas
    is_input: bool = False

    def paths(self, value: str) -> list[str]:
        """Return the path, or paths, of a value."""
        return value.split(",") if self.has_several else [value]


def _check_input(path: str) -> None:
    if path == "-":
        raise ValueError("this input needs a file name, not -")
    if not is_stream(path):  # what is read from a stream is gone
        check_is_text(path)


def _check_file(path: str) -> None:
    if path == "-":
        raise ValueError("this output needs a file name, not -")
    target = real_path(path)
    if target.is_dir() or path.endswith(os.sep):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.is_socket():
        raise ValueError("is a socket")
    stays = is_stream(path)
    if not stays and not target.parent.is_dir():
        folder = target.parent if os.path.islink(path) else Path(path).parent
        raise FileNotFoundError(errno.ENOENT, f"{folder}: no such folder")
    if not stays:  # first: of a disk that is read-only, the next check says less
        _check_writable(target.parent)
    if (stays or target.exists()) and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _check_plain_file(path: str) -> None:
    if path.endswith(".gz"):
        raise ValueError("would not be compressed: choose a name without .gz")
    _check_file(path)


def _check_folder(path: str) -> None:
    target = Path(path).absolute()  # not the real one: where a link leads nowhere, none is made
    existing = next((one for one in (target, *target.parents) if os.path.lexists(one)), None)
    if existing is None:  # a drive that Windows does not have
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{existing}: {os.strerror(errno.ENOTDIR)}")
    _check_writable(existing)


def _check_writable(folder: Path) -> None:
    """Check that a folder is writable by trying: os.access would allow root to write to /proc."""
    made = folder / f".{uuid.uuid4().hex}"
    try:
        made.mkdir(0o700)  # `mkdtemp` would try other names without end on Windows
        made.rmdir()
    except OSError as error:
        raise OSError(error.errno, f"{folder}: cannot be written: {error.strerror}") from error


INPUT_FILE = FileType("FILE", _check_input, is_input=True)  # text, plain or .gz
INPUT_FILES = FileType("FILES", _check_input, has_several=True, is_input=True)
INPUT_BINARIES = FileType(
    "FILES", lambda path: open(path, "rb").close(), has_several=True, is_input=True
)
INPUT_LINES = FileType("FILE", _check_input, has_stream=True, is_input=True)
OUTPUT_FILE = FileType("FILE", _check_plain_file)
OUTPUT_LINES = FileType("FILE", _check_plain_file, has_stream=True)
OUTPUT_TEXT = FileType("FILE", _check_file)  # compressed if it is named .gz
OUTPUT_FOLDER = FileType("FOLDER", _check_folder)  # made if it is missing
REMOTE_PATH = FileType("PATH", lambda path: None)  # of any of Beam's filesystems
MODEL_FOLDERS = FileType(  # see `decoding_flags`
    "FOLDERS", lambda path: None, has_several=True, is_input=True
)
MODEL_FOLDER = FileType("FOLDER", lambda path: None, is_input=True)  # likewise


def check_has_no_comma(name: str, path: str) -> None:
    """Raise a UsageError if the path of a new model has a comma."""
    if "," in path:
        raise UsageError(f"--{name} {path}: must not contain a comma, which separates models")


def identity(path: Path) -> Path | tuple[int, int]:
    """Return what identifies a file, however it is capitalized on a disk that ignores case."""
    try:
        status = path.stat()
    except OSError:
        return path.resolve()
    return (status.st_dev, status.st_ino) if status.st_ino else path.resolve()


def check_path(name: str, file_type: FileType, value: str) -> None:
    """Raise an InputError that names the flag if its value cannot be read or written.

    UsageError for a leading ~: it would make a folder named ~, and `rm -r ~` removes the home; and
    for a URL, which would make a folder named gs: or the like.
    """
    for path in file_type.paths(value):
        where = f"--{name} {value}" if path == value else f"--{name} {value}: {path}"
        if path == "~" or path.startswith(("~/", "~\\")):
            raise UsageError(f"{where}: the shell does not expand ~ here; use $HOME instead")
        if is_url(path) and file_type is not REMOTE_PATH:
            raise UsageError(f"{where}: a URL, not a path on this machine")
        if not (file_type.has_stream and path == "-"):
            with input_errors(where):
                file_type.check(path)
