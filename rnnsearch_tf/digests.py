"""SHA-256 of JSON objects, files, folders and code, to detect changes."""

import hashlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.json_files import read_json, typed

_LIST = "digests.json"  # in a folder: the digests of its other files
SEAL = "sha256"  # field of a JSON object: the digest of all others
_BLOCK = 2**16


def file_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file as it is on the disk, in hexadecimal; 0.4 to 1.5 GB/s.

    InputError if the file cannot be read, or is a pipe, which cannot be read again.
    """
    if Path(path).is_fifo():
        raise InputError(f"{path}: a pipe, but this is read more than once: use a file")
    with input_errors(path), open(path, "rb") as file:
        return stream_digest(file)


def stream_digest(file: IO[bytes]) -> str:
    """Return the SHA-256 of the rest of an open file, in hexadecimal."""
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


def json_digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, in which the order of fields does not matter."""
    digest = hashlib.sha256()
    for part in json.JSONEncoder(sort_keys=True).iterencode(value):  # a text may be large
        digest.update(part.encode())
    return digest.hexdigest()


def code_digest(*modules: ModuleType) -> str:
    """Return the SHA-256 of modules, comments included."""
    return json_digest([inspect.getsource(module) for module in modules])


def folder_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file below a folder, by its path there, with slashes."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): file_digest(path) for path in paths}


def find_changed(folder: Path, digests: Mapping[str, str]) -> str | None:
    """Find the first file below a folder that is missing or has changed; None if there is none."""
    for name, digest in digests.items():
        path = folder / name
        if not path.is_file() or file_digest(path) != digest:
            return name
    return None


def write_digests(folder: Path) -> None:
    """Write the digests of all files into a folder, for `is_intact`."""
    (folder / _LIST).write_text(json.dumps(folder_digests(folder), indent=2) + "\n", "utf-8")


def is_intact(folder: Path) -> bool:
    """Whether the files that `write_digests` listed are unchanged; InputError if unreadable."""
    try:
        digests = typed(dict[str, str], read_json(folder / _LIST))
        return bool(digests) and find_changed(folder, digests) is None
    except (InputError, ValueError) as error:
        # An unreadable file, unlike a missing one, may be intact.
        if isinstance(error.__cause__, OSError) and not isinstance(
            error.__cause__, FileNotFoundError | NotADirectoryError
        ):
            raise
        return False


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object with its digest as the last field."""
    return {**values, SEAL: json_digest(values)}


def unsealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON object without its digest; ValueError if the digest is wrong."""
    rest = {name: value for name, value in values.items() if name != SEAL}
    if SEAL in values and values[SEAL] != json_digest(rest):
        raise ValueError(
            f'damaged, or changed by hand: the field "{SEAL}" is not the digest of the others; '
            "to accept the change, delete that field"
        )
    return rest
