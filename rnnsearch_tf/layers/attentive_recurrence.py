"""The decoder's recurrence under teacher forcing: look at the source, update the state.

    q_i = W_a s_{i-1},  α_i = softmax(v_aᵀ tanh(q_i + U_a h)),  c_i = Σ_j α_ij h_j
    s_i = f(s_{i-1}, E y, c_i), where y is y_i or y_{i-1} by the step order  (appendix A.2.2)

As in `gated_recurrence`, a loop computes the gradients of the products' outputs, and one large
product then gives each weight's gradient. The tanh of the alignment model, the largest tensor
[Ty, B, Tx, n'], is recomputed instead of kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.layers.attention import align, align_gradient
from rnnsearch_tf.layers.gated_recurrence import (
    Gates,
    gated_update,
    gated_update_gradient,
    previous_states,
)
from rnnsearch_tf.layers.precision import (
    outer_product,
    product,
    product_of_each,
    spaced,
    split_columns,
)
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.tensor_types import Bool, Float, Tensor


class Weights(NamedTuple):
    """Weights of the loop; matrices that multiply the same vector are concatenated by columns."""

    W_a_U_gates: Float[Tensor, "n _"]  # W_a, U_z and U_r
    C: Float[Tensor, "two_n three_n"]  # C_z, C_r and C
    U: Float[Tensor, "n n"]
    v_a: Float[Tensor, "n_a"]


class Outputs(NamedTuple):
    """Outputs of the recurrence, with the target's positions in front."""

    states: Float[Tensor, "Ty B n"]  # s_i, after each update
    contexts: Float[Tensor, "Ty B two_n"]
    alignments: Float[Tensor, "Ty B Tx"]


def attentive_recurrence(
    inputs: Float[Tensor, "Ty B three_n"],  # of the words, from `ContextGRUCell.project`
    start: Float[Tensor, "B n"],  # s_0
    annotations: Float[Tensor, "B Tx two_n"],  # h
    keys: Float[Tensor, "B Tx n_a"],  # U_a h
    weights: Weights,
    mask: Bool[Tensor, "B Tx"] | None,  # false at padding of the source
    dtype: str,  # of the products with weights
) -> tuple[Float[Tensor, "B n"], Outputs]:
    """Return the last state, and states, contexts and alignments of given target words."""
    if keras.backend.backend() == "torch":
        return _unroll(inputs, start, annotations, keys, weights, mask, dtype)[:2]

    @ops.custom_gradient
    def outputs_with_gradient(
        inputs: Any, start: Any, annotations: Any, keys: Any, *weights: Any
    ) -> Any:
        given = (annotations, keys, Weights(*weights))
        last, outputs, kept = _unroll(inputs, start, *given, mask, dtype)

        def gradient(*upstream: Any) -> tuple[Any, ...]:
            if len(upstream) == 1:  # JAX gives them as one tuple
                (upstream,) = upstream
            grad_last, *grad_outputs = upstream
            grad = grad_last, Outputs(*grad_outputs)
            return _gradient(*grad, inputs, start, outputs, kept, *given, dtype)

        return (last, *outputs), gradient

    last, *outputs = outputs_with_gradient(inputs, start, annotations, keys, *weights)
    return last, Outputs(*outputs)


class _Kept(NamedTuple):
    query: Float[Tensor, "*rows B n_a"]  # q_i
    gates: Gates


def _unroll(
    inputs: Any, start: Any, annotations: Any, keys: Any, weights: Weights, mask: Any, dtype: str
) -> tuple[Any, Outputs, _Kept]:
    W_a_U_gates, C, U = (spaced(ops.cast(w, dtype)) for w in weights[:3])
    width = weights.W_a_U_gates.shape[-1]
    units = keys.shape[-1]  # n'

    def step(state: Any, word_inputs: Any) -> Any:
        query, recurrent = split_columns(product(state, W_a_U_gates, columns=width), units)
        alignment = align(ops.expand_dims(query, 1), keys, weights.v_a, mask)  # [B, 1, Tx]
        context = ops.squeeze(product_of_each(alignment, annotations), 1)
        inputs_i = word_inputs + product(context, C, columns=word_inputs.shape[-1])
        gate_inputs, candidate_inputs = split_columns(inputs_i, 2 * state.shape[-1])
        state, gates = gated_update(gate_inputs + recurrent, candidate_inputs, state, U)
        return state, (Outputs(state, context, alignment[:, 0]), _Kept(query, gates))

    outputs_like = Outputs(start, annotations[:, 0], annotations[:, :, 0])
    kept_like = _Kept(keys[:, 0], Gates(start, start, start))
    last, (outputs, kept) = scan(step, start, inputs, (outputs_like, kept_like))
    return last, outputs, kept


def _gradient(
    grad_last: Any,
    upstream: Outputs,
    inputs: Any,
    start: Any,
    outputs: Outputs,
    kept: _Kept,
    annotations: Any,
    keys: Any,
    weights: Weights,
    dtype: str,
) -> tuple[Any, ...]:
    """Return the gradients of inputs, start, annotations, keys and each of the weights.

    `grad_x` is ∂L/∂x. With a_i = [a_zi ; a_ri ; ã_i] the inputs of gates and candidate, of which
    C c_i is a part (C is C_z, C_r and C, joined), from i = Ty to 1:

        ∂a_i, ∂s_{i-1}     as in `gated_update_gradient`
        ∂c_i += Cᵀ ∂a_i,  ∂α_ij += h_j · ∂c_i,  ∂h_j += α_ij ∂c_i
        ∂q_i, ∂k_j, ∂v_a   as in `align_gradient`; ∂e_j, w_j and ∂v_a are summed over i
        ∂s_{i-1} += W_aᵀ ∂q_i + U_zᵀ ∂a_zi + U_rᵀ ∂a_ri
        ∂W_a = Σ_i ∂q_i s_{i-1}ᵀ, likewise ∂U_z and ∂U_r of ∂a_zi and ∂a_ri
        ∂C = Σ_i ∂a_i c_iᵀ,  ∂U = Σ_i ∂ã_i [r_i ∘ s_{i-1}]ᵀ
    """
    W_a_U_gates_T, C_T, U_T = (spaced(ops.cast(ops.transpose(w), dtype)) for w in weights[:3])
    before = previous_states(outputs.states, start)

    def step(carry: Any, position: Any) -> Any:
        grad_state, w_sum, grad_v_sum = carry
        upstream_i, state, alignment, (query, gates) = position
        grad_state, grad_gates, grad_candidate = gated_update_gradient(
            grad_state + upstream_i.states, state, gates, U_T
        )
        grad_inputs = ops.concatenate([grad_gates, grad_candidate], axis=-1)
        products = product(grad_inputs, C_T, columns=annotations.shape[-1])
        grad_context = upstream_i.contexts + products
        grad_alignment = product_of_each(ops.expand_dims(grad_context, 1), annotations, True)
        grad_alignment = upstream_i.alignments + ops.squeeze(grad_alignment, 1)
        grad_energies, w, grad_v = align_gradient(grad_alignment, alignment, query, keys)
        grad_query = -weights.v_a * ops.sum(w, axis=1)
        grad_products = ops.concatenate([grad_query, grad_gates], axis=-1)
        grad_state += product(grad_products, W_a_U_gates_T, columns=state.shape[-1])
        carry = grad_state, w_sum + w, grad_v_sum + grad_v
        return carry, (grad_inputs, grad_query, grad_context, grad_energies)

    carry = grad_last, ops.zeros_like(keys), ops.zeros_like(weights.v_a)
    three_n = ops.concatenate([start, start, start], axis=-1)
    like = three_n, keys[:, 0], annotations[:, 0], annotations[:, :, 0]
    positions = upstream, before, outputs.alignments, kept
    carry, grads = scan(step, carry, positions, like, reverse=True)
    grad_start, w, grad_v = carry
    grad_inputs, grad_queries, grad_contexts, grad_energies = grads
    grad_keys = weights.v_a * (ops.expand_dims(ops.sum(grad_energies, axis=0), 2) - w)
    grad_annotations = ops.matmul(
        ops.transpose(outputs.alignments, (1, 2, 0)), ops.transpose(grad_contexts, (1, 0, 2))
    )
    grad_gates, grad_candidates = split_columns(grad_inputs, 2 * start.shape[-1])
    grad_weights = Weights(
        W_a_U_gates=outer_product(
            before, ops.concatenate([grad_queries, grad_gates], axis=-1), dtype
        ),
        C=outer_product(outputs.contexts, grad_inputs, dtype),
        U=outer_product(kept.gates.r * before, grad_candidates, dtype),
        v_a=grad_v,
    )
    return grad_inputs, grad_start, grad_annotations, grad_keys, *grad_weights
