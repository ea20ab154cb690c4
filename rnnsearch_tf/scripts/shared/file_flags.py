"""Types of flags that name files and folders, which are checked before a command begins."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

from rnnsearch_tf.data.lines import check_is_text
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import is_stream, real_path


class InputFile(str):
    """The type of a flag that names a text file to read, plain or .gz."""


class InputFiles(str):
    """The type of a flag that names such files, with commas."""


class InputLines(str):
    """The type of a flag that names such a file, or - for standard input."""


class ModelFolders(str):
    """The type of a flag that names models, with commas; see `model_flags`."""


class OutputFile(str):
    """The type of a flag that names a file to write."""


class OutputLines(str):
    """The type of a flag that names a file to write, or - for standard output."""


class OutputFolder(str):
    """The type of a flag that names a folder, which is made where it is missing."""


def _check_input(path: str) -> None:
    """Check that a file can be read, and is not binary.

    Raises:
        InputError: it cannot be.
    """
    if not Path(path).exists():
        raise InputError(os.strerror(errno.ENOENT))
    if not is_stream(path):  # what is read from a stream is gone
        try:
            check_is_text(path)
        except InputError as error:
            raise InputError(str(error).removeprefix(f"{path}: ")) from error


def _check_inputs(paths: str) -> None:
    for path in paths.split(","):
        try:
            _check_input(path)
        except InputError as error:
            raise error if path == paths else InputError(f"{path}: {error}") from error


def _check_input_lines(path: str) -> None:
    if path != "-":
        _check_input(path)


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
    InputFile: _check_input,
    InputFiles: _check_inputs,
    InputLines: _check_input_lines,
    ModelFolders: lambda path: None,
    OutputFile: _check_file,
    OutputLines: _check_lines,
    OutputFolder: _check_folder,
}
PLACEHOLDERS = {
    **dict.fromkeys((InputFile, InputLines, OutputFile, OutputLines), "FILE"),
    OutputFolder: "FOLDER",
    InputFiles: "FILE[,FILE…]",
    ModelFolders: "FOLDER[,FOLDER…]",
}


def check_path(name: str, path_type: type, path: str) -> None:
    """Check the value of a flag of one of these types.

    Raises:
        InputError: it cannot be read, or written; the text names the flag.
    """
    try:
        CHECKS[path_type](path)
    except InputError as error:
        raise InputError(f"--{name} {path}: {error}") from error
