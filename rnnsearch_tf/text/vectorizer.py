"""Text to ids and back for one language, as graph ops; its vocabulary is a SavedModel's asset."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import EOS, SPECIAL_TOKENS, UNK

_WORD = (tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
_ID = (tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)


class TextVectorizer(tf.Module):
    """The tokeniser and the vocabulary of a language.

    Args:
        tokenizer: text to words and back.
        vocabulary: path of the vocabulary file.

    Attributes:
        tokenizer: as given.
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: str | Path):
        super().__init__()
        self.tokenizer = tokenizer
        self._ids = _table(vocabulary, _WORD, _ID, UNK)
        self._words = _table(vocabulary, _ID, _WORD, "")

    def read(self, text: tf.Tensor, most: int) -> tf.RaggedTensor:
        """Text, string [B], to the first `most` tokens of each, string [B, None]."""
        return self.tokenizer.tokenize(text)[:, :most]

    def ids(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Tokens to ids, int32 [B, None], `</s>` at the end of each sentence and nowhere else."""
        found = tf.maximum(self._ids.lookup(tokens.flat_values), UNK)  # "</s>" is no word of a text
        ids = tokens.with_flat_values(tf.cast(found, tf.int32))
        return tf.concat([ids, tf.fill([tokens.nrows(), 1], EOS)], axis=1)

    def words(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Ids to words, string [B, None], `</s>` included."""
        return ids.with_flat_values(self._words.lookup(tf.cast(ids.flat_values, tf.int64)))


def with_end(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Tokens with `</s>` after each sentence."""
    return tf.concat([tokens, tf.fill([tokens.nrows(), 1], SPECIAL_TOKENS[EOS])], axis=1)


def _table(path: str | Path, key: tuple, value: tuple, default: Any) -> tf.lookup.StaticHashTable:
    """A vocabulary file as a table from `key` to `value`."""
    initializer = tf.lookup.TextFileInitializer(str(path), *key, *value)
    return tf.lookup.StaticHashTable(initializer, default_value=default)
