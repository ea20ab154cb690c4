"""Word alignments of a training corpus, as aligners write them (fast_align, eflomal, Moses)."""

import dataclasses
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from rnnsearch_tf.data.lines import is_compressed
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.digests import file_digest, json_digest
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import Paths, as_list
from rnnsearch_tf.text.vocabulary import EOS

_LINE = re.compile(r"\s*(\d{1,9}-\d{1,9}(\s+|$))*", re.ASCII)


class WordAlignmentBlock(NamedTuple):
    """The links of consecutive pairs of a file."""

    path: str
    before: int  # lines of the file before the block
    links: np.ndarray  # int32 [L, 2]; positions of source and target word, from 0
    counts: np.ndarray  # int64 [pairs]; links of each pair


class WordAlignmentFiles:
    """Files of word alignments, each plain or .gz, that belong to those of `ParallelFiles`.

    A line has the links of a pair, `i-j` separated by spaces (Pharaoh): word i of the source and
    word j of the target, both from 0. The line of a pair without links is blank. InputError if the
    numbers of files differ.

    Args:
        alignments: files.
        sources: for each of them, a file with the sentences of its pairs, source or target.
    """

    def __init__(self, alignments: Paths, sources: Paths):
        alignments, sources = as_list(alignments), as_list(sources)
        if len(alignments) != len(sources):
            raise InputError(
                f"{len(alignments)} alignment files for {len(sources)} files of sentence pairs: "
                "give one for each"
            )
        self._files = list(zip(alignments, sources, strict=True))

    def fingerprint(self) -> str:
        """Return the SHA-256 of the alignments."""
        files = [[is_compressed(path), file_digest(path)] for path, _ in self._files]
        return json_digest(["links", files])

    def blocks(self) -> Iterator[WordAlignmentBlock]:
        """Read the links in the order of the pairs, a block of lines at a time.

        InputError for a file that cannot be read, a line that is not made of links (the message
        has its number), or a number of lines that is not that of the sentences.
        """
        for path, source in self._files:
            before = 0
            for lines, _ in ParallelFiles([path], [source]).blocks():
                yield _parse(str(path), before, lines)
                before += len(lines)


def _parse(path: str, before: int, lines: list[str]) -> WordAlignmentBlock:
    for number, line in enumerate(lines, before + 1):
        if not _LINE.fullmatch(line):
            raise InputError(f"{path}: line {number:,} is not made of links i-j: {line[:40]!r}")
    numbers = np.array(" ".join(lines).replace("-", " ").split(), "S9").astype(np.int32)
    counts = np.array([line.count("-") for line in lines], np.int64)
    return WordAlignmentBlock(path, before, numbers.reshape(-1, 2), counts)


# Whether a token begins a word, bool [K]; None: each does.
WordStarts: TypeAlias = np.ndarray | None


@dataclasses.dataclass(frozen=True, eq=False)
class WordAlignments:
    """The links of every pair of a corpus, N pairs.

    All links stand in one array, pair by pair. Arrays may be memory-mapped files; only what is
    asked for is read.
    """

    links: np.ndarray  # int32 [L, 2]; positions of source and target word, from 0
    starts: np.ndarray  # int64 [N + 1]; pair i has links[starts[i] : starts[i + 1]]
    word_starts: tuple[WordStarts, WordStarts] = (None, None)  # of source and target

    def __len__(self) -> int:
        """N, the number of pairs."""
        return len(self.starts) - 1

    def guide(self, rows: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return the attention that the links of pairs ask for: float32 [B, Ty, Tx].

            A_ij = 1 / (source tokens linked to target token i) where j is one of them, else 0

        Tokens are linked where their words are. The row of a target token without a link is all 0,
        as are those of `</s>` and padding: the guided alignment loss leaves their attention alone.
        `rows` are the pairs, int [B]; `source` and `target` are their ids, [B, Tx] and [B, Ty].
        """
        counts = self.starts[rows + 1] - self.starts[rows]
        before = np.cumsum(counts) - counts
        indices = np.arange(counts.sum()) + np.repeat(self.starts[rows] - before, counts)
        source_words, target_words = self.links[indices].T
        # The last row and column, of no word, are those of `</s>` and padding, whose word is −1.
        linked: np.ndarray = np.zeros((len(rows), target.shape[1] + 1, source.shape[1] + 1), bool)
        linked[np.repeat(np.arange(len(rows)), counts), target_words, source_words] = True
        of_source, of_target = map(word_numbers, (source, target), self.word_starts)
        pair = np.arange(len(rows))[:, np.newaxis, np.newaxis]
        guide = linked[pair, of_target[:, :, np.newaxis], of_source[:, np.newaxis]]
        return guide / np.maximum(guide.sum(axis=2, keepdims=True, dtype=np.float32), 1)


def word_numbers(ids: np.ndarray, starts: WordStarts) -> np.ndarray:
    """Number the words that tokens, ids [B, T], belong to, from 0; −1 for `</s>` and padding."""
    begins = np.ones_like(ids) if starts is None else starts[ids]
    numbers = np.cumsum(begins, axis=1)
    return np.where(ids > EOS, numbers - numbers[:, :1], -1)
