"""Word links of a training corpus, as aligners write them (fast_align, eflomal, Moses)."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.data.lines import file_digest, is_compressed
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.errors import InputError

_LINKS = re.compile(r"\s*(\d{1,9}-\d{1,9}(\s+|$))*", re.ASCII)  # of a line


class WordAlignmentBlock(NamedTuple):
    """The links of some pairs that follow one another in a file."""

    path: str
    before: int  # lines of the file that went before
    ends: np.ndarray  # int32 [links, 2]; places of source and target word, from 0
    counts: np.ndarray  # int64 [pairs]; links of each


class WordAlignmentFiles:
    """Files of word links, each plain or .gz, that belong to those of `ParallelFiles`.

    A line has the links of a pair, `i-j` with blanks between (Pharaoh): word i of the source and
    word j of the target, both from 0. A pair without links has a blank line.

    Args:
        links: files.
        sources: for each of them, the file with its pairs' sentences, of either side.

    Raises:
        InputError: more files of one kind.
    """

    def __init__(self, links: Sequence[str | Path], sources: Sequence[str | Path]):
        if len(links) != len(sources):
            raise InputError(
                f"{len(links)} files of links for {len(sources)} of sentences: each needs the other"
            )
        self._files = list(zip(links, sources, strict=True))

    def fingerprint(self) -> str:
        """SHA-256 of the links' bytes.

        Raises:
            InputError: a file that cannot be read.
        """
        files = [[is_compressed(path), file_digest(path)] for path, _ in self._files]
        return hashlib.sha256(json.dumps(["links", files]).encode()).hexdigest()

    def blocks(self) -> Iterator[WordAlignmentBlock]:
        """The links in the order of the pairs, some at a time.

        Raises:
            InputError: a file that cannot be read, a line that is none of links (the text names
                it), not as many lines as sentences.
        """
        for path, source in self._files:
            before = 0
            for lines, _ in ParallelFiles([path], [source]).blocks():
                yield _parse(str(path), before, lines)
                before += len(lines)


def _parse(path: str, before: int, lines: list[str]) -> WordAlignmentBlock:
    for number, line in enumerate(lines, before + 1):
        if not _LINKS.fullmatch(line):
            raise InputError(f"{path}: line {number:,} is not made of links i-j: {line[:40]!r}")
    numbers = np.array(" ".join(lines).replace("-", " ").split(), "S9").astype(np.int32)
    counts = np.array([line.count("-") for line in lines], np.int64)
    return WordAlignmentBlock(path, before, numbers.reshape(-1, 2), counts)


@dataclasses.dataclass(frozen=True, eq=False)
class WordAlignments:
    """The links of every pair of a corpus.

    All links stand in one row, pair by pair. Arrays may be memory-mapped files; only what is asked
    for is read.
    """

    ends: np.ndarray  # int32 [all links, 2]; places of source and target word, from 0
    starts: np.ndarray  # int64 [N + 1]; pair i has ends[starts[i] : starts[i + 1]]

    def __len__(self) -> int:
        """N, the number of pairs."""
        return len(self.starts) - 1

    def guide(self, rows: np.ndarray, source_steps: int, target_steps: int) -> np.ndarray:
        """A, the attention that links ask for: A_ij = 1/|links of i| where (j, i) is one, else 0.

        The row of a target word without a link is all 0, and so are those of `</s>` and padding:
        they are left to themselves.

        Args:
            rows: of which pairs, int [B].
            source_steps: Tx.
            target_steps: Ty.

        Returns:
            float32 [B, Ty, Tx].
        """
        counts = self.starts[rows + 1] - self.starts[rows]
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self.starts[rows] - before, counts)
        source, target = self.ends[places].T
        found: np.ndarray = np.zeros((len(rows), target_steps, source_steps), np.float32)
        found[np.repeat(np.arange(len(rows)), counts), target, source] = 1
        return found / np.maximum(found.sum(axis=2, keepdims=True), 1)
