"""The encoder: a recurrent network that annotates the source words (paper, appendix A.2.1)."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.gru import GRUCell
from rnnsearch_tf.layers.precision import PreciseLayer
from rnnsearch_tf.tensor_types import Bool, Float, Int, Tensor


@keras.saving.register_keras_serializable("rnnsearch_tf")
class Encoder(PreciseLayer):
    """Annotations of a source sentence.

        →h_j = GRU(E x_j, →h_{j-1}),  →h_0 = 0
        ←h_j = GRU(E x_j, ←h_{j+1}),  ←h_{Tx+1} = 0
        h_j  = [→h_j ; ←h_j]                                 (7)

    Both directions share one E. RNNsearch reads in both directions; RNNencdec has only the forward
    network. At padding the state does not change, so the last column of →h is →h_Tx. Padding is
    where an id is 0 or a Keras mask is false; the annotations carry this as their Keras mask.

    Args:
        vocabulary_size: K, the number of source words.
        embedding_size: m.
        units: n, hidden units in each direction; ValueError below 1.
        bidirectional: whether there is a backward network.
        dropout: dropout rate of embeddings and annotations.
        initial_weights: "paper" (appendix B.1) or "glorot".
        with_words: whether an annotation ends in the vector of its word: [→h_j ; ←h_j ; E x_j].

    Examples:
        A sentence of three tokens and one of two, each ending in `</s>`, whose id is 1:

        >>> encoder = Encoder(vocabulary_size=11, embedding_size=3, units=5)
        >>> annotations, summary = encoder(keras.ops.array([[4, 9, 1], [7, 1, 0]]))
        >>> print(annotations.shape, summary.shape)
        (2, 3, 10) (2, 5)
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        units: int,
        bidirectional: bool = True,
        dropout: float = 0.0,
        initial_weights: InitialWeights = "paper",
        with_words: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.with_words = with_words
        shared: dict[str, Any] = {"initial_weights": initial_weights, "dtype": self.dtype_policy}
        self.embedding = WordEmbedding(
            vocabulary_size, embedding_size, dropout, name="source_embedding", **shared
        )
        # Weights files contain these attributes' names (layers/encoder/forward_cell): do not rename
        # them. `forward` is a method of torch's modules.
        self.forward_cell = GRUCell(units, name="forward", **shared)
        self.backward_cell = GRUCell(units, name="backward", **shared) if bidirectional else None
        self.dropout = keras.layers.Dropout(dropout, dtype=self.variable_dtype)

    def build(self, source_shape: tuple) -> None:
        """Create the weights."""
        self.embedding.build(source_shape)
        words_shape = (None, None, self.embedding.size)
        self.forward_cell.build(words_shape)
        if self.backward_cell is not None:
            self.backward_cell.build(words_shape)
        self.freeze_parts(self.embedding, self.forward_cell, self.backward_cell)

    def call(
        self,
        source: Int[Tensor, "B Tx"],
        *,  # Keras does not pass a positional mask on to `compute_mask`
        mask: Bool[Tensor, "B Tx"] | None = None,
        training: bool = False,
    ) -> tuple[Float[Tensor, "B Tx two_n"], Float[Tensor, "B n"]]:
        """Read source sentences.

        Args:
            source: ids, each sentence ending in `</s>`, then padding 0.
            mask: false at further padding; by default the Keras mask of `source`, if it has one.
            training: whether dropout acts.

        Returns:
            The annotations of 2n elements (n with the forward network alone; m more with words),
            and the summary that s_0 is made from: ←h_1, or →h_Tx without a backward network. Both
            have the same dropout.
        """
        real = ops.cast(ops.transpose(_real(source, mask)), self.variable_dtype)[:, :, None]
        words = self.embedding(ops.transpose(source), training=training)  # [Tx, B, m]
        states = self._unroll(self.forward_cell, words, real)  # [Tx, B, n]
        if self.backward_cell is not None:
            backward = self._unroll(self.backward_cell, words, real, reverse=True)
            states = ops.concatenate([states, backward], axis=2)  # [Tx, B, 2n]
        annotations = self.dropout(ops.transpose(states, (1, 0, 2)), training=training)
        if self.backward_cell is None:
            summary = annotations[:, -1]
        else:
            summary = annotations[:, 0, self.units :]
        if self.with_words:
            annotations = ops.concatenate([annotations, ops.transpose(words, (1, 0, 2))], axis=2)
        return annotations, summary

    def compute_output_spec(self, source: Any, mask: Any = None, training: bool = False) -> Any:
        """Return the outputs of a functional model, without tracing `call`.

        ValueError if the source is not of an integer dtype; `keras.Input` is float32 by default.
        """
        if "int" not in keras.backend.standardize_dtype(source.dtype):
            raise ValueError(f"the source is {source.dtype}: make it keras.Input(…, dtype='int32')")
        networks = 1 if self.backward_cell is None else 2
        size = networks * self.units + (self.embedding.size if self.with_words else 0)
        return self.symbol(*source.shape, size), self.symbol(source.shape[0], self.units)

    def compute_mask(self, source: Any, mask: Any = None) -> list[Any]:
        """Return the Keras masks of the annotations, bool [B, Tx], and of the summary, None."""
        return [_real(source, mask), None]

    def _unroll(
        self,
        cell: GRUCell,
        words: Float[Tensor, "Tx B m"],
        real: Float[Tensor, "Tx B 1"],
        reverse: bool = False,
    ) -> Float[Tensor, "Tx B n"]:
        inputs = cell.project(words)  # [Tx, B, 3n]
        start = ops.zeros_like(inputs[0, :, : self.units])
        return cell.unroll(inputs, start, reverse, real)


def _real(source: Any, mask: Any) -> Any:
    """Return where there are words, and not padding."""
    words = ops.not_equal(source, 0)
    return words if mask is None else ops.logical_and(words, mask)
