"""Types of flags that name outputs, which are checked before a command begins."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import is_stream, real_path


class OutputFile(str):
    """The type of a flag that names a file to write."""


class OutputLines(str):
    """The type of a flag that names a file to write, or - for standard output."""


class OutputFolder(str):
    """The type of a flag that names a folder, which is made where it is missing."""


def _check_file(path: str) -> None:
    """Check that a file can be written.

    Raises:
        InputError: it cannot be.
    """
    if path == "-":
        raise InputError("this output needs a file, - is no name")
    target = real_path(path)
    if target.is_dir() or path.endswith(os.sep):
        raise InputError(os.strerror(errno.EISDIR))
    if target.is_socket():
        raise InputError("is a socket")
    stays = is_stream(path)
    if not stays and not target.parent.is_dir():
        raise InputError(f"{Path(path).parent}: no such folder")
    needed = [Path(path)] if stays else [target.parent, *([target] if target.exists() else [])]
    if not all(os.access(one, os.W_OK) for one in needed):
        raise InputError(os.strerror(errno.EACCES))


def _check_lines(path: str) -> None:
    if path != "-":
        _check_file(path)


def _check_folder(path: str) -> None:
    """Check that a folder can be made and written to.

    Raises:
        InputError: it cannot be.
    """
    target = real_path(path)
    existing = next(one for one in (target, *target.parents) if one.exists())
    if not existing.is_dir():
        raise InputError(f"{existing}: {os.strerror(errno.ENOTDIR)}")
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing}: {os.strerror(errno.EACCES)}")


CHECKS: dict[type, Callable[[str], None]] = {
    OutputFile: _check_file,
    OutputLines: _check_lines,
    OutputFolder: _check_folder,
}


def check_output(name: str, output_type: type, path: str) -> None:
    """Check the value of a flag of one of these types.

    Raises:
        InputError: it cannot be written; the text names the flag.
    """
    try:
        CHECKS[output_type](path)
    except InputError as error:
        raise InputError(f"--{name} {path}: {error}") from error
