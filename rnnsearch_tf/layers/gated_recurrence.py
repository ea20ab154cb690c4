"""The gated update of a state, and the recurrence of it, with their gradients.

The automatic gradient of a loop sums each weight's gradient step by step. Here, a loop computes the
gradients of the products' outputs, and one large product then gives each weight's gradient. On
PyTorch the gradient is automatic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.layers.precision import outer_product, product, spaced, split_columns
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.tensor_types import Float, Tensor


class Gates(NamedTuple):
    """Gates and candidate of an update, which its gradient reads again."""

    z: Float[Tensor, "*rows n"]  # update gate
    r: Float[Tensor, "*rows n"]  # reset gate
    candidate: Float[Tensor, "*rows n"]


def gated_update(
    gate_inputs: Float[Tensor, "*rows two_n"],  # a_z and a_r, with U_z s and U_r s in them
    candidate_inputs: Float[Tensor, "*rows n"],  # a
    state: Float[Tensor, "*rows n"],  # s
    U: Float[Tensor, "n _"],  # of the candidate, stored transposed; may be `spaced`
    real: Float[Tensor, "*rows 1"] | None = None,  # 0 where z is closed and the state is kept
) -> tuple[Float[Tensor, "*rows n"], Gates]:
    """Return the next state of a gated unit, and its gates.

    z  = σ(a_z),  r = σ(a_r),  s̃ = tanh(a + U [r ∘ s])
    s' = (1 − z) ∘ s + z ∘ s̃                             (appendix A.1.1)

    Training takes its derivative from `gated_update_gradient`.
    """
    z, r = ops.split(ops.sigmoid(gate_inputs), 2, axis=-1)
    if real is not None:
        z = z * real  # not in place: on PyTorch, z is a view
    candidate = ops.tanh(candidate_inputs + product(r * state, U, columns=state.shape[-1]))
    return state + z * (candidate - state), Gates(z, r, candidate)


def gated_update_gradient(
    upstream: Float[Tensor, "R n"],
    state: Float[Tensor, "R n"],
    gates: Gates,
    U_T: Float[Tensor, "n _"],  # transposed once more; may be `spaced`
) -> tuple[Float[Tensor, "R n"], Float[Tensor, "R two_n"], Float[Tensor, "R n"]]:
    """Return the gradients of the state, of the gates' inputs and of the candidate's.

    With δ = ∂L/∂s' and s' = s + z ∘ (s̃ − s):

        ∂a   = δ ∘ z ∘ (1 − s̃²)                     tanh' = 1 − tanh²
        ∂a_z = δ ∘ (s̃ − s) ∘ z ∘ (1 − z)            σ' = σ (1 − σ)
        ∂a_r = (Uᵀ ∂a) ∘ s ∘ r ∘ (1 − r)
        ∂s   = δ ∘ (1 − z) + (Uᵀ ∂a) ∘ r,  to which the caller adds U_zᵀ ∂a_z + U_rᵀ ∂a_r
    """
    z, r, candidate = gates
    through_z = upstream * z
    grad_candidate = through_z * (1 - ops.square(candidate))
    grad_reset_state = product(grad_candidate, U_T, columns=state.shape[-1])
    through_reset = grad_reset_state * r
    grad_z = through_z * (1 - z) * (candidate - state)
    grad_r = through_reset * (1 - r) * state
    grad_gates = ops.concatenate([grad_z, grad_r], axis=-1)
    return upstream - through_z + through_reset, grad_gates, grad_candidate


def gated_recurrence(
    inputs: Float[Tensor, "T B three_n"],  # a_z, a_r and a, without U_z s and U_r s
    start: Float[Tensor, "B n"],
    U_gates: Float[Tensor, "n two_n"],  # U_z and U_r, side by side
    U: Float[Tensor, "n n"],  # of the candidate
    dtype: str,  # of the products
    reverse: bool = False,
    real: Float[Tensor, "T B 1"] | None = None,  # 0 at padding, which keeps the state
) -> Float[Tensor, "T B n"]:
    """Unroll over the inputs, from the last with `reverse`; return the state after each."""
    if keras.backend.backend() == "torch":
        return _unroll(inputs, start, U_gates, U, dtype, reverse, real)[0]

    @ops.custom_gradient
    def states_with_gradient(inputs: Any, start: Any, U_gates: Any, U: Any) -> Any:
        states, gates = _unroll(inputs, start, U_gates, U, dtype, reverse, real)

        def gradient(upstream: Any) -> tuple[Any, ...]:
            return _gradient(upstream, start, states, gates, U_gates, U, dtype, reverse)

        return states, gradient

    return states_with_gradient(inputs, start, U_gates, U)


def _unroll(
    inputs: Any, start: Any, U_gates: Any, U: Any, dtype: str, reverse: bool, real: Any
) -> tuple[Any, Gates]:
    U_gates, U = (spaced(ops.cast(w, dtype)) for w in (U_gates, U))
    units = start.shape[-1]

    def step(state: Any, position: Any) -> Any:
        inputs_t, *real_t = position
        gate_inputs, candidate_inputs = split_columns(inputs_t, 2 * units)
        gate_inputs = gate_inputs + product(state, U_gates, columns=2 * units)
        state, gates = gated_update(gate_inputs, candidate_inputs, state, U, *real_t)
        return state, (state, gates)

    positions = (inputs,) if real is None else (inputs, real)
    return scan(step, start, positions, (start, Gates(start, start, start)), reverse)[1]


def _gradient(
    upstream: Any,
    start: Any,
    states: Any,
    gates: Gates,
    U_gates: Any,
    U: Any,
    dtype: str,
    reverse: bool,
) -> tuple[Any, ...]:
    """Return the gradients of inputs, start, U_gates and U; `grad_x` is ∂L/∂x."""
    U_gates_T, U_T = (spaced(ops.cast(ops.transpose(w), dtype)) for w in (U_gates, U))
    before = previous_states(states, start, reverse)

    def step(grad_state: Any, position: Any) -> Any:
        upstream_t, state, gates_t = position
        grad_state, grad_gates, grad_candidate = gated_update_gradient(
            grad_state + upstream_t, state, gates_t, U_T
        )
        grad_state += product(grad_gates, U_gates_T, columns=state.shape[-1])
        return grad_state, ops.concatenate([grad_gates, grad_candidate], axis=-1)

    three_n = ops.concatenate([start, start, start], axis=-1)
    grad_start, grad_inputs = scan(
        step, ops.zeros_like(start), (upstream, before, gates), three_n, reverse=not reverse
    )
    grad_gates, grad_candidates = split_columns(grad_inputs, 2 * start.shape[-1])
    grad_U_gates = outer_product(before, grad_gates, dtype)
    grad_U = outer_product(gates.r * before, grad_candidates, dtype)
    return grad_inputs, grad_start, grad_U_gates, grad_U


def previous_states(
    states: Float[Tensor, "T B n"], start: Float[Tensor, "B n"], reverse: bool = False
) -> Float[Tensor, "T B n"]:
    """Return the state before each step, from those after."""
    first = ops.expand_dims(start, 0)
    if reverse:
        return ops.concatenate([states, first])[1:]
    return ops.concatenate([first, states])[:-1]
