"""Parallel text: line i of one side is the translation of line i of the other."""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from rnnsearch_tf.data.lines import blocks_of_lines, is_compressed
from rnnsearch_tf.digests import file_digest, json_digest
from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.files import Paths, as_list
from rnnsearch_tf.given_texts import checked_text

BLOCK_PAIRS = 4_000  # maximum pairs of a block
CHANGED = "the text was changed while it was read: start again"
_LARGE = 10_000_000  # bytes, which take 10 ms to read again


class ParallelText(NamedTuple):
    """Sentence pairs as raw text, without line ends: a corpus in memory.

    The methods raise an InputError as `check` does.
    """

    source: list[str]
    target: list[str]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the sentences."""
        self.check()
        return json_digest(["text", *self])

    def blocks(self) -> Iterator["ParallelText"]:
        """Yield the pairs in order, a block at a time."""
        self.check()
        for start in range(0, len(self.source), BLOCK_PAIRS):
            chosen = slice(start, start + BLOCK_PAIRS)
            yield ParallelText(self.source[chosen], self.target[chosen])

    def check(self) -> None:
        """Raise an InputError if the sides differ in length, or are not lists of valid str."""
        for name, side in zip(("source", "target"), self, strict=True):
            if not isinstance(side, list | tuple):
                kind = type(side).__name__
                raise InputError(f"{name}: expected a list of str, not {kind}; list(…) makes one")
            for number, line in enumerate(side, 1):
                if not isinstance(line, str):
                    raise InputError(f"{name} sentence {number:,}: expected a str, not {line!r}")
                checked_text(line, f"{name} sentence {number:,}")
        counts = len(self.source), len(self.target)
        if counts[0] != counts[1]:
            raise InputError(f"{counts[0]:,} source sentences and {counts[1]:,} target sentences")


@runtime_checkable
class Corpus(Protocol):
    """Any number of sentence pairs to train on."""

    def fingerprint(self) -> str:
        """Return a digest that differs whenever the text differs."""

    def blocks(self) -> Iterator[ParallelText]:
        """Yield the pairs in order, a block at a time, so that memory holds only this block."""


@contextlib.contextmanager
def unchanged(fingerprint: Callable[[], str], before: str) -> Iterator[None]:
    """Run a block that reads a text; InputError if its fingerprint has changed by the end."""
    yield
    if fingerprint() != before:
        raise InputError(CHANGED)


class _TextFiles:
    """A corpus in files, each plain or .gz; those in one tuple are read together."""

    def __init__(
        self, kind: str, read: Callable[..., Any], files: Sequence[tuple[str | Path, ...]]
    ):
        self._kind, self._read, self._files = kind, read, files
        self._digests: dict[Any, str] = {}  # of large files, by path, size and times

    def fingerprint(self) -> str:
        """Return the SHA-256 of the files; a large one is not read again unless it has changed."""
        files = [[[is_compressed(path), self._digest(path)] for path in one] for one in self._files]
        return json_digest([self._kind, files])

    def _digest(self, path: str | Path) -> str:
        with input_errors(path):
            found = os.stat(path)
        if found.st_size < _LARGE:
            return file_digest(path)
        state = path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
        if state not in self._digests:
            self._digests[state] = file_digest(path)
        return self._digests[state]

    def blocks(self) -> Iterator[ParallelText]:
        """Read the pairs in order, a block at a time.

        InputError for a file that cannot be read, is not UTF-8 (the message has the line's
        number) or does not have pairs; those before the error are yielded first.
        """
        for files in self._files:
            yield from self._read(*files)

    def read(self) -> ParallelText:
        """Read all pairs into memory."""
        return read_all(self)


class ParallelFiles(_TextFiles):
    """Pairs of text files, each plain or .gz, one pair after the other.

    Each file of `targets` has the translations of one of `sources`, line by line. InputError if the
    sides have different numbers of files.
    """

    def __init__(self, sources: Paths, targets: Paths):
        sources, targets = as_list(sources), as_list(targets)
        if len(sources) != len(targets):
            raise InputError(
                f"{len(sources)} source files and {len(targets)} target files: "
                "each needs the other side"
            )
        super().__init__("files", _in_lockstep, list(zip(sources, targets, strict=True)))


class TabSeparatedFiles(_TextFiles):
    """Files whose lines are a source, a tab and its target; further columns are ignored.

    A file in which `|||` occurs as a word before any tab is read as fast_align reads it:
    `source ||| target`.
    """

    def __init__(self, paths: Paths):
        super().__init__("tsv", _by_columns, [(path,) for path in as_list(paths)])


_TAB = re.compile("\t")
_BARS = re.compile(r"(?:^|[ \t])\|\|\|(?:[ \t]|$)")


def _separator(lines: Sequence[str]) -> re.Pattern[str]:
    """Return the separator of the columns, from the first line that has one."""
    for line in lines:
        columns = line.split("\t")
        if len(columns) > 1 and "|||" not in columns:
            return _TAB
        if _BARS.search(line):
            return _BARS
    return _TAB


def _by_columns(path: str | Path) -> Iterator[ParallelText]:
    done = 0
    separator = None
    for lines in blocks_of_lines(path, BLOCK_PAIRS):
        separator = separator or _separator(lines)
        rows = [separator.split(line) for line in lines]
        whole = list(itertools.takewhile(lambda row: len(row) > 1, rows))
        yield ParallelText([row[0] for row in whole], [row[1] for row in whole])
        done += len(whole)
        if len(whole) < len(rows):
            name = "|||" if separator is _BARS else "tab"
            raise InputError(f"{path}: line {done + 1:,} has no {name} between source and target")
    if not done:
        raise InputError(f"{path} is empty")


def checked_blocks(corpus: Corpus) -> Iterator[ParallelText]:
    """Yield the blocks of a corpus; InputError for one with unequal sides."""
    for number, block in enumerate(corpus.blocks(), 1):
        if len(block) != 2 or len(block[0]) != len(block[1]):
            counts = " and ".join(f"{len(side):,}" for side in block)
            raise InputError(f"block {number:,} of the corpus has sides of {counts} sentences")
        yield ParallelText(*block)


def each_pair(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a corpus one by one."""
    for block in checked_blocks(corpus):
        yield from zip(*block, strict=True)


def read_all(corpus: Corpus) -> ParallelText:
    """Read all pairs of a corpus into memory."""
    text = ParallelText([], [])
    for block in checked_blocks(corpus):
        text.source.extend(block.source)
        text.target.extend(block.target)
    return text


def _in_lockstep(source: str | Path, target: str | Path) -> Iterator[ParallelText]:
    counts = [0, 0]
    sides = (blocks_of_lines(path, BLOCK_PAIRS) for path in (source, target))
    for block in itertools.zip_longest(*sides, fillvalue=[]):
        counts = [count + len(side) for count, side in zip(counts, block, strict=True)]
        whole = min(map(len, block))  # a side that ends, or breaks off, has fewer
        if whole:
            yield ParallelText(*(side[:whole] for side in block))
    if counts[0] != counts[1]:
        raise InputError(
            f"{source} has {counts[0]:,} lines, {target} has {counts[1]:,}: "
            "they must belong together line by line"
        )
    if not counts[0]:
        raise InputError(f"{source} and {target} are empty")
