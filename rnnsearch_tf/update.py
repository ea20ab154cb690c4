"""One step of stochastic gradient descent (paper, appendix B.2)."""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.optimizer import build_optimizer, clip_to_norm


class Batch(NamedTuple):
    """What one update tells."""

    nll: tf.Tensor  # float32 [], nats, summed over the batch
    words: tf.Tensor  # int32 [], target tokens with </s>
    sentences: tf.Tensor  # int32 []
    gradient_norm: tf.Tensor  # float32 [], before clipping


class Updater(tf.Module):
    """Updates a model's weights, a batch at a time.

    The loss is −log p(y|x), summed over a sentence's words and averaged over the batch's
    sentences; the gradient's norm is held to `gradient_norm`.

    Args:
        model: to be trained.
        config: optimiser, step scale and norm.
        total_updates: where linear decay of the step reaches zero.
    """

    def __init__(self, model: TranslationModel, config: TrainingConfig, total_updates: int):
        super().__init__()
        self.optimizer = build_optimizer(config, total_updates)
        self.optimizer.build(model.trainable_variables)
        self._model = model
        self._limit = config.gradient_norm

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2)
    def __call__(self, source: tf.Tensor, target: tf.Tensor) -> Batch:
        """Update on ids int32 [B, Tx] and [B, Ty]."""
        weights = [weight.value for weight in self._model.trainable_variables]
        sentences = tf.shape(target)[0]
        with tf.GradientTape() as tape:
            losses = self._model.word_losses(source, target, training=True)
            nll = tf.reduce_sum(losses)
            loss = nll / tf.cast(sentences, nll.dtype)
        gradients, norm = clip_to_norm(tape.gradient(loss, weights), self._limit)
        self.optimizer.apply(gradients, self._model.trainable_variables)
        return Batch(nll, tf.size(losses), sentences, norm)
