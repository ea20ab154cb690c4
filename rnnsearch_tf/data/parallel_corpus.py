"""Parallel text: line i of one side is the translation of line i of the other."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from rnnsearch_tf.data.lines import blocks_of_lines, file_digest, is_compressed
from rnnsearch_tf.errors import InputError

BLOCK_PAIRS = 4_000  # what a corpus gives at a time, at most


class ParallelText(NamedTuple):
    """Sentence pairs as raw text, without line ends; a corpus that is in memory."""

    source: list[str]
    target: list[str]

    def fingerprint(self) -> str:
        """SHA-256 of the sentences."""
        return hashlib.sha256(json.dumps(["text", *self]).encode()).hexdigest()

    def blocks(self) -> Iterator["ParallelText"]:
        """The pairs in order, some at a time."""
        for start in range(0, len(self.source), BLOCK_PAIRS):
            chosen = slice(start, start + BLOCK_PAIRS)
            yield ParallelText(self.source[chosen], self.target[chosen])


class Corpus(Protocol):
    """Sentence pairs to train on, of any number."""

    def fingerprint(self) -> str:
        """A digest that differs whenever the text differs."""

    def blocks(self) -> Iterator[ParallelText]:
        """The pairs in order, some at a time, so that memory holds only these."""


class ParallelFiles:
    """Pairs of text files, each plain or .gz, one pair after the other.

    Args:
        sources: files.
        targets: for each of them, the file with its translations, line by line.

    Raises:
        InputError: more files on one side.
    """

    def __init__(self, sources: Sequence[str | Path], targets: Sequence[str | Path]):
        if len(sources) != len(targets):
            raise InputError(
                f"{len(sources)} source files and {len(targets)} target files: "
                "each needs the other side"
            )
        self._files = list(zip(sources, targets, strict=True))

    def fingerprint(self) -> str:
        """SHA-256 of the files' bytes.

        Raises:
            InputError: a file that cannot be read.
        """
        files = [
            [[is_compressed(path), file_digest(path)] for path in (source, target)]
            for source, target in self._files
        ]
        return hashlib.sha256(json.dumps(["files", files]).encode()).hexdigest()

    def blocks(self) -> Iterator[ParallelText]:
        """The pairs in order, some at a time.

        Raises:
            InputError: a file that cannot be read or is not UTF-8 (with its line), unequal numbers
                of lines, no line at all; the pairs before the bad place have been given by then.
        """
        for source, target in self._files:
            yield from _in_lockstep(source, target)

    def read(self) -> ParallelText:
        """All pairs at once.

        Raises:
            InputError: as `blocks`.
        """
        return whole(self)


def read_parallel(source: str | Path, target: str | Path) -> ParallelText:
    """Read a pair of files, each plain or .gz.

    Raises:
        InputError: a file that cannot be read or is not UTF-8 (with its line), unequal numbers of
            lines, no line at all.
    """
    return ParallelFiles([source], [target]).read()


def each_pair(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """The pairs of a corpus one by one."""
    for block in corpus.blocks():
        yield from zip(*block, strict=True)


def whole(corpus: Corpus) -> ParallelText:
    """All pairs of a corpus in memory."""
    text = ParallelText([], [])
    for block in corpus.blocks():
        text.source.extend(block.source)
        text.target.extend(block.target)
    return text


def _in_lockstep(source: str | Path, target: str | Path) -> Iterator[ParallelText]:
    counts = [0, 0]
    sides = (blocks_of_lines(path, BLOCK_PAIRS) for path in (source, target))
    for block in itertools.starmap(ParallelText, itertools.zip_longest(*sides, fillvalue=[])):
        counts = [count + len(side) for count, side in zip(counts, block, strict=True)]
        if counts[0] == counts[1]:
            yield block
    if counts[0] != counts[1]:
        raise InputError(
            f"{source} has {counts[0]:,} lines, {target} has {counts[1]:,}: "
            "they must belong together line by line"
        )
    if not counts[0]:
        raise InputError(f"{source} and {target} are empty")
