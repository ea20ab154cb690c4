"""One step of stochastic gradient descent (paper, appendix B.2), on any number of devices."""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.graph import graph_function
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.optimizer import build_optimizer

_SUM = tf.distribute.ReduceOp.SUM
_IDS = tf.TensorSpec([None, None], tf.int32)


_MASKS_OF_AN_UPDATE = 16  # more than any layer draws


class Batch(NamedTuple):
    """What one update tells, of the whole batch."""

    nll: tf.Tensor  # float32 [], nats, summed over the batch
    words: tf.Tensor  # float32 [], target tokens with </s>
    sentences: tf.Tensor  # int32 []
    gradient_norm: tf.Tensor  # float32 [], before clipping
    learning_rate: tf.Tensor  # float32 []
    stops: tf.Tensor  # float32 [], how many replicas were asked to stop


class Updater(tf.Module):
    """Updates a model's weights, a batch at a time.

    The loss is −log p(y|x), summed over a sentence's words and averaged over the batch's
    sentences; the gradient's norm is held to `gradient_norm`. Every worker is given the whole
    batch; of R replicas, replica r takes the rows r, r + R, r + 2R, …

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
        self._seeds = _seeds(model)
        self._gradients = graph_function(self._replica_gradients, jit_compile=config.jit_compile)

    @graph_function(input_signature=[_IDS, _IDS, tf.TensorSpec([], tf.int32)])
    def __call__(self, source: tf.Tensor, target: tf.Tensor, stop: tf.Tensor) -> Batch:
        """Update on ids int32 [B, Tx] and [B, Ty].

        Args:
            source: ids, the same on every worker.
            target: ids, likewise.
            stop: 1 where this worker was asked to stop, else 0; int32 [].
        """
        results = self._strategy.run(self._replica_update, (source, target, stop))
        first = [self._strategy.experimental_local_results(result)[0] for result in results]
        return Batch(*first)

    def _replica_update(self, source: tf.Tensor, target: tf.Tensor, stop: tf.Tensor) -> Batch:
        context = tf.distribute.get_replica_context()
        replicas = self._strategy.num_replicas_in_sync
        sentences = tf.shape(target)[0]
        self._seed_dropout(context.replica_id_in_sync_group)
        mine = slice(context.replica_id_in_sync_group, None, replicas)
        source, target = source[mine], target[mine]
        nll, words, gradients = self._gradients(source, target, sentences)
        rate = tf.cast(self.optimizer.learning_rate, tf.float32)
        norm = self.optimizer.update(gradients, self._model.trainable_variables)
        counts = tf.stack([nll, tf.cast(words, nll.dtype), tf.cast(stop, nll.dtype)])
        nll, words, stops = tf.unstack(context.all_reduce(_SUM, counts))
        return Batch(nll, words, sentences, norm, rate, stops)

    def _seed_dropout(self, replica: int | tf.Tensor) -> None:
        """Masks follow from the seed, the update and the replica: there is nothing to resume."""
        for variable, seed in self._seeds:
            place = tf.cast(self.optimizer.iterations, tf.int64) * _MASKS_OF_AN_UPDATE
            state = tf.stack([seed + tf.cast(replica, tf.int64), place])
            variable.assign(tf.cast(state, variable.dtype))

    def _replica_gradients(
        self, source: tf.Tensor, target: tf.Tensor, sentences: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Of some rows of a batch of `sentences`: NLL in nats, words, gradients."""
        weights = [weight.value for weight in self._model.trainable_variables]
        with tf.GradientTape() as tape:
            losses = self._model.word_losses(source, target, training=True)
            nll = tf.reduce_sum(losses)
            loss = nll / tf.cast(sentences, nll.dtype)
        gradients = tape.gradient(loss, weights)
        return nll, tf.size(losses), [tf.convert_to_tensor(gradient) for gradient in gradients]


def _seeds(model: TranslationModel) -> list[tuple[tf.Variable, int]]:
    """The states of the model's random numbers, each with the seed that it began with."""
    weights = {id(weight) for weight in model.weights}
    states = [variable.value for variable in model.variables if id(variable) not in weights]
    return [(state, int(tf.convert_to_tensor(state)[0])) for state in states]
