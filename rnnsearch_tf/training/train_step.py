"""One step of stochastic gradient descent (paper, appendix B.2), on any number of devices."""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.tf_functions import graph_function
from rnnsearch_tf.training.optimizers import build_optimizer

_SUM = tf.distribute.ReduceOp.SUM
_IDS = tf.TensorSpec([None, None], tf.int32)
_GUIDE = tf.TensorSpec([None, None, None], tf.float32)
_STOP = tf.TensorSpec([], tf.int32)

_MASKS_OF_AN_UPDATE = 16  # more than any layer draws


class Batch(NamedTuple):
    """What one update tells, of the whole batch."""

    nll: tf.Tensor  # float32 [], nats, summed over the batch
    words: tf.Tensor  # float32 [], target tokens with </s>
    sentences: tf.Tensor  # int32 []
    gradient_norm: tf.Tensor  # float32 [], before clipping
    learning_rate: tf.Tensor  # float32 []
    stops: tf.Tensor  # float32 [], how many replicas were asked to stop
    guide_loss: tf.Tensor  # float32 [], nats, Σ H(A_i, α_i) over the linked words of the batch
    linked: tf.Tensor  # float32 [], target words that the guide has links of


class _Sums(NamedTuple):
    """Over some rows of a batch; all float32 []."""

    nll: tf.Tensor
    words: tf.Tensor
    guide_loss: tf.Tensor
    linked: tf.Tensor


class TrainStep(tf.Module):
    """Updates a model's weights, a batch at a time.

    The loss is −log p(y|x), summed over a sentence's words and averaged over the batch's
    sentences; the gradient's norm is held to `gradient_norm`. Every worker is given the whole
    batch; of R replicas, replica r takes the rows r, r + R, r + 2R, …

    Guided by word links A, the loss is the mean over sentences of
        Σ_i −log p(y_i | y_<i, x) + w Σ_i H(A_i, α_i),
    w being `config.guided_alignment_weight` and H that of `losses.alignment_cross_entropy`.

    Args:
        model: to be trained; built under the strategy.
        config: optimiser, step scale and norm, and whether XLA compiles.
        total_updates: where linear decay of the step reaches zero.
        strategy: the devices.
    """

    def __init__(
        self,
        model: TranslationModel,
        config: TrainingConfig,
        total_updates: int,
        strategy: tf.distribute.Strategy | None = None,
    ):
        super().__init__()
        self._strategy = strategy or tf.distribute.get_strategy()
        with self._strategy.scope():
            self.optimizer = build_optimizer(config, total_updates)
            self.optimizer.build(model.trainable_variables)
        self._model = model
        self._guidance = config.guided_alignment_weight
        self._seeds = _seeds(model)
        self._gradients = graph_function(self._replica_gradients, jit_compile=config.jit_compile)

    @graph_function(input_signature=[_IDS, _IDS, _STOP])
    def __call__(self, source: tf.Tensor, target: tf.Tensor, stop: tf.Tensor) -> Batch:
        """Update on ids int32 [B, Tx] and [B, Ty].

        Args:
            source: ids, the same on every worker.
            target: ids, likewise.
            stop: 1 where this worker was asked to stop, else 0; int32 [].
        """
        return self._update((source, target), stop)

    @graph_function(input_signature=[_IDS, _IDS, _GUIDE, _STOP])
    def guided(
        self, source: tf.Tensor, target: tf.Tensor, guide: tf.Tensor, stop: tf.Tensor
    ) -> Batch:
        """Update on ids int32 [B, Tx] and [B, Ty] and their links.

        Args:
            source: ids, the same on every worker.
            target: ids, likewise.
            guide: A, likewise, float32 [B, Ty, Tx]; a row is uniform over its word's links, or 0.
            stop: 1 where this worker was asked to stop, else 0; int32 [].
        """
        return self._update((source, target, guide), stop)

    def _update(self, batch: tuple[tf.Tensor, ...], stop: tf.Tensor) -> Batch:
        results = self._strategy.run(self._replica_update, (batch, stop))
        first = [self._strategy.experimental_local_results(result)[0] for result in results]
        return Batch(*first)

    def _replica_update(self, batch: tuple[tf.Tensor, ...], stop: tf.Tensor) -> Batch:
        context = tf.distribute.get_replica_context()
        replicas = self._strategy.num_replicas_in_sync
        sentences = tf.shape(batch[1])[0]
        self._seed_dropout(context.replica_id_in_sync_group)
        mine = slice(context.replica_id_in_sync_group, None, replicas)
        sums, gradients = self._gradients([rows[mine] for rows in batch], sentences)
        rate = tf.cast(self.optimizer.learning_rate, tf.float32)
        norm = self.optimizer.update(gradients, self._model.trainable_variables)
        counts = tf.stack([*sums, tf.cast(stop, tf.float32)])
        *totals, stops = tf.unstack(context.all_reduce(_SUM, counts))
        total = _Sums(*totals)
        return Batch(
            total.nll, total.words, sentences, norm, rate, stops, total.guide_loss, total.linked
        )

    def _seed_dropout(self, replica: int | tf.Tensor) -> None:
        """Masks follow from the seed, the update and the replica: there is nothing to resume."""
        for variable, seed in self._seeds:
            place = tf.cast(self.optimizer.iterations, tf.int64) * _MASKS_OF_AN_UPDATE
            state = tf.stack([seed + tf.cast(replica, tf.int64), place])
            variable.assign(tf.cast(state, variable.dtype))

    def _replica_gradients(
        self, rows: list[tf.Tensor], sentences: tf.Tensor
    ) -> tuple[_Sums, list[tf.Tensor]]:
        """Of some rows of a batch of `sentences`: what they sum to, and gradients."""
        weights = [weight.value for weight in self._model.trainable_variables]
        with tf.GradientTape() as tape:
            sums = self._sums(*rows)
            loss = sums.nll
            if len(rows) == 3:
                loss += self._guidance * sums.guide_loss
            loss /= tf.cast(sentences, loss.dtype)
        gradients = tape.gradient(loss, weights)
        return sums, [tf.convert_to_tensor(gradient) for gradient in gradients]

    def _sums(self, source: tf.Tensor, target: tf.Tensor, guide: tf.Tensor | None = None) -> _Sums:
        if guide is None:
            losses = self._model.token_losses(source, target, training=True)
            guide_loss, linked = tf.zeros([]), tf.zeros([])
        else:
            losses, distances = self._model.guided_losses(source, target, guide, training=True)
            guide_loss = tf.reduce_sum(distances)
            linked = tf.math.count_nonzero(tf.reduce_max(guide, axis=-1), dtype=tf.float32)
        words = tf.cast(tf.size(losses), tf.float32)
        return _Sums(tf.reduce_sum(losses), words, guide_loss, linked)


def _seeds(model: TranslationModel) -> list[tuple[tf.Variable, int]]:
    """The states of the model's random numbers, each with the seed that it began with."""
    weights = {id(weight) for weight in model.weights}
    states = [variable.value for variable in model.variables if id(variable) not in weights]
    return [(state, int(tf.convert_to_tensor(state)[0])) for state in states]
