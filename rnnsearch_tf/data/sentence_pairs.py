"""Sentence pairs as ids, in memory or in files."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK, Vocabulary

_LINES_AT_ONCE = 2_000


@dataclasses.dataclass(frozen=True, eq=False)
class Sentences:
    """One side of a corpus.

    The words of all sentences stand in one row, by numbers of the corpus's own, so that they are
    written once and serve every vocabulary. Arrays may be memory-mapped files; only what is asked
    for is read.
    """

    words: np.ndarray  # int32 [all words]; numbers from 0 to W − 1
    starts: np.ndarray  # int64 [N + 1]; sentence i is words[starts[i] : starts[i + 1]]
    ids: np.ndarray  # int32 [W]; the vocabulary's id of each number, UNK for most

    def __len__(self) -> int:
        """N, the number of sentences."""
        return len(self.starts) - 1

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Words of some sentences, without `</s>`, int64 [B]."""
        return self.starts[rows + 1] - self.starts[rows]

    def take(self, rows: np.ndarray) -> "Sentences":
        """Some sentences, int [B], in memory."""
        lengths = self.lengths(rows)
        starts: np.ndarray = np.append(0, np.cumsum(lengths))
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Sentences(self.words[places], starts, self.ids)

    def batch(self, rows: np.ndarray, width: int = 0) -> np.ndarray:
        """Some sentences as ids, each with `</s>`, then padding, int32 [B, T].

        Args:
            rows: which, int [B].
            width: T at least; the longest sentence with `</s>` may need more.
        """
        lengths = self.lengths(rows)
        steps = np.arange(max(width, int(lengths.max()) + 1))
        found: np.ndarray = np.full((len(rows), len(steps)), PAD, np.int32)
        is_word = steps < lengths[:, np.newaxis]
        places = (self.starts[rows][:, np.newaxis] + steps)[is_word]
        found[is_word] = self.ids[self.words[places]]
        found[np.arange(len(rows)), lengths] = EOS
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Sentences and their translations."""

    source: Sentences
    target: Sentences

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.source)

    def take(self, rows: np.ndarray) -> "Pairs":
        """Some pairs, int [B], in memory."""
        return Pairs(self.source.take(rows), self.target.take(rows))

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Words on the longer side of some pairs, without `</s>`, int64 [B]."""
        return np.maximum(self.source.lengths(rows), self.target.lengths(rows))

    def usable_lengths(self, rows: np.ndarray) -> np.ndarray:
        """What `lengths` gives, but 0 where either side is blank."""
        source, target = self.source.lengths(rows), self.target.lengths(rows)
        return np.where((source > 0) & (target > 0), np.maximum(source, target), 0)


def tokenize(lines: Sequence[str], tokenizer: Tokenizer) -> tf.RaggedTensor:
    """Lines to Moses tokens, string [N, T]."""
    starts = range(0, len(lines), _LINES_AT_ONCE)
    parts = [tokenizer.tokenize(tf.constant(lines[i : i + _LINES_AT_ONCE])) for i in starts]
    return tf.concat(parts, axis=0)


def to_sentences(tokens: tf.RaggedTensor, vocabulary: Vocabulary) -> Sentences:
    """Tokens, string [N, T], to sentences in memory, numbered by the vocabulary itself."""
    ids = tf.range(len(vocabulary), dtype=tf.int64)
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(vocabulary.tokens), ids)
    table = tf.lookup.StaticHashTable(initializer, default_value=UNK)
    words = table.lookup(tokens.flat_values).numpy().astype(np.int32)
    starts = tokens.row_splits.numpy().astype(np.int64)
    return Sentences(words, starts, np.arange(len(vocabulary), dtype=np.int32))
