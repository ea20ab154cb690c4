"""The gated hidden unit (paper, appendix A.1.1 and A.2)."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from rnnsearch_tf.layers import initializers


class _GatedUnit(keras.layers.Layer):
    """What the encoder's and the decoder's cell share: words, state, gates."""

    def __init__(self, units: int, initial_weights: str = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.initial_weights = initial_weights

    def _add_matrices(self, names: tuple[str, ...], size: int, initializer: Any) -> None:
        for name in names:
            weight = self.add_weight((size, self.units), initializer, name=name)
            setattr(self, name, weight)

    def _add_weights(self, words_size: int) -> None:
        scheme = self.initial_weights
        self._add_matrices(("W", "W_z", "W_r"), words_size, initializers.matrix(scheme))
        self._add_matrices(("U", "U_z", "U_r"), self.units, initializers.recurrent(scheme))
        for name in ("b", "b_z", "b_r"):
            setattr(self, name, self.add_weight((self.units,), "zeros", name=name))

    def project(self, words: Any) -> Any:
        """The words' share of gates and candidate, for all positions in one product.

        Args:
            words: embeddings e, [..., m].

        Returns:
            [..., 3n]: W_z e + b_z, W_r e + b_r, W e + b.
        """
        joined = ops.concatenate([self.W_z, self.W_r, self.W], axis=1)
        biases = ops.concatenate([self.b_z, self.b_r, self.b])
        dtype = self.compute_dtype
        return ops.dot(words, ops.cast(joined, dtype)) + ops.cast(biases, dtype)

    def _bind(self) -> Callable[[Any, Any], Any]:
        dtype = self.compute_dtype
        gate_matrix = ops.cast(ops.concatenate([self.U_z, self.U_r], axis=1), dtype)  # [n, 2n]
        candidate_matrix = ops.cast(ops.convert_to_tensor(self.U), dtype)

        def step(projected: Any, state: Any) -> Any:
            gate_input, candidate_input = ops.split(projected, [2 * self.units], axis=-1)
            z, r = ops.split(ops.sigmoid(gate_input + ops.matmul(state, gate_matrix)), 2, axis=-1)
            candidate = ops.tanh(candidate_input + ops.matmul(r * state, candidate_matrix))
            return state + z * (candidate - state)

        return step

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this layer."""
        return {
            **super().get_config(),
            "units": self.units,
            "initial_weights": self.initial_weights,
        }


class GRUCell(_GatedUnit):
    """One step of the gated hidden unit of Cho et al. (2014), the paper's f.

        z  = σ(W_z e + U_z h)
        r  = σ(W_r e + U_r h)
        h̃  = tanh(W e + U [r ∘ h])
        h' = (1 − z) ∘ h + z ∘ h̃                             (appendix A.1.1)

    Every line has a bias (b_z, b_r, b), which the paper leaves out of its formulas. Unlike
    `keras.layers.GRU`, z weighs the new state, and the reset gate acts before U.

    Weights, stored transposed: `W, W_z, W_r` [m, n], `U, U_z, U_r` [n, n], `b, b_z, b_r` [n].

    Args:
        units: n, the number of hidden units.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def build(self, words_shape: tuple) -> None:
        """Create the weights for inputs [..., m]."""
        self._add_weights(words_shape[-1])

    def bind(self) -> Callable[[Any, Any], Any]:
        """Join the matrices once and return the step, to be used inside a loop.

        Returns:
            step(projected [..., 3n], state [..., n]) -> the next state [..., n].
        """
        return self._bind()

    def call(self, words: Any, state: Any) -> Any:
        """One step: words [..., m] and state [..., n] to the next state [..., n]."""
        return self.bind()(self.project(words), state)


class ContextGRUCell(_GatedUnit):
    """The decoder's gated hidden unit, which also reads a context c.

        z  = σ(W_z e + U_z s + C_z c)
        r  = σ(W_r e + U_r s + C_r c)
        s̃  = tanh(W e + U [r ∘ s] + C c)
        s' = (1 − z) ∘ s + z ∘ s̃                             (appendix A.2.2)

    Weights: those of `GRUCell`, and `C, C_z, C_r` [context size, n].

    Args:
        units: n, the number of hidden units.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def build(self, words_shape: tuple, context_shape: tuple) -> None:
        """Create the weights for words [..., m] and contexts [..., 2n]."""
        self._add_weights(words_shape[-1])
        matrix = initializers.matrix(self.initial_weights)
        self._add_matrices(("C", "C_z", "C_r"), context_shape[-1], matrix)

    def bind(self) -> Callable[[Any, Any, Any], Any]:
        """Join the matrices once and return the step, to be used inside a loop.

        Returns:
            step(projected [..., 3n], state [..., n], context) -> the next state [..., n].
        """
        step = self._bind()
        joined = ops.concatenate([self.C_z, self.C_r, self.C], axis=1)
        context_matrix = ops.cast(joined, self.compute_dtype)

        def step_with_context(projected: Any, state: Any, context: Any) -> Any:
            return step(projected + ops.matmul(context, context_matrix), state)

        return step_with_context

    def call(self, words: Any, state: Any, context: Any) -> Any:
        """One step: words [..., m], state [..., n], context [..., 2n] to the next state."""
        return self.bind()(self.project(words), state, context)
