"""Adadelta and Adam that clip what all replicas have summed, with TensorFlow's fused updates."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig


class _ReduceThenClip(keras.optimizers.Optimizer):
    """The order of things in an update, whoever runs the loop (`fit`, or `TrainStep`).

    Keras clips each replica's gradient by itself and then sums (as of 3.15). The norm that
    appendix B.2 holds to 1 is the whole batch's: so sum first, then clip. A gradient that is not
    finite changes nothing but the count of updates.

    Args:
        clip_norm: the largest L2 norm of the summed gradient; None leaves it as it is.
    """

    def __init__(self, *args: Any, clip_norm: float | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.clip_norm = clip_norm

    def update(self, gradients: Sequence[Any], variables: Sequence[keras.Variable]) -> tf.Tensor:
        """Update from one replica's share of the gradient, within `strategy.run`.

        Args:
            gradients: of a loss that is a sum over replicas, a tensor or IndexedSlices for each
                variable.
            variables: those that the optimiser was built with.

        Returns:
            The norm of the whole gradient before clipping, float32 [].
        """
        norm = self._update_all(gradients, variables, self._get_current_learning_rate())
        self.iterations.assign_add(1)
        return norm

    def _backend_update_step(
        self, grads: Sequence[Any], trainable_variables: Sequence[Any], learning_rate: Any
    ) -> None:
        """What `apply`, and so `fit`, comes to."""
        self._update_all(grads, trainable_variables, learning_rate)

    def _update_all(
        self, gradients: Sequence[Any], variables: Sequence[Any], learning_rate: Any
    ) -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, [_dense(g) for g in gradients])
        limit = float("inf") if self.clip_norm is None else self.clip_norm
        clipped, norm = clip_to_norm(summed, limit)

        def update() -> None:
            for gradient, variable in zip(clipped, variables, strict=True):
                self.update_step(gradient, variable, learning_rate)

        tf.cond(tf.math.is_finite(norm), update, lambda: None)
        return norm

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this optimiser."""
        return {**super().get_config(), "clip_norm": self.clip_norm}


class Adadelta(_ReduceThenClip, keras.optimizers.Adadelta):
    """Zeiler (2012): `keras.optimizers.Adadelta`, updated by one op for each weight.

    With g the gradient and ε inside both roots,

        E[g²] ← ρ E[g²] + (1 − ρ) g²
        Δ     = √(E[Δ²] + ε) / √(E[g²] + ε) · g
        E[Δ²] ← ρ E[Δ²] + (1 − ρ) Δ²
        weight ← weight − learning_rate · Δ

    Keras writes this in a dozen element-wise ops, twice as slow on a CPU.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one weight and its two averages."""
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdadelta(
            var=_handle(variable),
            accum=_handle(self._accumulated_grads[index]),
            accum_update=_handle(self._accumulated_delta_vars[index]),
            lr=tf.cast(learning_rate, gradient.dtype),
            rho=tf.cast(self.rho, gradient.dtype),
            epsilon=tf.cast(self.epsilon, gradient.dtype),
            grad=gradient,
        )


class Adam(_ReduceThenClip, keras.optimizers.Adam):
    """Kingma & Ba (2015): `keras.optimizers.Adam`, updated by one op for each weight."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one weight and its two moments."""
        index = self._get_variable_index(variable)
        dtype = gradient.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=tf.cast(self.beta_1, dtype) ** step,
            beta2_power=tf.cast(self.beta_2, dtype) ** step,
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=gradient,
        )


def build_optimizer(config: TrainingConfig, total_updates: int) -> Adadelta | Adam:
    """The optimiser of a training run.

    Args:
        config: names it and its step scale; Adadelta has the paper's ρ = 0.95, ε = 1e-6.
        total_updates: where linear decay reaches zero.
    """
    rate: Any = config.learning_rate
    if config.learning_rate_schedule == "linear":
        rate = keras.optimizers.schedules.PolynomialDecay(rate, max(total_updates, 1), 0.0)
    if config.optimizer == "adadelta":
        return Adadelta(rate, rho=0.95, epsilon=1e-6, clip_norm=config.clip_norm)
    return Adam(rate, clip_norm=config.clip_norm)


def clip_to_norm(gradients: Sequence[Any], limit: float) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Scale the gradient so that its L2 norm over all weights is at most `limit` (appendix B.2).

    Returns:
        The gradients, dense, and the norm before scaling.
    """
    dense = [_dense(gradient) for gradient in gradients]
    norm = tf.linalg.global_norm(dense)
    scale = tf.minimum(limit / norm, 1.0)
    return [gradient * scale for gradient in dense], norm


def _dense(gradient: Any) -> tf.Tensor:
    """A sparse embedding gradient repeats rows: its norm is right only once they are summed."""
    return tf.convert_to_tensor(gradient)


def _handle(variable: Any) -> tf.Tensor:
    """The replica's own copy: after the sum, every replica makes the same update."""
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle
