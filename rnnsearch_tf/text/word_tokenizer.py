"""What tokenisers of words have in common."""

from typing import Any

import tensorflow as tf


class WordTokenizer(tf.Module):
    """A tokeniser whose tokens are words."""

    @property
    def word_tokenizer(self) -> Any:
        """Itself."""
        return self

    def word_numbers(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Number tokens, string [B, None], from 0: int64 [B, None]."""
        return tf.ragged.range(tokens.row_lengths())

    def words(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the tokens."""
        return tokens
