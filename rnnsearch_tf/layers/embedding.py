"""Word vectors: the matrix E of either language."""

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.layers import initializers


class WordEmbedding(keras.layers.Layer):
    """E x, the column of E that belongs to the word x (appendix A.2).

    Weight, stored transposed: `E` [K, m].

    Args:
        vocabulary_size: K, the number of words.
        size: m, the number of dimensions.
        dropout: share of the embeddings' elements put to zero in training.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def __init__(
        self,
        vocabulary_size: int,
        size: int,
        dropout: float = 0.0,
        initial_weights: str = "paper",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.size = size
        self.initial_weights = initial_weights
        self.dropout = keras.layers.Dropout(dropout)

    def build(self, ids_shape: tuple) -> None:
        """Create E."""
        initial = initializers.embedding(self.initial_weights)
        self.E = self.add_weight((self.vocabulary_size, self.size), initial, name="E")

    def call(self, ids: Any, training: bool = False) -> Any:
        """Ids int32 [...] to vectors [..., m]."""
        return self.dropout(ops.take(self.E, ids, axis=0), training=training)

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this layer."""
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "size": self.size,
            "dropout": self.dropout.rate,
            "initial_weights": self.initial_weights,
        }
