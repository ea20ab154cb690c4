"""RNNsearch and RNNencdec as functional Keras models."""

import dataclasses
from typing import Any

import keras
from keras import ops

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.decoder import Decoder, DecoderState, DecoderStep
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.models.losses import alignment_cross_entropy, output_cross_entropy


class TranslationModel(keras.Model):
    """p(y|x) as a functional model with its parts at hand.

    Inputs: `source` int32 [B, Tx] and `target` int32 [B, Ty], each sentence ending in `</s>`,
    then padding 0. Output: logits [B, Ty, K], where `logits[:, i]` scores `target[:, i]` given
    `target[:, :i]`; the model shifts by itself.

    Attributes:
        encoder: source ids to annotations.
        decoder: the recurrence of the target side; `decoder.bind` translates word by word.
        readout: what the decoder saw to logits.
        trunk: the same inputs to the `DecoderState` [B, Ty, ...] that the readout reads, for
            uses that need no logits (alignments) or not all of them (the training loss).
    """

    def __init__(self, config: ModelConfig, name: str | None = None):
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        encoder, decoder, readout = _layers(config)
        annotations, summary = encoder(source)
        seen = decoder(target, annotations, summary, ops.not_equal(source, 0))
        logits = readout(seen.state, seen.words, seen.context)
        inputs = {"source": source, "target": target}
        super().__init__(inputs, logits, name=name or config.architecture)
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        self.readout = readout
        self.trunk = keras.Model(inputs, seen, name="trunk")

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """`keras.Model.fit`, on one device or under MirroredStrategy.

        Batches are ({"source": ids, "target": ids}, the target ids again); compile with
        `losses.SentenceLoss` and `optimizer.build_optimizer`, both under the strategy.

        Raises:
            ValueError: under a strategy of several machines, which Keras's loop does not serve.
        """
        strategy = getattr(self, "distribute_strategy", None)
        if getattr(strategy, "cluster_resolver", None) is not None:
            raise ValueError(
                "fit works on one machine; rnnsearch-train --strategy=multi_worker, or "
                "experiment.train with that strategy, trains on several"
            )
        return super().fit(*args, **kwargs)

    def bind(self, source: Any) -> DecoderStep:
        """Encode source ids [B, Tx] and stand before the first word of their translations."""
        annotations, summary = self.encoder(source)
        return self.decoder.bind(annotations, summary, ops.not_equal(source, 0))

    def token_losses(self, source: Any, target: Any, training: bool = False) -> Any:
        """−log p(y_i | y_1 … y_{i-1}, x) of the real words, in nats.

        Padding is gathered out before the softmax.

        Args:
            source: ids int32 [B, Tx].
            target: ids int32 [B, Ty].
            training: whether dropout acts.

        Returns:
            float32 [N], the N words of `target` (`</s>` counted) sentence by sentence.
        """
        seen = self.trunk({"source": source, "target": target}, training=training)
        return self._token_losses(seen, target, training)

    def guided_losses(
        self, source: Any, target: Any, guide: Any, training: bool = False
    ) -> tuple[Any, Any]:
        """What `token_losses` gives, and how far the attention is from given links, in nats.

        One pass of the decoder serves both.

        Args:
            source: ids int32 [B, Tx].
            target: ids int32 [B, Ty].
            guide: A, float32 [B, Ty, Tx]; a row is uniform over its word's links, or all 0.
            training: whether dropout acts.

        Returns:
            `token_losses`, float32 [N], and `losses.alignment_cross_entropy`, float32 [B, Ty].
        """
        seen = self.trunk({"source": source, "target": target}, training=training)
        losses = self._token_losses(seen, target, training)
        return losses, alignment_cross_entropy(seen.alignment, guide)

    def _token_losses(self, seen: DecoderState, target: Any, training: bool) -> Any:
        words = ops.reshape(target, (-1,))
        real = ops.nonzero(words)[0]

        def at_words(x: Any) -> Any:
            return ops.take(ops.reshape(x, (-1, x.shape[-1])), real, axis=0)

        hidden = self.readout.maxout(
            at_words(seen.state), at_words(seen.words), at_words(seen.context), training
        )
        targets = ops.take(words, real)
        return output_cross_entropy(hidden, self.readout.W_o, self.readout.b, targets)

    def alignment(self, source: Any, target: Any) -> Any:
        """α of given pairs, float32 [B, Ty, Tx], from ids [B, Tx] and [B, Ty]."""
        return self.trunk({"source": source, "target": target}, training=False).alignment

    def predict_token(self, seen: DecoderState) -> Any:
        """What the decoder saw, [R, ...], to logits [R, K] of the next word."""
        return self.readout(seen.state, seen.words, seen.context)

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this model."""
        return {"config": dataclasses.asdict(self.config), "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> "TranslationModel":
        """Rebuild a model from `get_config`, with fresh weights."""
        return cls(ModelConfig(**config["config"]), name=config["name"])


def _layers(config: ModelConfig) -> tuple[Encoder, Decoder, MaxoutDeepOutput]:
    shared: dict[str, Any] = {"dropout": config.dropout, "initial_weights": config.initial_weights}
    encoder = Encoder(
        config.source_vocabulary_size,
        config.embedding_size,
        config.hidden_size,
        bidirectional=config.has_attention,
        name="source_side",
        **shared,
    )
    decoder = Decoder(
        config.target_vocabulary_size,
        config.embedding_size,
        config.hidden_size,
        _attention(config),
        config.step_order,
        name="target_side",
        **shared,
    )
    readout = MaxoutDeepOutput(
        config.maxout_size, config.target_vocabulary_size, name="readout", **shared
    )
    return encoder, decoder, readout


def _attention(config: ModelConfig) -> keras.layers.Layer:
    if config.has_attention:
        return BahdanauAttention(config.attention_size, config.initial_weights, name="attention")
    return LastAnnotation(name="attention")
