"""Shards of text on any of Beam's filesystems: found, read line by line, written whole."""

import contextlib
import gzip
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from apache_beam.io.filesystem import BeamIOError, CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.io.tfrecordio import _TFRecordUtil as TFRecord  # its transforms lose the order

from rnnsearch_tf.data.lines import (
    MAX_LINE_BYTES,
    bounded,
    check_head,
    compressed,
    is_compressed,
    raw_lines_of,
)
from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.files import move_over

_UNFINISHED = ".unfinished-"  # begins the name of a folder
_RAW = CompressionTypes.UNCOMPRESSED  # Beam's own decompression accepts a truncated gzip file


def absolute(path: str) -> str:
    """Return an absolute pattern or path, for workers that may run in another folder."""
    return path if "://" in path else os.path.abspath(path)


def matching(pattern: str) -> list[str]:
    """List the files that a pattern matches, by name; InputError if there are none.

    As in a shell, its wildcards match nothing hidden, such as a Mac's .DS_Store.
    """
    with input_errors(pattern):
        found = [each.path for each in FileSystems.match([pattern])[0].metadata_list]
    base = len(folder_of(pattern))
    if "/." not in f"/{pattern[base:]}":  # it does not ask for hidden files itself
        found = [path for path in found if not any(map(_is_hidden, path[base:].split("/")))]
    paths = sorted(path for path in found if f"/{_UNFINISHED}" not in path)
    if not paths:
        raise InputError(f"{pattern}: no such file")
    return paths


def _is_hidden(name: str) -> bool:
    return name.startswith(".") and name not in (".", "..")


def unfinished_folder(output: str) -> str:
    """Return a new folder within the output, for the files that a job is writing."""
    return f"{output}/{_UNFINISHED}{uuid.uuid4().hex}"


def outputs_of(pattern: str, folder: str) -> list[tuple[str, str]]:
    """Pair each output with its input: it keeps the path below the pattern's fixed folder.

    InputError for an input whose output would lie outside `folder`.
    """
    base = len(folder_of(pattern))
    pairs = []
    for path in matching(pattern):
        parts = path[base:].split("/")
        if any(part in ("", ".", "..") or "\\" in part for part in parts):  # of a bucket's object
            raise InputError(f"{path}: a name that leads out of its folder")
        pairs.append((FileSystems.join(folder, *parts), path))
    return pairs


def folder_of(pattern: str) -> str:
    """Return the leading folders of a pattern, up to the last slash before any wildcard."""
    fixed = re.split(r"[*?\[{]", pattern, maxsplit=1)[0]
    return fixed[: fixed.rfind("/") + 1]


def read_lines(path: str, feature: str | None = None) -> Iterator[bytes]:
    """Read the lines of a text file, plain or .gz, or the records of a TFRecord file.

    A file holds TFRecords if its name contains ".tfrecord". A record is a line or, with `feature`,
    a `tf.train.Example` that has the line in this feature. Lines need not be UTF-8. InputError if
    a file cannot be read, is damaged, or is not text.
    """
    with input_errors(path), FileSystems.open(path, compression_type=_RAW) as raw:
        file: Any = gzip.open(raw) if is_compressed(path) else raw  # noqa: SIM115
        yield from _records(file, feature) if has_records(path) else _text(file)


def write_lines(path: str, lines: Iterable[bytes], folder: str) -> None:
    """Write lines in the format that the name says, as `read_lines` reads them.

    The file is written to `folder` under a unique name, then renamed; on a local disk, it is synced
    first. A worker that writes it again, as after a failure, replaces it with the same bytes.
    InputError if it cannot be written.
    """
    with input_errors(path):
        temporary = FileSystems.join(folder, uuid.uuid4().hex)
        with (
            FileSystems.create(temporary, compression_type=_RAW) as raw,
            compressed(raw, path) as file,
        ):
            for line in lines:
                if has_records(path):
                    TFRecord.write_record(file, line)
                else:
                    file.write(line + b"\n")
        with contextlib.suppress(OSError):  # it is there
            FileSystems.mkdirs(FileSystems.split(path)[0])
        if "://" in path:
            try:
                FileSystems.rename([temporary], [path])
            except BeamIOError:
                if not FileSystems.exists(path):
                    raise
                FileSystems.delete([path])  # HDFS does not rename over an existing file
                FileSystems.rename([temporary], [path])
        else:
            move_over(Path(temporary), Path(path))


def check_empty(folder: str) -> None:
    """Raise an InputError if a folder of the output has files, for example of another job."""
    with input_errors(folder):
        try:
            found = FileSystems.match([f"{folder}/**"])[0].metadata_list
        except BeamIOError:  # HDFS does not list a folder that is not there
            if FileSystems.exists(folder):
                raise
            return
    if found:
        raise InputError(f"{folder} has files: remove it, or use another --output")


def check_written(outputs: Sequence[str]) -> None:
    """Raise an InputError if an output of a job is missing: it may be on a worker's own disk."""
    for path in outputs:
        if not FileSystems.exists(path):
            raise InputError(
                f"{path}: the job has ended, and the file is not here; if its workers are on other "
                "machines, --output must be on a filesystem that all share"
            )


def remove_folder(path: str) -> None:
    """Remove a folder of unfinished files, if it is there."""
    if "://" in path:  # a bucket has no folders that exist
        FileSystems.delete([f"{path}/"])
    elif FileSystems.exists(path):
        FileSystems.delete([path])


def has_records(path: str) -> bool:
    """Whether a file is of TFRecords."""
    return ".tfrecord" in path.rpartition("/")[2]


def _text(file: IO[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(raw_lines_of(bounded(file))):
        if not number:
            check_head(line)
        yield line


class _BoundedReads:
    """A file that refuses to read a record that would fill the memory."""

    def __init__(self, file: IO[bytes]):
        self._file = file

    def read(self, size: int) -> bytes:
        if size > MAX_LINE_BYTES:
            raise ValueError(f"a record of more than {MAX_LINE_BYTES:,} bytes, or damaged")
        return self._file.read(size)


def _records(file: IO[bytes], feature: str | None) -> Iterator[bytes]:
    bounded_file: Any = _BoundedReads(file)
    for number, record in enumerate(iter(lambda: TFRecord.read_record(bounded_file), None), 1):
        yield record if feature is None else _value(record, feature, number)


def _value(record: bytes, feature: str, number: int) -> bytes:
    from google.protobuf.message import DecodeError
    from tensorflow.core.example.example_pb2 import Example

    try:
        [value] = Example.FromString(record).features.feature[feature].bytes_list.value
    except (DecodeError, ValueError) as error:
        raise ValueError(
            f"record {number:,} is not an Example with one string {feature!r}"
        ) from error
    return value
