"""Lines of output as they come; what is done when a command breaks off is kept, and resumed."""

import hashlib
import itertools
import json
import os
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from rnnsearch_tf.digests import file_digest, folder_digests
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.files import (
    NO_SPACE,
    file_lock,
    is_stream,
    move_over,
    opened_stream,
    real_path,
    take_mode,
)
from rnnsearch_tf.inference.exported import find_version
from rnnsearch_tf.interrupts import last_word
from rnnsearch_tf.json_files import parse_json
from rnnsearch_tf.models.model_directory import MODEL_FILES
from rnnsearch_tf.progress import counted
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_LINES, check_distinct
from rnnsearch_tf.scripts.shared.text_output import shown_by
from rnnsearch_tf.terminal import printable

Item = TypeVar("Item")

# Flags that may differ when a run is resumed; of models, the files are compared.
_INPUTS = ("input", "source", "target", "tsv", "translation")
_FREE = (
    *(*_INPUTS, "output", "resume"),
    *("model_dir", "reverse_model_dir", "deadline", "batch_size", "concurrency", "attempts"),
)


def define_line_output(command: Command, lines: str) -> None:
    """Add --output and --resume; `lines` says what is written."""
    command.define("output", OUTPUT_LINES, f"file for the {lines}; - is standard output", "-")
    command.define(
        "resume",
        bool,
        "continue an interrupted run that has left OUTPUT.partial; use the same flags",
        False,
    )


def line_output(command: Command, made_with: Callable[[], Any]) -> "LineOutput":
    """Return the output that --output names.

    `made_with` tells the models that make the lines, as a value that JSON has; None where they are
    not known. InputError where OUTPUT.partial is there and is not to be resumed, or cannot be;
    UsageError where --output names an input.
    """
    flags = command.flags
    if flags.output != "-" and not is_stream(flags.output):
        check_distinct(flags, [name for name in _INPUTS if name in flags], ["output"])
        compared = {name: flags[name].value for name in flags if name not in _FREE}
        return _FileOutput(command, compared, made_with)
    if flags.resume:
        raise UsageError("--resume needs --output, with the name of a file")
    return LineOutput(flags.output, command.warn)


class LineOutput:
    """Lines for the items of an input, written to standard output (-), a pipe or a device."""

    def __init__(self, path: str, warn: Callable[[str], None]):
        self.done = 0  # items whose lines are there from a run that broke off
        self.has_failed = False  # whether a line has no finite result, also of those done
        self._path = path
        self._warn = warn

    def check(self, number: int, is_finite: bool, problem: str) -> None:
        """Tell of line `number`, from 1, where its result is not finite."""
        if not is_finite:
            self.has_failed = True
            self._warn(f"line {number:,}: {problem}")

    def rest_of(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items that are not done; InputError if the done ones are others."""
        return iter(items)

    def kept_lines(self) -> list[bytes]:
        """Return the lines of the items that are done."""
        return []

    def counted(self, items: Iterable[Item], name: str, total: int | None = None) -> Iterator[Item]:
        """Yield items, and show the progress unless the terminal shows their lines."""
        return iter(items) if self._is_on_terminal() else counted(items, name, total)

    def write(self, blocks: Iterable[str]) -> None:
        """Write the lines of each item that is not done, the last without its end, as they come.

        InputError if another process is writing them; OSError if the file cannot be written.
        """
        if self._path == "-":
            _write(sys.stdout.buffer, map(shown_by(sys.stdout), blocks))
            return
        with opened_stream(self._path) as file:
            _write(file, map(printable, blocks) if file.isatty() else blocks)

    def _is_on_terminal(self) -> bool:
        if self._path == "-":
            return sys.stdout.isatty()
        if not is_stream(self._path) or Path(self._path).is_fifo():  # its reader would see the end
            return False
        with opened_stream(self._path) as file:
            return file.isatty()


class _FileOutput(LineOutput):
    """A file: OUTPUT.partial, with the journal OUTPUT.partial.jsonl beside it, until it is whole.

    The journal's first line tells what makes the lines. There is another for each item whose lines
    are written: its hash, the size of the file with its lines, and whether an item has failed.
    """

    def __init__(self, command: Command, compared: dict[str, Any], made_with: Callable[[], Any]):
        super().__init__(command.flags.output, command.warn)
        self._target = real_path(self._path)
        self._partial = self._target.with_name(f"{self._target.name}.partial")
        self._journal = self._target.with_name(f"{self._partial.name}.jsonl")
        self._made_with = made_with
        self._made_by = {"command": command.name, "flags": compared, "models": made_with()}
        self._hashes = array("Q")  # of the items that are done
        self._size = 0  # bytes of their lines
        self._kept = 0  # bytes of the journal about them
        self._pending: deque[int] = deque()  # hashes of items that are read and not done
        self._written = 0  # items whose lines this run has written
        self._found = self._partial.stat().st_size if self._partial.exists() else 0
        if self._found and not command.flags.resume:
            with file_lock(self._partial, _AnotherProcessError(self._partial)):
                pass
            raise InputError(
                f"{self._partial} has the lines of an interrupted run: --resume continues after "
                "them; or remove it"
            )
        if self._found:
            self._read_journal()
            self.done = len(self._hashes)

    def rest_of(self, items: Iterable[Item]) -> Iterator[Item]:
        items = iter(items)
        earlier = array("Q", map(_hash, itertools.islice(items, self.done)))
        if len(earlier) < self.done:
            raise InputError(f"{self._partial} was made of an input with more lines")
        if earlier != self._hashes:
            raise InputError(f"{self._partial} was made of another input")
        for item in items:
            self._pending.append(_hash(item))
            yield item

    def kept_lines(self) -> list[bytes]:
        if not self.done:
            return []
        with open(self._partial, "rb") as file:
            return file.read(self._size).splitlines()

    def write(self, blocks: Iterable[str]) -> None:
        if not _are_same(self._made_with(), self._made_by["models"]):  # in the meantime loaded
            raise InputError("the model has just changed; start again")
        try:
            busy = _AnotherProcessError(self._partial)
            with file_lock(self._partial, busy) as file, last_word(self._tell):
                if file.tell() != self._found:
                    raise busy
                file.truncate(self._size)
                if self._target.exists():  # a private file stays private while it is written
                    take_mode(self._partial, self._target)
                with open(self._journal, "ab") as journal:
                    journal.truncate(self._kept)
                    _write(file, self._journaled(blocks, file, journal))
                if not os.path.samestat(os.fstat(file.fileno()), self._partial.stat()):
                    raise _AnotherProcessError(self._partial)
            move_over(self._partial, self._target)
            self._journal.unlink(missing_ok=True)
        except _AnotherProcessError:
            raise
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in NO_SPACE:
                error.filename = str(self._partial)
            self._tell()
            raise

    def _journaled(
        self, blocks: Iterable[str], file: IO[bytes], journal: IO[bytes]
    ) -> Iterator[str]:
        """Yield the lines of each item; note in the journal that they are in the file."""
        if not self._kept:
            _write(journal, [json.dumps(self._made_by)])
        for block in blocks:
            yield block
            done = [self._pending.popleft(), file.tell(), self.has_failed]
            _write(journal, [json.dumps(done)])
            self._written += 1

    def _read_journal(self) -> None:
        """Read what is done, and check that the same flags and models made it."""
        try:
            with open(self._journal, "rb") as journal:
                first = journal.readline()
                earlier = parse_json(first)
                command, flags, models = (
                    earlier["command"],
                    dict(earlier["flags"]),
                    earlier["models"],
                )
                self._kept = len(first)
                for line in journal:
                    if not line.endswith(b"\n"):  # the run was killed while it wrote this
                        break
                    digest, size, has_failed = parse_json(line)
                    if type(size) is not int or size < self._size:
                        raise ValueError("a file does not get smaller")
                    if size > self._found:  # the last lines were cut off
                        break
                    self._hashes.append(digest)
                    self._size, self.has_failed = size, has_failed
                    self._kept += len(line)
        except (OSError, ValueError, OverflowError, KeyError, TypeError) as error:
            raise InputError(
                f"{self._journal}: missing or damaged; delete {self._partial} to start over"
            ) from error
        check_same_flags(str(self._partial), flags, self._made_by["flags"])
        is_same = command == self._made_by["command"]
        if not (is_same and _are_same(models, self._made_by["models"])):
            raise InputError(
                f"{self._partial} was made by another command or another model; delete it to start "
                "over"
            )

    def _tell(self) -> None:
        """Say what can be resumed; remove what cannot."""
        if not self._partial.exists():
            return
        done = self.done + self._written
        if done:
            self._warn(
                f"{self._partial} has the first {done:,} lines' results: --resume continues there"
            )
        else:
            self._partial.unlink()
            self._journal.unlink(missing_ok=True)


def check_same_flags(
    where: str, before: Mapping[str, Any], now: Mapping[str, Any], way_out: str = ""
) -> None:
    """Raise an InputError if an interrupted run had other flags.

    Its text begins with a place, and ends in a way out.
    """
    for name, value in now.items():
        if before.get(name) != value:
            was, given = ("not given" if x is None else x for x in (before.get(name), value))
            raise InputError(f"{where}: --{name} was {was}, now {given}{way_out}")


def _write(file: IO[bytes], blocks: Iterable[str]) -> None:
    for block in blocks:
        file.write(f"{block}\n".encode())
        file.flush()


class _AnotherProcessError(InputError):
    def __init__(self, path: Path):
        super().__init__(f"{path}: another process is writing it")


def _are_same(models: Any, others: Any) -> bool:
    """Whether models may be the same; None stands for models that are not known."""
    return None in (models, others) or models == others


def _hash(item: Any) -> int:
    return int.from_bytes(hashlib.sha256(repr(item).encode()).digest()[:8], "little")


def model_digests(paths: Sequence[str], weights: str) -> list[dict[str, str]]:
    """Return the SHA-256 of each file that the answers of some models depend on."""
    return [_digests(path, weights) for path in paths]


def _digests(path: str, weights: str) -> dict[str, str]:
    if version := find_version(path):
        return folder_digests(version)
    files = {name: Path(path) / name for name in (*MODEL_FILES, f"{weights}.weights.h5")}
    return {name: file_digest(file) for name, file in files.items() if file.is_file()}
