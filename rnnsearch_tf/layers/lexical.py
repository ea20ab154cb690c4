"""The lexical model: attended source words, translated one by one (Nguyen & Chiang 2018)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.precision import PreciseLayer, product
from rnnsearch_tf.tensor_types import Float, Tensor


@keras.saving.register_keras_serializable("rnnsearch_tf")
class LexicalModel(PreciseLayer):
    """Part of the readout's hidden layer that comes from the attended source words alone.

        ℓ_i = tanh(Σ_j α_ij E x_j)
        t_i + ℓ_i + tanh(W_l ℓ_i)  replaces t_i

    (Nguyen & Chiang 2018, arXiv 1710.01329, section 4; their separate output matrix is W_o here, so
    m = l). A rare word reaches the output without the recurrent states, which have seldom seen it.

    Weight, stored transposed: `W_l` [m, m].

    Args:
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def __init__(self, initial_weights: InitialWeights = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.initial_weights = initial_weights

    def build(self, words_shape: tuple) -> None:
        """Create the weight."""
        size = words_shape[-1]
        matrix = initializers.matrix(self.initial_weights)
        self.W_l = self.add_weight((size, size), matrix, name="W_l")

    def call(self, words: Float[Tensor, "*rows m"]) -> Float[Tensor, "*rows m"]:
        """Return what is added to t_i.

        Args:
            words: Σ_j α_ij E x_j.
        """
        words = ops.tanh(self.wide(words))
        return words + ops.tanh(product(words, self.factor(self.W_l)))
