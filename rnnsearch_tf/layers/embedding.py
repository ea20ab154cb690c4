"""Word vectors: the matrix E of either language."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.precision import PreciseLayer
from rnnsearch_tf.tensor_types import Float, Int, Tensor


@keras.saving.register_keras_serializable("rnnsearch_tf")
class WordEmbedding(PreciseLayer):
    """E x, the column of E that belongs to the word x (appendix A.2).

    Weight, stored transposed: `E` [K, m].
    """

    def __init__(
        self,
        vocabulary_size: int,  # K
        size: int,  # m
        dropout: float = 0.0,
        initial_weights: InitialWeights = "paper",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.size = size
        self.initial_weights = initial_weights
        self.dropout = keras.layers.Dropout(dropout, dtype=self.variable_dtype)

    def build(self, ids_shape: tuple) -> None:
        """Create E."""
        initial = initializers.embedding(self.initial_weights)
        self.E = self.add_weight((self.vocabulary_size, self.size), initial, name="E")

    def call(self, ids: Int[Tensor, "*rows"], training: bool = False) -> Float[Tensor, "*rows m"]:
        """Look up the vectors of word ids, of any dtype."""
        ids = ops.cast(ids, "int32")  # TensorFlow looks up few other dtypes
        return self.dropout(ops.take(self.E, ids, axis=0), training=training)
