"""The update of `train_step`, on JAX: one compiled function for each shape of a batch."""

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import keras
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training.checkpoints import JAX, SavedVariable
from rnnsearch_tf.training.jax_batches import FixedShapes, jax_hardware
from rnnsearch_tf.training.optimizers import OPTIMIZERS, learning_rate
from rnnsearch_tf.training.train_step import MASKS_PER_UPDATE, UpdateMetrics, replaced, seeds

_State = list[list[jax.Array]]  # values of weights, of the optimizer, and averages of the weights


class JaxTrainStep:
    """The update of `TrainStep`, with Keras on JAX.

    Loss, clipping and optimizers are those of `TrainStep`. The model is replicated, and the rows of
    a batch are split, over the devices of `keras.distribution`; XLA sums the gradient over them
    before it is clipped. Dropout masks are drawn for the whole batch with its rows of padding.

    Attributes:
        optimizer: Keras's own; it neither clips nor averages, which the update does.
        saved, hardware: as those of `TrainStep`.
    """

    def __init__(self, model: TranslationModel, config: TrainingConfig, total_updates: int):
        self._model = model
        self._config = config
        self._loss_weights = config.loss_weights
        self._fixed = FixedShapes(config.batch_size, config.max_length, config.bucket_width)
        self._weights = list(model.trainable_variables)
        kind, constants = OPTIMIZERS[config.optimizer]
        keras_kind = getattr(keras.optimizers, kind.__name__)
        self.optimizer = keras_kind(learning_rate(config, total_updates), **constants)
        self.optimizer.build(self._weights)
        averaged = self._weights if config.weight_average else []
        self._averages = [
            keras.Variable("zeros", shape=weight.shape, dtype=weight.dtype, trainable=False)
            for weight in averaged
        ]
        self._seeds = seeds(model)
        self._parts = (self._weights, self.optimizer.variables, self._averages)
        self.saved = {JAX: [SavedVariable(variable) for part in self._parts for variable in part]}
        self.hardware = jax_hardware()
        self._update = jax.jit(self._pure_update, donate_argnums=0)

    def __call__(self, batch: Mapping[str, Any], stop: int) -> UpdateMetrics:
        """Make an update; return its measurements. Arguments as those of `TrainStep`."""
        sentences = len(batch["target"])
        state = [[variable.value for variable in part] for part in self._parts]
        with memory_errors():
            state, (totals, norm, rate) = self._update(state, self._fixed(batch), sentences)
            for part, values in zip(self._parts, state, strict=True):
                for variable, value in zip(part, values, strict=True):
                    variable.assign(value)
            totals, norm, rate = jax.device_get((totals, norm, rate))
        losses = {name: totals[name] for name in self._loss_weights}  # JAX sorts the names
        return UpdateMetrics(losses, sentences, norm, rate, float(stop))

    def averaged_weights(self) -> contextlib.AbstractContextManager[None]:
        """Within the block, use the averages of the weights, if they are kept, in their place."""
        return replaced(self._weights, self._averages)

    def _pure_update(
        self, state: _State, batch: dict[str, jax.Array], sentences: jax.Array
    ) -> tuple[_State, tuple[dict[str, LossTotal], jax.Array, jax.Array]]:
        """Compute weights, state of the optimizer and averages after an update."""
        weights, slots, averages = state
        with keras.StatelessScope(list(zip(self.optimizer.variables, slots, strict=True))):
            updates = jnp.asarray(self.optimizer.iterations.value)
            rate = jnp.asarray(self.optimizer.learning_rate, jnp.float32)

        def loss(values: list[jax.Array]) -> tuple[jax.Array, dict[str, LossTotal]]:
            with keras.StatelessScope([*zip(self._weights, values, strict=True), *masks]):
                totals = self._model.compute_losses(batch, self._loss_weights, training=True)
            weighted = sum(self._loss_weights[name] * totals[name].sum for name in totals)
            return weighted / sentences, totals

        masks = self._random_states(updates)
        gradients, totals = jax.grad(loss, has_aux=True)(weights)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(gradient)) for gradient in gradients))
        scale = jnp.minimum(self._config.clip_norm / norm, 1.0)
        clipped = [gradient * scale for gradient in gradients]
        new_weights, new_slots = self.optimizer.stateless_apply(slots, clipped, weights)
        # A gradient that is not finite changes no weight, as in `optimizers`.
        choose = functools.partial(jnp.where, jnp.isfinite(norm))
        new_weights = list(map(choose, new_weights, weights))
        new_slots = [
            new if variable is self.optimizer.iterations else choose(new, old)
            for variable, new, old in zip(self.optimizer.variables, new_slots, slots, strict=True)
        ]
        averages = self._moved(averages, new_weights, updates)
        return [new_weights, new_slots, averages], (totals, norm, rate)

    def _random_states(self, updates: jax.Array) -> list[tuple[keras.Variable, jax.Array]]:
        """Return the random states of an update, from the seeds and its number, as `TrainStep`."""
        offset = jnp.asarray(updates * MASKS_PER_UPDATE, jnp.uint32)
        return [
            (state, jnp.stack([jnp.uint32(seed), offset]).astype(state.dtype))
            for state, seed in self._seeds
        ]

    def _moved(
        self, averages: list[jax.Array], weights: list[jax.Array], updates: jax.Array
    ) -> list[jax.Array]:
        """Move the averages, as `optimizers` does: ā ← d ā + (1 − d) w."""
        t = jnp.asarray(updates, jnp.float32)
        share = 1 - jnp.minimum(self._config.weight_average, t / (t + 10))
        pairs = zip(averages, weights, strict=False)  # there may be no averages
        return [average - share * (average - weight) for average, weight in pairs]


@contextlib.contextmanager
def memory_errors() -> Iterator[None]:
    """Turn JAX's out-of-memory error into TensorFlow's, which `Trainer` reports."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise tf.errors.ResourceExhaustedError(None, None, str(error)) from error
