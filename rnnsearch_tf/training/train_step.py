"""One step of stochastic gradient descent (paper, appendix B.2), on any number of devices."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.data.batching import batch_specs
from rnnsearch_tf.layers.precision import executed_graph
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.tf_functions import graph_function
from rnnsearch_tf.threads import halves_pay
from rnnsearch_tf.training.distribution import used_hardware
from rnnsearch_tf.training.optimizers import build_optimizer

_STOP = tf.TensorSpec([], tf.int32)

MASKS_PER_UPDATE = 16  # more than any layer draws in an update


class UpdateMetrics(NamedTuple):
    """The measurements of one update, over the whole batch."""

    losses: dict[str, LossTotal]  # by name, in nats
    sentences: tf.Tensor  # int32 []
    gradient_norm: tf.Tensor  # float32 [], before clipping
    learning_rate: tf.Tensor  # float32 []
    stops: tf.Tensor  # float32 [], the number of replicas that were asked to stop


class TrainStep:
    """The update of a model's weights from a batch.

    The loss is the mean over the batch's sentences of
        Σ_i −log p(y_i | y_<i, x) + Σ_l w_l · loss_l,
    where l are the auxiliary losses of `config.loss_weights`: for guided alignment, loss_l is
    Σ_i H(A_i, α_i) (see `losses.alignment_cross_entropy`). The norm of the gradient is clipped to
    `config.clip_norm`.

    `shares` is the number of parts of a batch whose gradients are computed at the same time on a
    device, by default two if that pays. Each part draws its own dropout masks; without dropout,
    results differ by the order of sums alone.

    Attributes:
        optimizer: from `build_optimizer`.
        saved: the parts of a checkpoint, by name.
        hardware: the devices, as a record of training.jsonl names them.
    """

    def __init__(
        self,
        model: TranslationModel,  # built under the strategy
        config: TrainingConfig,  # optimizer, weights of the losses, XLA
        total_updates: int,  # at which a linear learning rate schedule reaches 0
        strategy: tf.distribute.Strategy | None = None,
        shares: int | None = None,
    ):
        self._strategy = strategy or tf.distribute.get_strategy()
        self._shares = shares or (2 if halves_pay() and not config.jit_compile else 1)
        with self._strategy.scope():
            self.optimizer = build_optimizer(config, total_updates)
            self.optimizer.build(model.trainable_variables)
        self.saved = {"model": model, "optimizer": self.optimizer}
        self.hardware = used_hardware(self._strategy)
        self._model = model
        self._loss_weights = config.loss_weights
        self._tracing = contextlib.nullcontext if config.jit_compile else executed_graph
        self._seeds = seeds(model)
        batch = batch_specs(has_guide="guided_alignment" in self._loss_weights)
        self._update = graph_function(self._global_update, input_signature=[batch, _STOP])
        self._gradients = graph_function(self._replica_gradients, jit_compile=config.jit_compile)

    def __call__(self, batch: Mapping[str, tf.Tensor], stop: int | tf.Tensor) -> UpdateMetrics:
        """Make an update; return its measurements, the same on every worker.

        The batch is `source` int32 [B, Tx], `target` int32 [B, Ty], and `guide` float32 [B, Ty, Tx]
        for guided alignment; the same on every worker. `stop` is 1 if this one was asked to stop.
        """
        return self._update(batch, stop)

    def averaged_weights(self) -> contextlib.AbstractContextManager[None]:
        """Within the block, use the averages of the weights, if they are kept, in their place."""
        return replaced(self._model.trainable_variables, self.optimizer.weight_averages)

    def _global_update(self, batch: dict[str, tf.Tensor], stop: tf.Tensor) -> UpdateMetrics:
        results = self._strategy.run(self._replica_update, (batch, stop))
        return tf.nest.map_structure(
            lambda result: self._strategy.experimental_local_results(result)[0], results
        )

    def _replica_update(self, batch: dict[str, tf.Tensor], stop: tf.Tensor) -> UpdateMetrics:
        context = tf.distribute.get_replica_context()
        replica = context.replica_id_in_sync_group
        sentences = tf.shape(batch["target"])[0]
        self._seed_dropout(replica)
        # Every replica reads the whole batch and takes rows r, r + R, … of it: batches are then the
        # same for any number of replicas R, and the sizes of the parts differ by at most one row.
        rows = slice(replica, None, self._strategy.num_replicas_in_sync)
        part = {name: tensor[rows] for name, tensor in batch.items()}
        totals, gradients = self._gradients(part, sentences)
        rate = tf.cast(self.optimizer.learning_rate, tf.float32)
        norm = self.optimizer.update(gradients, self._model.trainable_variables)
        # Sums and counts are reduced, not means: replicas have unequal numbers of tokens and links.
        # One vector is one collective operation.
        counts = tf.stack([*tf.nest.flatten(totals), tf.cast(stop, tf.float32)])
        *sums, stops = tf.unstack(context.all_reduce(tf.distribute.ReduceOp.SUM, counts))
        losses = tf.nest.pack_sequence_as(totals, sums)
        return UpdateMetrics(losses, sentences, norm, rate, stops)

    def _seed_dropout(self, replica: int | tf.Tensor) -> None:
        """Set the random states from the seed, the replica and the update.

        So each replica draws its own masks, and a resumed training run draws the same masks as an
        uninterrupted one.
        """
        for variable, seed in self._seeds:
            offset = tf.cast(self.optimizer.iterations, tf.int64) * MASKS_PER_UPDATE
            state = tf.stack([seed + tf.cast(replica, tf.int64), offset])
            variable.value.assign(tf.cast(state, variable.dtype))

    def _replica_gradients(
        self, part: dict[str, tf.Tensor], sentences: tf.Tensor
    ) -> tuple[dict[str, LossTotal], list[tf.Tensor]]:
        """Compute losses, and gradients of their weighted sum over the batch's `sentences`.

        The divisor is the whole batch's, so that the replicas' gradients add up to the batch's.
        """
        weights = [weight.value for weight in self._model.trainable_variables]
        with tf.GradientTape() as tape:
            totals = self._compute_losses(part)
            loss = tf.add_n([self._loss_weights[name] * totals[name].sum for name in totals])
            loss /= tf.cast(sentences, loss.dtype)
        gradients = tape.gradient(loss, weights)
        paired = zip(self._model.trainable_variables, gradients, strict=True)
        if unused := [weight.path for weight, gradient in paired if gradient is None]:
            raise ValueError(f"{', '.join(unused)}: the loss does not depend on these weights")
        return totals, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def _compute_losses(self, part: dict[str, tf.Tensor]) -> dict[str, LossTotal]:
        """Compute the losses of shares that do not wait for each other, and add them."""
        with self._tracing():
            totals = [
                self._model.compute_losses(
                    {name: tensor[i :: self._shares] for name, tensor in part.items()},
                    self._loss_weights,
                    training=True,
                )
                for i in range(self._shares)
            ]
        return tf.nest.map_structure(lambda *sums: tf.add_n(sums), *totals)


@contextlib.contextmanager
def replaced(weights: Sequence[Any], averages: Sequence[Any]) -> Iterator[None]:
    """Assign the averages to the weights for the block; without averages, change nothing."""
    if not averages:
        yield
        return
    newest = [(weight, weight.numpy()) for weight in weights]
    for weight, average in zip(weights, averages, strict=True):
        weight.assign(average.numpy())
    try:
        yield
    finally:
        for weight, value in newest:
            weight.assign(value)


def seeds(model: TranslationModel) -> list[tuple[Any, int]]:
    """Return the states of the model's random numbers, each with its initial seed."""
    weights = {id(weight) for weight in model.weights}
    states = [variable for variable in model.variables if id(variable) not in weights]
    return [(state, int(state.numpy()[0])) for state in states]
