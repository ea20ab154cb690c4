"""Sentence pairs as ids, in memory or in files."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import EOS, PAD, Vocabulary

_TOKENIZED_LINES = 2_000  # at a time


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """One side of a corpus.

    The tokens of all sentences are joined in one array. Their numbers are the corpus's own, so they
    are written once and serve every vocabulary. Arrays may be memory-mapped files, of which only
    the rows that are needed are read.
    """

    words: np.ndarray  # int32 [all tokens]; numbers from 0 to W − 1
    starts: np.ndarray  # int64 [N + 1]; sentence i is words[starts[i] : starts[i + 1]]
    ids: np.ndarray  # int32 [W]; the vocabulary's id of each number, UNK for most

    def __len__(self) -> int:
        """N, the number of sentences."""
        return len(self.starts) - 1

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Count the tokens of some sentences, without `</s>`, int64 [B]."""
        return self.starts[rows + 1] - self.starts[rows]

    def take(self, rows: np.ndarray) -> "Sentences":
        """Read some sentences, int [B], into memory."""
        lengths = self.lengths(rows)
        starts: np.ndarray = np.append(0, np.cumsum(lengths))
        indices = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Sentences(self.words[indices], starts, self.ids)

    def batch(self, rows: np.ndarray, width: int = 0) -> np.ndarray:
        """Read sentences, int [B], as ids, each with `</s>`, then padding, int32 [B, T ≥ width]."""
        lengths = self.lengths(rows)
        steps = np.arange(max(width, int(lengths.max()) + 1))
        ids: np.ndarray = np.full((len(rows), len(steps)), PAD, np.int32)
        is_token = steps < lengths[:, np.newaxis]
        indices = (self.starts[rows][:, np.newaxis] + steps)[is_token]
        ids[is_token] = self.ids[self.words[indices]]
        ids[np.arange(len(rows)), lengths] = EOS
        return ids


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Sentences and their translations."""

    source: Sentences
    target: Sentences

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """Read some pairs, int [B], into memory."""
        return Pairs(self.source.take(rows), self.target.take(rows))

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Count the tokens on the longer side of some pairs, without `</s>`, int64 [B]."""
        return np.maximum(self.source.lengths(rows), self.target.lengths(rows))

    def usable_lengths(self, rows: np.ndarray) -> np.ndarray:
        """Count as `lengths`, but 0 where either side is blank."""
        source, target = self.source.lengths(rows), self.target.lengths(rows)
        return np.where((source > 0) & (target > 0), np.maximum(source, target), 0)


def tokenize(lines: Sequence[str | bytes], tokenizer: Tokenizer) -> tf.RaggedTensor:
    """Split N lines into tokens, string [N, None]."""
    starts = range(0, max(len(lines), 1), _TOKENIZED_LINES)  # one part at least, of no lines
    parts = (tf.constant(lines[i : i + _TOKENIZED_LINES], tf.string) for i in starts)
    return tf.concat([tokenizer.tokenize(part) for part in parts], axis=0)


def to_sentences(rows: Sequence[Sequence[str | bytes]], vocabulary: Vocabulary) -> Sentences:
    """Number the tokens of N sentences by the vocabulary's own ids: sentences in memory."""
    ids = [i for row in rows for i in vocabulary.encode(row)[:-1]]
    starts: np.ndarray = np.cumsum([0, *map(len, rows)])
    return Sentences(np.array(ids, np.int32), starts, np.arange(len(vocabulary), dtype=np.int32))


def to_pairs(
    text: ParallelText, tokenizers: Sequence[Tokenizer], vocabularies: Sequence[Vocabulary]
) -> Pairs:
    """Split a text into tokens and number them: pairs in memory."""
    sides = zip(text, tokenizers, vocabularies, strict=True)
    source, target = (to_sentences(tokenize(x, t).to_list(), v) for x, t, v in sides)
    return Pairs(source, target)
