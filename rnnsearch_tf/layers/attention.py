"""The alignment model (paper, section 3.1 and appendix A.1.2)."""

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.precision import at_least_float32, wide

MASKED = -1e9  # an energy whose exponential is zero in float32 and bfloat16


class BahdanauAttention(keras.layers.Layer):
    """Soft alignment of a decoder state to the annotations of a source sentence.

        e_ij = v_aᵀ tanh(W_a s_{i-1} + U_a h_j)              (appendix A.1.2)
        α_ij = exp(e_ij) / Σ_k exp(e_ik)                     (6)
        c_i  = Σ_j α_ij h_j                                  (5)

    Q states may look at each sentence: one in training, the live hypotheses in beam search.
    The R = B·Q states are rows, sentence by sentence; the annotations are broadcast over Q,
    never copied.

    Weights (rows times matrix, so the paper's matrices are stored transposed):
    `W_a` [n, n'], `U_a` [2n, n'], `v_a` [n'].

    Args:
        units: n', the number of hidden units of the alignment model.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def __init__(self, units: int, initial_weights: str = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.initial_weights = initial_weights

    def build(self, state_shape: tuple, annotations_shape: tuple) -> None:
        """Create the weights for states [R, n] and annotations [B, Tx, 2n]."""
        scheme = self.initial_weights
        n, annotation_size = state_shape[-1], annotations_shape[-1]
        small = initializers.alignment(scheme)
        self.W_a = self.add_weight((n, self.units), small, name="W_a")
        self.U_a = self.add_weight((annotation_size, self.units), small, name="U_a")
        self.v_a = self.add_weight((self.units,), initializers.energy(scheme), name="v_a")

    def keys(self, annotations: Any) -> Any:
        """U_a h_j, which does not depend on i: computed once for a sentence.

        Args:
            annotations: [B, Tx, 2n].

        Returns:
            [B, Tx, n'].
        """
        return ops.dot(annotations, ops.cast(self.U_a, self.compute_dtype))

    def call(self, state: Any, annotations: Any, keys: Any = None, source_mask: Any = None) -> Any:
        """Look at the annotations.

        Args:
            state: s_{i-1}, [R, n] with R = B·Q.
            annotations: h, [B, Tx, 2n].
            keys: U_a h from `keys`, [B, Tx, n']; computed here when absent.
            source_mask: bool [B, Tx], false at padding; absent, every position is real.

        Returns:
            The context c_i [R, 2n] and the alignment α_i float32 [R, Tx], whose rows sum to 1.
        """
        keys = self.keys(annotations) if keys is None else keys
        rows = ops.shape(state)[0]
        sentences, positions = ops.shape(keys)[:2]
        looks = _states_of_each(rows, sentences)  # Q
        query = ops.matmul(state, self.W_a)  # [R, n']
        query = ops.reshape(query, (sentences, looks, 1, self.units))  # [B, Q, 1, n']
        hidden = ops.tanh(query + ops.expand_dims(keys, 1))  # [B, Q, Tx, n']
        energies = ops.matmul(ops.reshape(hidden, (-1, self.units)), self.v_a[:, None])
        energies = ops.reshape(at_least_float32(energies), (sentences, looks, positions))
        if source_mask is not None:
            energies = ops.where(ops.expand_dims(source_mask, 1), energies, MASKED)
        alignment = ops.softmax(energies, axis=-1)
        context = ops.matmul(ops.cast(alignment, annotations.dtype), annotations)  # [B, Q, 2n]
        return (
            ops.reshape(context, (rows, annotations.shape[-1])),
            ops.reshape(alignment, (rows, positions)),
        )

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this layer."""
        return {
            **super().get_config(),
            "units": self.units,
            "initial_weights": self.initial_weights,
        }


class LastAnnotation(keras.layers.Layer):
    """The fixed context of RNNencdec: c_i = →h_Tx for every i (end of appendix A.2.2).

    It stands where `BahdanauAttention` stands, with α_i all on the sentence's last word. It has
    no weights. The last column of the annotations is taken, so a forward encoder must keep its
    state over padding, as `Encoder` does.
    """

    def keys(self, annotations: Any) -> Any:
        """Nothing to compute in advance: the annotations themselves, [B, Tx, n]."""
        return annotations

    def call(self, state: Any, annotations: Any, keys: Any = None, source_mask: Any = None) -> Any:
        """The same context for each of the R states.

        Args:
            state: s_{i-1}, [R, n] with R = B·Q; only R matters.
            annotations: →h, [B, Tx, n].
            keys: not needed.
            source_mask: bool [B, Tx], false at padding; absent, every position is real.

        Returns:
            The context [R, n] and the one-hot alignment, float32 [R, Tx].
        """
        del keys
        sentences, positions = ops.shape(annotations)[0], ops.shape(annotations)[1]
        if source_mask is None:
            lengths = ops.full((sentences,), positions, dtype="int32")
        else:
            lengths = ops.sum(ops.cast(source_mask, "int32"), axis=1)
        alignment = ops.one_hot(lengths - 1, positions, dtype=wide(annotations.dtype))  # [B, Tx]
        states = _states_of_each(ops.shape(state)[0], sentences)  # Q
        return (
            ops.repeat(annotations[:, -1], states, axis=0),
            ops.repeat(alignment, states, axis=0),
        )


def _states_of_each(rows: Any, sentences: Any) -> Any:
    """Q = R / B; 1 when there is no sentence, so that an empty batch has a shape too."""
    if keras.backend.backend() == "tensorflow":
        return ops.maximum(rows, 1) // ops.maximum(sentences, 1)
    return rows // sentences  # shapes are no tensors elsewhere
