"""The alignment model (paper, section 3.1 and appendix A.1.2), and the fixed context of RNNencdec.

`Decoder` takes any layer with the methods of these two. Q decoder states of a sentence attend at
once, one in training and its hypotheses in beam search: annotations and keys are broadcast over
them, never copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.precision import at_least_float32, wide

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Bool, Float, Tensor

MASKED = -1e9  # an energy whose exponential is zero in float32 and bfloat16


@keras.saving.register_keras_serializable("rnnsearch_tf")
class BahdanauAttention(keras.layers.Layer):
    """Soft alignment of a decoder state to the annotations of a source sentence.

        e_ij = v_aᵀ tanh(W_a s_{i-1} + U_a h_j)              (appendix A.1.2)
        α_ij = exp(e_ij) / Σ_k exp(e_ik)                     (6)
        c_i  = Σ_j α_ij h_j                                  (5)

    Weights (rows times matrix, so the paper's matrices are stored transposed):
    `W_a` [n, n'], `U_a` [2n, n'], `v_a` [n'].

    Args:
        units: n', the number of hidden units of the alignment model.
        initial_weights: "paper" (appendix B.1) or "glorot".

    Examples:
        Two sentences of three words, n = 5, with one decoder state each:

        >>> attention = BahdanauAttention(units=7)
        >>> states, annotations = keras.random.normal([2, 5]), keras.random.normal([2, 3, 10])
        >>> context, alignment = attention(states, annotations)
        >>> print(context.shape, alignment.shape)
        (2, 10) (2, 3)
    """

    def __init__(self, units: int, initial_weights: InitialWeights = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.initial_weights = initial_weights

    def build(self, state_shape: tuple, annotations_shape: tuple) -> None:
        """Create the weights."""
        scheme = self.initial_weights
        n, annotation_size = state_shape[-1], annotations_shape[-1]
        small = initializers.alignment(scheme)
        self.W_a = self.add_weight((n, self.units), small, name="W_a")
        self.U_a = self.add_weight((annotation_size, self.units), small, name="U_a")
        self.v_a = self.add_weight((self.units,), initializers.energy(scheme), name="v_a")

    def keys(self, annotations: Float[Tensor, "B Tx two_n"]) -> Float[Tensor, "B Tx n_a"]:
        """U_a h_j, which does not depend on i: computed once for a sentence."""
        return ops.dot(annotations, ops.cast(self.U_a, self.compute_dtype))

    def call(
        self,
        state: Float[Tensor, "R n"],
        annotations: Float[Tensor, "B Tx two_n"],
        keys: Float[Tensor, "B Tx n_a"] | None = None,
        source_mask: Bool[Tensor, "B Tx"] | None = None,
    ) -> tuple[Float[Tensor, "R two_n"], Float[Tensor, "R Tx"]]:
        """Align states to the annotations.

        Args:
            state: s_{i-1}; the R = B·Q rows go sentence by sentence.
            annotations: h.
            keys: U_a h from `keys`; computed here when absent.
            source_mask: false at padding; when absent, there is no padding.

        Returns:
            The context c_i, and the alignment α_i in float32, whose rows sum to 1.
        """
        keys = self.keys(annotations) if keys is None else keys
        rows = ops.shape(state)[0]
        sentences, positions = ops.shape(keys)[:2]
        states_each = _states_of_each(rows, sentences)  # Q
        query = ops.matmul(state, self.W_a)  # [R, n']
        query = ops.reshape(query, (sentences, states_each, 1, self.units))  # [B, Q, 1, n']
        hidden = ops.tanh(query + ops.expand_dims(keys, 1))  # [B, Q, Tx, n']
        energies = ops.matmul(ops.reshape(hidden, (-1, self.units)), self.v_a[:, None])
        energies = ops.reshape(at_least_float32(energies), (sentences, states_each, positions))
        if source_mask is not None:
            energies = ops.where(ops.expand_dims(source_mask, 1), energies, MASKED)
        alignment = ops.softmax(energies, axis=-1)
        context = ops.matmul(ops.cast(alignment, annotations.dtype), annotations)  # [B, Q, 2n]
        return (
            ops.reshape(context, (rows, annotations.shape[-1])),
            ops.reshape(alignment, (rows, positions)),
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {
            **super().get_config(),
            "units": self.units,
            "initial_weights": self.initial_weights,
        }


@keras.saving.register_keras_serializable("rnnsearch_tf")
class LastAnnotation(keras.layers.Layer):
    """The fixed context of RNNencdec: c_i = →h_Tx for every i (end of appendix A.2.2).

    It takes the place of `BahdanauAttention`, with α_i = 1 at the sentence's last word. It has no
    weights. The last column of the annotations is taken, so a forward encoder must keep its state
    over padding, as `Encoder` does.
    """

    def build(self, state_shape: tuple, annotations_shape: tuple) -> None:
        """Create nothing."""

    def keys(self, annotations: Float[Tensor, "B Tx n"]) -> Float[Tensor, "B Tx n"]:
        """The annotations themselves: nothing is computed in advance."""
        return annotations

    def call(
        self,
        state: Float[Tensor, "R _"],
        annotations: Float[Tensor, "B Tx n"],
        keys: Float[Tensor, "B Tx n"] | None = None,
        source_mask: Bool[Tensor, "B Tx"] | None = None,
    ) -> tuple[Float[Tensor, "R n"], Float[Tensor, "R Tx"]]:
        """Return the same context for each state of a sentence.

        Args:
            state: s_{i-1}; only the number of rows matters.
            annotations: →h.
            keys: not needed.
            source_mask: false at padding; when absent, there is no padding.

        Returns:
            The context, and the alignment in float32, 1 at the last word and 0 elsewhere.
        """
        del keys
        sentences, positions = ops.shape(annotations)[0], ops.shape(annotations)[1]
        if source_mask is None:
            lengths = ops.full((sentences,), positions, dtype="int32")
        else:
            lengths = ops.sum(ops.cast(source_mask, "int32"), axis=1)
        alignment = ops.one_hot(lengths - 1, positions, dtype=wide(annotations.dtype))  # [B, Tx]
        states_each = _states_of_each(ops.shape(state)[0], sentences)  # Q
        return (
            ops.repeat(annotations[:, -1], states_each, axis=0),
            ops.repeat(alignment, states_each, axis=0),
        )


def _states_of_each(rows: Any, sentences: Any) -> Any:
    """Q = R / B; 1 when there is no sentence, so that an empty batch has a shape too."""
    if keras.backend.backend() == "tensorflow":
        return ops.maximum(rows, 1) // ops.maximum(sentences, 1)
    return rows // sentences  # elsewhere shapes are integers, not tensors
