"""Corpora as numbered tokens in files: written once, read by every training run on them.

A folder holds `digests.json`, the SHA-256 of its other files, and, for each side,

* `SIDE.words`: int32, the numbers of all tokens of all sentences; numbers are given in order of
  first appearance;
* `SIDE.starts`: int64, the offset of each sentence in `SIDE.words`, and the end;
* `SIDE.types`: UTF-8, one distinct token per line; its number is that of the line, from 0;
* `SIDE.counts`: int64, the occurrences of each distinct token;

and `problems`: UTF-8, warnings about the text, one per line.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences
from rnnsearch_tf.text.subwords import ids_of_the_unknown
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

SIDES = ("source", "target")
PROBLEMS = "problems"


class Block(NamedTuple):
    """Some sentences of one side."""

    types: Sequence[bytes] | np.ndarray  # the U distinct tokens
    words: np.ndarray  # int32 [tokens]; the index of each token among the types
    counts: np.ndarray  # int [U]; occurrences of each type in the block
    lengths: np.ndarray  # int [B]; tokens of each sentence


class PreparedText:
    """The corpus that `SideWriter`s have written into a folder: source and target sentences."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.source, self.target = (PreparedSide(folder, name) for name in SIDES)
        self.problems = (folder / PROBLEMS).read_text("utf-8").splitlines()

    def pairs(self, source_vocabulary: Vocabulary, target_vocabulary: Vocabulary) -> Pairs:
        """Read all pairs as ids of these vocabularies."""
        return Pairs(
            self.source.sentences(source_vocabulary), self.target.sentences(target_vocabulary)
        )


class PreparedSide:
    """The source or the target sentences."""

    def __init__(self, folder: Path, name: str):
        self._types = folder / f"{name}.types"
        self._counts = mapped(folder / f"{name}.counts", np.int64)
        self._words = mapped(folder / f"{name}.words", np.int32)
        self._starts = mapped(folder / f"{name}.starts", np.int64)

    def vocabulary(self, size: int, known: Sequence[str] = SPECIAL_TOKENS) -> Vocabulary:
        """Choose the most frequent tokens of this side: `size` ids, the `known` ones first."""
        counts = self._counts
        minimum = np.partition(counts, -size)[-size] if size < len(counts) else 0
        types = zip(self.types(), counts, strict=True)
        return Vocabulary.build(Counter({t: int(n) for t, n in types if n >= minimum}), size, known)

    def sentences(self, vocabulary: Vocabulary) -> Sentences:
        """Read all sentences as ids of a vocabulary."""
        *ids, _ = vocabulary.encode(self.types())
        return Sentences(self._words, self._starts, np.array(ids, np.int32))

    def unknown(self, vocabulary: Vocabulary) -> float:
        """Return the fraction of tokens that a vocabulary lacks, or has as single bytes, 0 to 1."""
        unknown = np.isin(self.sentences(vocabulary).ids, ids_of_the_unknown(vocabulary))
        return float(self._counts[unknown].sum() / max(self._counts.sum(), 1))

    def types(self) -> Iterator[str]:
        """Read the distinct tokens in the order of their numbers."""
        with open(self._types, encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line[:-1]


class SideWriter:
    """Writes the files of a `PreparedSide` to an empty folder, block by block.

    Only the types and their counts are kept in memory, not the text.
    """

    def __init__(self, folder: Path, name: str, files: contextlib.ExitStack):
        self._folder, self._name = folder, name
        self._words = files.enter_context(self._open("words"))
        self._starts = files.enter_context(self._open("starts"))
        self._starts.write(bytes(8))
        self._end = 0
        self._numbers: dict[bytes, int] = {}
        self._counts: np.ndarray = np.zeros(0, np.int64)

    def add(self, block: Block) -> None:
        """Write some sentences."""
        known = self._numbers
        numbers = np.array([known.setdefault(token, len(known)) for token in block.types], np.int32)
        if len(known) > len(self._counts):
            self._counts = np.append(self._counts, np.zeros(len(known), np.int64))
        self._counts[numbers] += block.counts
        self._words.write(numbers[block.words].tobytes())
        starts: np.ndarray = self._end + np.cumsum(block.lengths, dtype=np.int64)
        self._starts.write(starts.tobytes())
        self._end += len(block.words)

    def finish(self) -> None:
        """Write types and counts."""
        with self._open("types") as file:
            file.writelines(token + b"\n" for token in self._numbers)
        with self._open("counts") as file:
            file.write(self._counts[: len(self._numbers)].tobytes())

    def _open(self, ending: str) -> BinaryIO:
        return open(self._folder / f"{self._name}.{ending}", "wb")


def mapped(path: Path, dtype: type) -> np.ndarray:
    """Map a file of numbers, one axis, read on access."""
    if not path.stat().st_size:
        return np.zeros(0, dtype)
    return np.asarray(np.memmap(path, dtype, "r"))
