"""RNNsearch and RNNencdec as functional Keras models."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.decoder import Decoder, DecoderState, DecoderStep
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.models.losses import LOSSES, LossTotal, token_losses

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Float, Int, Tensor


class TranslationModel(keras.Model):
    """p(y|x) as a functional model, with its layers as attributes.

    Inputs: `source` int32 [B, Tx] and `target` int32 [B, Ty], each sentence ending in `</s>`,
    then padding 0. Output: logits [B, Ty, K], where `logits[:, i]` predicts `target[:, i]` from
    `target[:, :i]`; the model shifts by itself.

    Attributes:
        config: architecture and sizes.
        encoder: source ids to annotations.
        decoder: the recurrence of the target side; `decoder.bind` translates word by word.
        readout: decoder outputs to logits.
        decoder_outputs: a model of the same inputs whose output is the `DecoderState` [B, Ty, ...]
            that the readout reads, for uses that need no logits (alignments) or only those of real
            tokens (losses).
    """

    def __init__(self, config: ModelConfig, name: str | None = None):
        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        encoder, decoder, readout = _layers(config)
        annotations, summary = encoder(source)
        outputs = decoder(target, annotations, summary, ops.not_equal(source, 0))
        logits = readout(outputs.state, outputs.words, outputs.context)
        inputs = {"source": source, "target": target}
        super().__init__(inputs, logits, name=name or config.architecture)
        self.config = config
        self.encoder = encoder
        self.decoder = decoder
        self.readout = readout
        self.decoder_outputs = keras.Model(inputs, outputs, name="decoder_outputs")

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Train by `keras.Model.fit`, on one device or under MirroredStrategy.

        Batches are ({"source": ids, "target": ids}, the target ids again); compile with
        `losses.SentenceLoss` and `optimizers.build_optimizer`, both under the strategy.

        Raises:
            ValueError: a strategy of several machines, which Keras's loop does not support.
        """
        strategy = getattr(self, "distribute_strategy", None)
        if getattr(strategy, "cluster_resolver", None) is not None:
            raise ValueError(
                "fit works on one machine; rnnsearch-train --strategy=multi_worker, or "
                "training.run.train with that strategy, trains on several"
            )
        return super().fit(*args, **kwargs)

    def bind(self, source: Int[Tensor, "B Tx"]) -> DecoderStep:
        """Encode source ids, and return the decoder before their first target word."""
        annotations, summary = self.encoder(source)
        return self.decoder.bind(annotations, summary, ops.not_equal(source, 0))

    def compute_losses(
        self, batch: Mapping[str, Any], names: Iterable[str], training: bool = False
    ) -> dict[str, LossTotal]:
        """Compute losses of a batch; the decoder runs once for all of them.

        Args:
            batch: `source` int32 [B, Tx], `target` int32 [B, Ty], and what else the losses need:
                `guide` float32 [B, Ty, Tx] for "guided_alignment".
            names: of losses in `losses.LOSSES`.
            training: whether dropout acts.

        Returns:
            By name, the sum in nats over the batch and the number of items it is over.
        """
        outputs = self._read(batch["source"], batch["target"], training)
        return {name: LOSSES[name](self, batch, outputs, training) for name in names}

    def token_losses(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"], training: bool = False
    ) -> Float[Tensor, "N"]:
        """−log p(y_i | y_1 … y_{i-1}, x) of the target's tokens, in nats.

        Args:
            source: ids.
            target: ids.
            training: whether dropout acts.

        Returns:
            float32, of the N tokens of `target` (`</s>` counted) sentence by sentence.
        """
        return token_losses(self.readout, self._read(source, target, training), target, training)

    def alignment(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"]
    ) -> Float[Tensor, "B Ty Tx"]:
        """α of given pairs of ids, float32."""
        return self._read(source, target, training=False).alignment

    def predict_token(self, outputs: DecoderState) -> Float[Tensor, "R K"]:
        """Logits of the next token, from decoder outputs [R, ...]."""
        return self.readout(outputs.state, outputs.words, outputs.context)

    def _read(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"], training: bool
    ) -> DecoderState:
        """Read given pairs by teacher forcing: decoder outputs [B, Ty, ...]."""
        return self.decoder_outputs({"source": source, "target": target}, training=training)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of `from_config`."""
        return {"config": dataclasses.asdict(self.config), "name": self.name}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> TranslationModel:
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
