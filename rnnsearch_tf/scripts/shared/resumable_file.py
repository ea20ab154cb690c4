"""--output and --resume: lines of output as they come; a run that writes a file can be resumed."""

import hashlib
import itertools
import json
import os
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.files import NO_SPACE, file_lock, is_stream, move_over, real_path, take_mode
from rnnsearch_tf.interrupts import last_word
from rnnsearch_tf.json_files import parse_json
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_LINES
from rnnsearch_tf.scripts.shared.line_stream import Item, LineStream, write_blocks

# Flags that may differ when a run is resumed; of models, the files are compared.
_INPUTS = ("input", "source", "target", "tsv", "translation")
_FREE = (
    *(*_INPUTS, "output", "resume"),
    *("model_dir", "reverse_model_dir", "deadline", "batch_size", "concurrency", "attempts"),
    *("figures", "figure_format"),
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


class ResumableFile(LineStream):
    """An output file: OUTPUT.partial, with the journal OUTPUT.partial.jsonl, until it is complete.

    The journal's first line has the command, its flags and the models. Each other line is for an
    item whose lines are written: its hash, the size of the file so far, and whether an item failed.
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
        self._is_refused = False  # the existing lines were made from another input
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
        """Yield the items that are not done; InputError if the hashes of the done ones differ."""
        items = iter(items)
        earlier = array("Q", map(_hash, itertools.islice(items, self.done)))
        self._is_refused = earlier != self._hashes
        if self._is_refused:
            other = "an input with more lines" if len(earlier) < self.done else "another input"
            raise InputError(f"{self._partial} was made from {other}; delete it to start over")
        for item in items:
            self._pending.append(_hash(item))
            yield item

    def kept_lines(self) -> list[bytes]:
        """Return the lines of the items that are done."""
        if not self.done:
            return []
        with open(self._partial, "rb") as file:
            return file.read(self._size).splitlines()

    def write(self, blocks: Iterable[str]) -> None:
        """Write the lines of the other items; the file gets its name when all are in it.

        Errors as in `LineStream`.
        """
        if not _are_same(self._made_with(), self._made_by["models"]):  # loaded since
            raise InputError("the model has just changed; start again")
        try:
            busy = _AnotherProcessError(self._partial)
            with file_lock(self._partial, busy) as file, last_word(self._report_partial):
                if file.tell() != self._found:
                    raise busy
                file.truncate(self._size)
                if self._target.exists():  # a private file stays private while it is written
                    take_mode(self._partial, self._target)
                with file_lock(self._journal, busy) as journal:
                    journal.truncate(self._kept)
                    take_mode(self._journal, self._partial)
                    write_blocks(file, self._journaled(blocks, file, journal))
                if not os.path.samestat(os.fstat(file.fileno()), self._partial.stat()):
                    raise _AnotherProcessError(self._partial)
            move_over(self._partial, self._target)
            self._journal.unlink(missing_ok=True)
        except _AnotherProcessError:
            raise
        except BaseException as error:
            if isinstance(error, OSError) and not error.filename and error.errno in NO_SPACE:
                error.filename = str(self._partial)  # that of a figure has its own
            self._report_partial()
            raise

    def _journaled(
        self, blocks: Iterable[str], file: IO[bytes], journal: IO[bytes]
    ) -> Iterator[str]:
        """Yield the lines of each item; note in the journal that they are in the file."""
        if not self._kept:
            write_blocks(journal, [json.dumps(self._made_by)])
        for block in blocks:
            yield block
            done = [self._pending.popleft(), file.tell(), self.has_failed]
            write_blocks(journal, [json.dumps(done)])
            self._written += 1

    def _read_journal(self) -> None:
        """Read what is done, and check that the same flags and models made it."""
        try:
            with open(self._journal, "rb") as journal:
                first = journal.readline()
                earlier = parse_json(first)
                command, models = earlier["command"], earlier["models"]
                flags = dict(earlier["flags"])
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
            if sys.platform == "win32" and isinstance(error, PermissionError):
                raise _AnotherProcessError(self._partial) from error  # its lock keeps readers off
            raise InputError(
                f"{self._journal}: missing or damaged; delete {self._partial} to start over"
            ) from error
        check_same_flags(str(self._partial), flags, self._made_by["flags"])
        if command != self._made_by["command"] or not _are_same(models, self._made_by["models"]):
            raise InputError(
                f"{self._partial} was made by another command or another model; delete it to start "
                "over"
            )

    def _report_partial(self) -> None:
        """Say what can be resumed; remove what cannot."""
        if self._is_refused or not self._partial.exists():
            return
        done = self.done + self._written
        if done:
            self._warn(
                f"{self._partial} has the first {done:,} lines' results: --resume continues there"
            )
        else:
            self._partial.unlink()
            self._journal.unlink(missing_ok=True)


def line_output(command: Command, made_with: Callable[[], Any]) -> LineStream:
    """Return the output that --output names.

    `made_with` identifies the models that make the lines, JSON-serializable; None if they are
    unknown. InputError if OUTPUT.partial exists without --resume, or cannot be resumed; UsageError
    if --output names an input, or --resume is given without a file.
    """
    flags = command.flags
    if flags.output != "-" and not is_stream(flags.output):
        command.check_distinct((*_INPUTS, "closest_to"), ["output"])
        compared = {name: flags[name].value for name in flags if name not in _FREE}
        return ResumableFile(command, compared, made_with)
    if flags.resume:
        raise UsageError("--resume needs --output, with the name of a file")
    return LineStream(flags.output, command.warn)


def check_same_flags(
    where: str, before: Mapping[str, Any], now: Mapping[str, Any], way_out: str = ""
) -> None:
    """Raise an InputError if an interrupted run had other flags.

    The message begins with `where` and ends with `way_out`.
    """
    for name, value in now.items():
        if before.get(name) != value:
            was, given = ("not given" if x is None else x for x in (before.get(name), value))
            raise InputError(f"{where}: --{name} was {was}, now {given}{way_out}")


class _AnotherProcessError(InputError):
    def __init__(self, path: Path):
        super().__init__(f"{path}: another process is writing it")


def _are_same(models: Any, others: Any) -> bool:
    """Whether models may be the same; None: the models are not known."""
    return None in (models, others) or models == others


def _hash(item: Any) -> int:
    return int.from_bytes(hashlib.sha256(repr(item).encode()).digest()[:8], "little")
