"""The gated hidden unit (paper, appendix A.1.1 and A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.gated_recurrence import gated_recurrence, gated_update
from rnnsearch_tf.layers.precision import PreciseLayer, check_units, joined, product, split_columns
from rnnsearch_tf.tensor_types import Float, Tensor


class _GatedUnit(PreciseLayer):
    """The weights, input products and gates that the encoder's and decoder's cells share."""

    def __init__(self, units: int, initial_weights: InitialWeights = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        check_units(units)
        self.units = units
        self.state_size = self.output_size = units  # for `keras.layers.RNN`
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

    def project(self, words: Float[Tensor, "*rows m"]) -> Float[Tensor, "*rows three_n"]:
        """W_z e + b_z, W_r e + b_r and W e + b of all positions in one product."""
        biases = joined(self.b_z, self.b_r, self.b)
        return product(words, self.factor(self.W_z, self.W_r, self.W), biases)

    def update(
        self,
        inputs: Float[Tensor, "*rows three_n"],
        state: Float[Tensor, "*rows n"],
        recurrent: tuple[Any, Any],
    ) -> Float[Tensor, "*rows n"]:
        """Return the next states, given the contributions of words and contexts, and the states."""
        gate_inputs, candidate_inputs = split_columns(inputs, 2 * self.units)
        U_gates, U = (self.factor(weights) for weights in recurrent)
        gate_inputs = gate_inputs + product(state, U_gates)
        return gated_update(gate_inputs, candidate_inputs, state, U)[0]

    @property
    def recurrent_weights(self) -> tuple[Any, Any]:
        """U_z and U_r side by side, and U."""
        return joined(self.U_z, self.U_r), joined(self.U)

    def unroll(
        self,
        inputs: Float[Tensor, "T B three_n"],
        start: Float[Tensor, "B n"],
        reverse: bool = False,
        real: Float[Tensor, "T B 1"] | None = None,
    ) -> Float[Tensor, "T B n"]:
        """Return the states after each input, in order or, with `reverse`, in reverse order."""
        U_gates, U = self.recurrent_weights
        return gated_recurrence(inputs, start, U_gates, U, self.compute_dtype, reverse, real)


@keras.saving.register_keras_serializable("rnnsearch_tf")
class GRUCell(_GatedUnit):
    """One step of the gated hidden unit, the paper's f.

        z  = σ(W_z e + U_z h)
        r  = σ(W_r e + U_r h)
        h̃  = tanh(W e + U [r ∘ h])
        h' = (1 − z) ∘ h + z ∘ h̃                             (appendix A.1.1)

    Every line has a bias (b_z, b_r, b), which the paper leaves out of its formulas. z weighs the
    new state; in Cho et al. (2014) and `keras.layers.GRU` it weighs the old one. The reset gate
    is applied before U; `keras.layers.GRU` applies it after U by default.

    Weights, stored transposed: `W, W_z, W_r` [m, n], `U, U_z, U_r` [n, n], `b, b_z, b_r` [n].

    Args:
        units: n, the number of hidden units; ValueError below 1.
        initial_weights: "paper" (appendix B.1) or "glorot".

    Examples:
        Two words, m = 3, from states of zeros; and two sentences of four words:

        >>> cell = GRUCell(units=5)
        >>> output, states = cell(keras.random.normal([2, 3]), [keras.ops.zeros([2, 5])])
        >>> print(output.shape, keras.layers.RNN(cell)(keras.random.normal([2, 4, 3])).shape)
        (2, 5) (2, 5)
    """

    def build(self, words_shape: tuple, states_shape: Any = None) -> None:
        """Create the weights."""
        self._add_weights(words_shape[-1])

    def call(
        self,
        words: Float[Tensor, "*rows m"],  # their vectors e
        states: Float[Tensor, "*rows n"] | Sequence[Float[Tensor, "*rows n"]],  # h, or [h]
    ) -> tuple[Float[Tensor, "*rows n"], Any]:
        """Return the next states h' twice, the second time in the form of `states`, as in Keras."""
        in_list = isinstance(states, list | tuple)
        state = self.wide(states[0] if in_list else states)
        state = self.update(self.project(self.wide(words)), state, self.recurrent_weights)
        # Keras's loop carries states in the dtype in which they came.
        return state, [ops.cast(state, states[0].dtype)] if in_list else state

    def get_initial_state(self, batch_size: int | None = None) -> list[Float[Tensor, "B n"]]:
        """Return states of zeros in a list, as `keras.layers.RNN` needs them to stack cells."""
        return [ops.zeros((batch_size, self.units), self.compute_dtype)]


@keras.saving.register_keras_serializable("rnnsearch_tf")
class ContextGRUCell(_GatedUnit):
    """The decoder's gated hidden unit, which also reads a context c.

        z  = σ(W_z e + U_z s + C_z c)
        r  = σ(W_r e + U_r s + C_r c)
        s̃  = tanh(W e + U [r ∘ s] + C c)
        s' = (1 − z) ∘ s + z ∘ s̃                             (appendix A.2.2)

    Weights: those of `GRUCell`, and `C, C_z, C_r` [2n, n].

    Args:
        units: n, the number of hidden units; ValueError below 1.
        initial_weights: "paper" (appendix B.1) or "glorot".

    Examples:
        Two words, m = 3, each with a context of 2n = 10 numbers:

        >>> cell = ContextGRUCell(units=5)
        >>> words, contexts = keras.random.normal([2, 3]), keras.random.normal([2, 10])
        >>> print(cell(words, keras.ops.zeros([2, 5]), contexts).shape)
        (2, 5)
    """

    def build(self, words_shape: tuple, context_shape: tuple) -> None:
        """Create the weights."""
        self._add_weights(words_shape[-1])
        matrix = initializers.matrix(self.initial_weights)
        self._add_matrices(("C", "C_z", "C_r"), context_shape[-1], matrix)

    def project_context(
        self, context: Float[Tensor, "*rows two_n"]
    ) -> Float[Tensor, "*rows three_n"]:
        """C_z c, C_r c and C c in one product, to be added to `project`'s output."""
        return product(context, self.factor(self.C_z, self.C_r, self.C))

    def call(
        self,
        words: Float[Tensor, "*rows m"],
        state: Float[Tensor, "*rows n"],
        context: Float[Tensor, "*rows two_n"],
    ) -> Float[Tensor, "*rows n"]:
        """Return the next states, from the words' vectors e, the states s and the contexts c."""
        words, state, context = (self.wide(x) for x in (words, state, context))
        inputs = self.project(words) + self.project_context(context)
        return self.update(inputs, state, self.recurrent_weights)
