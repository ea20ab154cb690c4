"""The alignment model (paper, section 3.1 and appendix A.1.2), and the fixed context of RNNencdec.

`Decoder` and `TranslationStep` take any layer with the methods of these two:

    build(state_shape, annotations_shape)            its weights, if it has any
    keys(annotations)                                what energies need of h, once for a sentence
    call(state, annotations, keys, annotations_mask)
        α_i = softmax over j of energies of s_{i-1} and keys(h), 0 at padding
        c_i = Σ_j α_ij x_j, where x is what is passed as annotations

x is h, unless the layer's own class sets `averages_only = True`: such a layer uses x for contexts
alone, and computes energies from the keys. The search then passes products M h as x, of another
width, so that it need not multiply contexts by M. States are [B, n], or [B, Q, n] for the Q
hypotheses of a sentence; contexts and α have the same leading axes. Annotations and keys are
broadcast over Q, never copied.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.precision import PreciseLayer, check_units, product, product_of_each
from rnnsearch_tf.tensor_types import Bool, Float, Tensor

MASKED = -1e9  # an energy whose exponential is zero in float32 and bfloat16
_MASKED_IN_HALF = -3e4  # likewise in float16, which has no 1e9


def align(
    query: Float[Tensor, "B Q n_a"],
    keys: Float[Tensor, "B Tx n_a"],
    v_a: Float[Tensor, "n_a"],
    mask: Bool[Tensor, "B Tx"] | None = None,
) -> Float[Tensor, "B Q Tx"]:
    """Return α, the softmax of v_aᵀ tanh(q_i + k_j) over j  (6), zero where the mask is false.

    Training takes its derivative from `align_gradient`: for other energies, write your own
    attention layer with `masked_softmax`.
    """
    hidden = ops.tanh(ops.expand_dims(query, 2) + ops.expand_dims(keys, 1))  # [B, Q, Tx, n']
    energies = ops.matmul(ops.reshape(hidden, (-1, keys.shape[-1])), v_a[:, None])
    return masked_softmax(ops.reshape(energies, ops.shape(hidden)[:-1]), mask)


def masked_softmax(
    energies: Float[Tensor, "B Q Tx"], mask: Bool[Tensor, "B Tx"] | None = None
) -> Float[Tensor, "B Q Tx"]:
    """Return the softmax of energies over the source, zero where the mask is false.

    For a sentence of padding only, it is 1/Tx.
    """
    if energies.shape[-1] == 1:  # Keras warns of a softmax over one element
        return ops.ones_like(energies)
    if mask is not None:
        is_half = keras.backend.standardize_dtype(energies.dtype) == "float16"
        masked = _MASKED_IN_HALF if is_half else MASKED
        energies = ops.where(ops.expand_dims(mask, 1), energies, masked)
    return ops.softmax(energies, axis=-1)


def align_gradient(
    upstream: Float[Tensor, "B Tx"],
    alignment: Float[Tensor, "B Tx"],
    query: Float[Tensor, "B n_a"],
    keys: Float[Tensor, "B Tx n_a"],
) -> tuple[Float[Tensor, "B Tx"], Float[Tensor, "B Tx n_a"], Float[Tensor, "n_a"]]:
    """Return ∂e, w and ∂v_a for one query a sentence, from which the caller gets ∂k and ∂q.

    With u_j = tanh(q + k_j) and δ_j = ∂L/∂α_j:

        ∂e_j = α_j (δ_j − Σ_k α_k δ_k)              the softmax
        w_j  = ∂e_j u_j²
        ∂k_j = v_a ∘ (∂e_j − w_j)                   tanh' = 1 − tanh²
        ∂q   = Σ_j ∂k_j = −v_a ∘ Σ_j w_j            Σ_j ∂e_j = 0
        ∂v_a = Σ_j ∂e_j u_j
    """
    terms = alignment * upstream  # α ∘ δ
    grad_energies = terms - alignment * ops.sum(terms, axis=1, keepdims=True)
    hidden = ops.tanh(ops.expand_dims(query, 1) + keys)  # u
    rows = ops.reshape(hidden, (-1, keys.shape[-1]))
    grad_v = ops.matmul(ops.reshape(grad_energies, (1, -1)), rows)[0]
    return grad_energies, ops.expand_dims(grad_energies, 2) * ops.square(hidden), grad_v


@keras.saving.register_keras_serializable("rnnsearch_tf")
class BahdanauAttention(PreciseLayer):
    """Soft alignment of a decoder state to the annotations of a source sentence.

        e_ij = v_aᵀ tanh(W_a s_{i-1} + U_a h_j)              (appendix A.1.2)
        α_ij = exp(e_ij) / Σ_k exp(e_ik)                     (6)
        c_i  = Σ_j α_ij h_j                                  (5)

    Weights (rows times matrix, so the paper's matrices are stored transposed):
    `W_a` [n, n'], `U_a` [2n, n'], `v_a` [n'].

    In a Keras model, the mask of the annotations (of `Embedding(mask_zero=True)`, say) is taken as
    `annotations_mask`, unless one is given, and contexts carry the mask of the states.

    Args:
        units: n', the number of hidden units of the alignment model; ValueError below 1.
        initial_weights: "paper" (appendix B.1) or "glorot". In the paper's, v_a is 0: all
            weights α of a sentence are equal before the first update.

    Examples:
        Two sentences of three words, n = 5, with one decoder state each:

        >>> attention = BahdanauAttention(units=7)
        >>> states, annotations = keras.random.normal([2, 5]), keras.random.normal([2, 3, 10])
        >>> context, alignment = attention(states, annotations)
        >>> print(context.shape, alignment.shape)
        (2, 10) (2, 3)
    """

    averages_only = True

    def __init__(self, units: int, initial_weights: InitialWeights = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        check_units(units)
        self.units = units
        self.initial_weights = initial_weights
        self.supports_masking = True

    def build(self, state_shape: tuple, annotations_shape: tuple) -> None:
        """Create the weights."""
        check_shapes(self, state_shape, annotations_shape)
        scheme = self.initial_weights
        n, annotation_size = state_shape[-1], annotations_shape[-1]
        small = initializers.alignment(scheme)
        self.W_a = self.add_weight((n, self.units), small, name="W_a")
        self.U_a = self.add_weight((annotation_size, self.units), small, name="U_a")
        self.v_a = self.add_weight((self.units,), initializers.energy(scheme), name="v_a")

    def keys(self, annotations: Float[Tensor, "B Tx two_n"]) -> Float[Tensor, "B Tx n_a"]:
        """Compute U_a h_j, which does not depend on i, once per sentence.

        ValueError if the layer is not built yet; its first call or `build` builds it.
        """
        if not self.built:
            raise ValueError(
                f"{self.name} has no weights yet: build(state_shape, annotations_shape)"
            )
        return product(annotations, self.factor(self.U_a))

    def call(
        self,
        state: Float[Tensor, "*queries n"],
        annotations: Float[Tensor, "B Tx two_n"],
        keys: Float[Tensor, "B Tx n_a"] | None = None,
        annotations_mask: Bool[Tensor, "B Tx"] | None = None,
    ) -> tuple[Float[Tensor, "*queries two_n"], Float[Tensor, "*queries Tx"]]:
        """Align states to the annotations.

        Args:
            state: s_{i-1}, [B, n] or [B, Ty, n].
            annotations: h. With `keys`, they may be products M h_j; the context is then M c_i.
            keys: U_a h from `keys`; computed here when absent.
            annotations_mask: false at padding; by default the Keras mask of `annotations`, if they
                have one.

        Returns:
            The context c_i, and the alignment α_i in the dtype of the weights; its rows sum to 1.

        Raises:
            ValueError: wrong shapes, or state and annotations are swapped.
        """
        width = self.U_a.shape[0] if keys is None else None
        check_shapes(self, state.shape, annotations.shape, self.W_a.shape[0], width)
        check_optional(self, keys, annotations_mask, self.units)
        state, annotations = self.wide(state), self.wide(annotations)
        keys = self.keys(annotations) if keys is None else self.wide(keys)
        query = product(state, self.factor(self.W_a))
        is_single = len(state.shape) == 2
        query = query[:, None] if is_single else query  # [B, Q, n']
        alignment = align(query, keys, ops.convert_to_tensor(self.v_a), annotations_mask)
        context = product_of_each(alignment, annotations)  # [B, Q, 2n]
        return (context[:, 0], alignment[:, 0]) if is_single else (context, alignment)


@keras.saving.register_keras_serializable("rnnsearch_tf")
class LastAnnotation(PreciseLayer):
    """The fixed context of RNNencdec: c_i = →h_Tx for every i (appendix A.2.2).

    It replaces `BahdanauAttention`, with α_i = 1 at the sentence's last word. It has no
    weights. The last column of the annotations is taken, so a forward encoder must keep its state
    over padding, as `Encoder` does.
    """

    averages_only = True

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, state_shape: tuple, annotations_shape: tuple) -> None:
        """Create nothing."""
        check_shapes(self, state_shape, annotations_shape)

    def keys(self, annotations: Float[Tensor, "B Tx n"]) -> Float[Tensor, "B Tx n"]:
        """The annotations themselves: nothing is computed in advance."""
        return annotations

    def call(
        self,
        state: Float[Tensor, "*queries _"],
        annotations: Float[Tensor, "B Tx n"],
        keys: Float[Tensor, "B Tx _"] | None = None,
        annotations_mask: Bool[Tensor, "B Tx"] | None = None,
    ) -> tuple[Float[Tensor, "*queries n"], Float[Tensor, "*queries Tx"]]:
        """Return the same context for each state of a sentence, and the alignment.

        Only the number of states matters. Arguments and dtypes are as in `BahdanauAttention.call`.
        """
        check_optional(self, mask=annotations_mask)
        annotations = self.wide(annotations)
        sentences, positions = ops.shape(annotations)[0], ops.shape(annotations)[1]
        if annotations_mask is None:
            lengths = ops.full((sentences,), positions, dtype="int32")
        else:
            lengths = ops.sum(ops.cast(annotations_mask, "int32"), axis=1)
        alignment = ops.one_hot(lengths - 1, positions, dtype=self.variable_dtype)  # [B, Tx]
        *queries, _ = ops.shape(state)  # B, or B and Ty

        def for_each_state(x: Any) -> Any:  # [B, …] to [*queries, …]
            x = x if len(queries) == 1 else x[:, None]
            return ops.broadcast_to(x, (*queries, ops.shape(x)[-1]))

        return for_each_state(annotations[:, -1]), for_each_state(alignment)


def check_shapes(
    layer: keras.layers.Layer, state: Any, annotations: Any, n: Any = None, two_n: Any = None
) -> None:
    """Raise a ValueError for other ranks or widths; it says whether the two are swapped."""
    if _fits(state, (2, 3), n) and _fits(annotations, (3,), two_n):
        return
    are_swapped = _fits(annotations, (2, 3), n) and _fits(state, (3,), two_n)
    n, two_n = n or "n", two_n or "2n"
    raise ValueError(
        f"{type(layer).__name__}(state, annotations): shapes are {tuple(state)} and "
        f"{tuple(annotations)}, not [B, {n}] or [B, Ty, {n}] and [B, Tx, {two_n}]"
        + (": the two are swapped" if are_swapped else "")
    )


def check_optional(
    layer: keras.layers.Layer, keys: Any = None, mask: Any = None, units: int | None = None
) -> None:
    """Raise a ValueError for given keys or a given mask of another shape."""
    if keys is not None and not _fits(keys.shape, (3,), units):
        raise ValueError(
            f"{type(layer).__name__}: keys are [B, Tx, {units}], not {tuple(keys.shape)}"
        )
    if mask is not None and not _fits(mask.shape, (2,), None):
        raise ValueError(
            f"{type(layer).__name__}: annotations_mask is [B, Tx], not {tuple(mask.shape)}"
        )


def _fits(shape: tuple[int | None, ...], ranks: tuple[int, ...], width: int | None) -> bool:
    return len(shape) in ranks and width in (None, shape[-1])
