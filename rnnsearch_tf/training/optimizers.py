"""Adadelta and Adam that clip the gradient summed over replicas, with fused updates."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig


class _ReduceThenClip(keras.optimizers.Optimizer):
    """An optimizer that sums the replicas' gradients, then clips, in `fit` and in `TrainStep`.

    A gradient that is not finite changes no weight; updates are counted, and averages move on.
    `clip_norm` is the maximum L2 norm of the summed gradient, above 0; None does not clip.
    """

    def __init__(self, *args: Any, clip_norm: float | None = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if clip_norm is not None and not (isinstance(clip_norm, Real) and clip_norm > 0):
            raise ValueError(f"clip_norm {clip_norm!r}: must be a number above 0, or None")
        self.clip_norm = clip_norm

    def update(self, gradients: Sequence[Any], variables: Sequence[keras.Variable]) -> tf.Tensor:
        """Make an update within `strategy.run`, from the gradient of this replica's rows.

        Summed over replicas, the gradients, tensors or IndexedSlices, are those of the loss.
        Returns the L2 norm of the sum before clipping, float32 [].
        """
        self._apply_weight_decay(variables)  # if the optimizer has one
        norm = self._backend_update_step(gradients, variables, self._get_current_learning_rate())
        if self.use_ema:
            self._update_model_variables_moving_average(variables)
        self.iterations.assign_add(1)
        return norm

    def _backend_update_step(
        self, grads: Sequence[Any], trainable_variables: Sequence[Any], learning_rate: Any
    ) -> tf.Tensor:
        """Make the update of `update`, and of `apply`, which `fit` calls."""
        # Sum, then clip: appendix B.2 limits the norm of the whole batch's gradient. Keras (3.15)
        # clips on each replica and then sums, so that the update depends on their number.
        context = tf.distribute.get_replica_context()
        # TensorFlow ends the process if a gradient has not the dtype of its weight.
        pairs = zip(grads, trainable_variables, strict=True)
        dense = [tf.cast(tf.convert_to_tensor(g), weight.dtype) for g, weight in pairs]
        # The first replica's learning rate is everyone's: callbacks set it on the chief alone.
        is_first = context.replica_id_in_sync_group == 0
        own_rate = tf.where(is_first, tf.cast(learning_rate, dense[0].dtype), 0)
        *summed, rate = context.all_reduce(tf.distribute.ReduceOp.SUM, [*dense, own_rate])
        clip_norm = float("inf") if self.clip_norm is None else self.clip_norm
        clipped, norm = clip_to_norm(summed, clip_norm)

        def update() -> None:
            for gradient, variable in zip(clipped, trainable_variables, strict=True):
                self.update_step(gradient, variable, rate)

        # The norm is the same on every replica, so all of them update or none does.
        tf.cond(tf.math.is_finite(norm), update, lambda: None)
        return norm

    def _update_model_variables_moving_average(self, variables: Sequence[Any]) -> None:
        """Move the averages: ā ← d ā + (1 − d) w, with d = min(ema_momentum, t / (t + 10)).

        t counts the updates from 0, so that the averages soon forget the initial, random weights.
        """
        t = tf.cast(self.iterations, tf.float32)
        share = 1 - tf.minimum(self.ema_momentum, t / (t + 10))
        for weight, average in zip(variables, self.weight_averages, strict=True):
            dtype = tf.as_dtype(average.dtype)
            old, new = (
                tf.raw_ops.ReadVariableOp(resource=x.handle, dtype=dtype) for x in (average, weight)
            )
            tf.raw_ops.AssignSubVariableOp(
                resource=average.handle, value=tf.cast(share, dtype) * (old - new)
            )

    @property
    def weight_averages(self) -> list[keras.Variable]:
        """The moving average of each weight; none without `use_ema`."""
        return self._model_variables_moving_average if self.use_ema else []

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of `from_config`."""
        return {**super().get_config(), "clip_norm": self.clip_norm}


@keras.saving.register_keras_serializable("rnnsearch_tf")
class Adadelta(_ReduceThenClip, keras.optimizers.Adadelta):
    """Adadelta (Zeiler 2012), `keras.optimizers.Adadelta` with one op for each weight.

    With g the gradient and ε inside both roots,

        E[g²] ← ρ E[g²] + (1 − ρ) g²
        Δ     = √(E[Δ²] + ε) / √(E[g²] + ε) · g
        E[Δ²] ← ρ E[Δ²] + (1 − ρ) Δ²
        weight ← weight − learning_rate · Δ

    Keras's own has a dozen element-wise ops, and takes twice the time on a CPU.
    """

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one weight and its two averages."""
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdadelta(
            var=variable.handle,
            accum=self._accumulated_grads[index].handle,
            accum_update=self._accumulated_delta_vars[index].handle,
            lr=tf.cast(learning_rate, gradient.dtype),
            rho=tf.cast(self.rho, gradient.dtype),
            epsilon=tf.cast(self.epsilon, gradient.dtype),
            grad=gradient,
        )


@keras.saving.register_keras_serializable("rnnsearch_tf")
class Adam(_ReduceThenClip, keras.optimizers.Adam):
    """Adam (Kingma & Ba 2015), `keras.optimizers.Adam` with one op for each weight."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Update one weight and its two moments."""
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        dtype = gradient.dtype
        step = tf.cast(self.iterations + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].handle,
            v=self._velocities[index].handle,
            beta1_power=tf.cast(self.beta_1, dtype) ** step,
            beta2_power=tf.cast(self.beta_2, dtype) ** step,
            lr=tf.cast(learning_rate, dtype),
            beta1=tf.cast(self.beta_1, dtype),
            beta2=tf.cast(self.beta_2, dtype),
            epsilon=tf.cast(self.epsilon, dtype),
            grad=gradient,
        )


# By `OptimizerName`: the class, and its constants, for Adadelta the paper's (appendix B.2).
OPTIMIZERS: dict[str, tuple[Any, dict[str, float]]] = {
    "adadelta": (Adadelta, {"rho": 0.95, "epsilon": 1e-6}),
    "adam": (Adam, {}),
}


def build_optimizer(config: TrainingConfig, total_updates: int) -> Adadelta | Adam:
    """Build the optimizer of a training run; a linear schedule reaches 0 at `total_updates`."""
    rate = learning_rate(config, total_updates)
    settings: dict[str, Any] = {"learning_rate": rate, "clip_norm": config.clip_norm}
    if config.weight_average:
        settings |= {"use_ema": True, "ema_momentum": config.weight_average}
    kind, constants = OPTIMIZERS[config.optimizer]
    return kind(**constants, **settings)


def learning_rate(config: TrainingConfig, total_updates: int) -> Any:
    """Return the learning rate, or its schedule, as Keras's optimizers take it."""
    rate, decay = float(config.learning_rate), keras.optimizers.schedules.PolynomialDecay
    schedules = {"constant": rate, "linear": decay(rate, max(total_updates, 1), 0.0)}
    return schedules[config.learning_rate_schedule]


def clip_to_norm(gradients: Sequence[Any], clip_norm: float) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Scale the gradient so that its L2 norm over all weights is at most `clip_norm`.

        g ← g · min(clip_norm / ‖g‖, 1)   (appendix B.2)

    Returns the gradients, dense, and the norm before scaling, float32 []. Repeated rows of a sparse
    embedding gradient are summed first, without which the norm is wrong.
    """
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
    norm = tf.linalg.global_norm(dense)
    scale = tf.minimum(clip_norm / norm, 1.0)
    return [gradient * scale for gradient in dense], norm
