"""RNNsearch and RNNencdec as functional Keras models."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
from keras import ops

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.decoder import Decoder, DecoderOutputs
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.losses import LOSSES, LossTotal, check_sentence_weights, token_losses
from rnnsearch_tf.models.translation_step import Candidates, StepWeights, TranslationStep
from rnnsearch_tf.tensor_types import Float, Int, Tensor


def _target(x: Any, y: Any = None) -> Any:
    """Return y, or the target in the arrays x: Keras ignores `sample_weight` without a y.

    ValueError for other arrays, batches with a guide, and a y that is not the target.
    """
    if isinstance(x, list | tuple) or hasattr(x, "shape"):
        raise ValueError('fit takes arrays as {"source": ids, "target": ids}')
    batch = getattr(x, "element_spec", x)
    if isinstance(batch, tuple):
        batch = batch[0]
    if isinstance(batch, Mapping) and not {"source", "target"} <= set(batch):
        raise ValueError(f"batches need source and target, and have {', '.join(batch)}")
    if isinstance(batch, Mapping) and "guide" in batch:
        raise ValueError("fit has no guided alignment loss, so give it batches without `guide`")
    if y is None or not isinstance(x, Mapping):
        return x["target"] if isinstance(x, Mapping) else y
    if y is not x["target"] and not np.array_equal(*map(ops.convert_to_numpy, (x["target"], y))):
        raise ValueError("y must be the target as it is, or absent: the model shifts it itself")
    return y


@keras.saving.register_keras_serializable("rnnsearch_tf")
class TranslationModel(keras.Model):
    """p(y|x) as a functional model, with its layers as attributes.

    Inputs: `source` int32 [B, Tx] and `target` int32 [B, Ty], each sentence ending in `</s>`,
    then padding 0. Output: logits [B, Ty, K], where `logits[:, i]` predicts `target[:, i]` from
    `target[:, :i]`; the model shifts the target itself. The layers use the global Keras dtype
    policy at the time of construction.

    Args:
        config: a `ModelConfig`, such as `PRESETS["rnnsearch-50"].model`; TypeError for another.
        name: by default the architecture.

    Attributes:
        config: architecture and sizes.
        encoder: source ids to annotations.
        decoder: the recurrence of the target side, for given translations.
        readout: decoder outputs to logits.

    Examples:
        A sentence of three tokens, K_x = 11, and a translation of four, K_y = 13:

        >>> model = TranslationModel(ModelConfig("rnnsearch", 11, 13, 3, 5, 7, 2))
        >>> source, target = keras.ops.array([[4, 9, 1]]), keras.ops.array([[5, 12, 7, 1]])
        >>> print(model({"source": source, "target": target}).shape)
        (1, 4, 13)
        >>> print(model.token_losses(source, target).shape, model.alignment(source, target).shape)
        (4,) (1, 4, 3)
        >>> step = model.bind(source)
        >>> print(step.predict_token(step.start()).shape)
        (1, 13)
    """

    def __init__(self, config: ModelConfig, name: str | None = None):
        if not isinstance(config, ModelConfig):
            raise TypeError(
                'config: expected a ModelConfig, such as PRESETS["rnnsearch-small"].model, not '
                f"{type(config).__name__}"
            )
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

    def fit(self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Train by `keras.Model.fit`, on one device or under MirroredStrategy.

        Batches are {"source": ids, "target": ids}, as `data.batching.training_batches` makes them;
        compile with `losses.SentenceLoss` and, on TensorFlow, `optimizers.build_optimizer`, both
        under the strategy. The loss leaves padding out. Keras's metrics count it, except those that
        can ignore an id: `SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)`.

        Raises:
            ValueError: a strategy of several machines, which Keras's loop does not support;
                batches with a `guide`, which `fit` would ignore; arrays with a y that is not the
                target, which the model shifts itself; label smoothing; R-Drop; an average of the
                weights, with which Keras overwrites the weights at the end of each `fit`; a
                `class_weight`, which Keras would look up by the positions of words.
        """
        self._check_fit(kwargs.get("class_weight"))
        check_sentence_weights(kwargs.get("sample_weight"))  # before anything is traced
        validation = kwargs.get("validation_data")
        if isinstance(validation, tuple):
            x_and_y = validation[0], _target(*validation[:2])
            kwargs["validation_data"] = (*x_and_y, *validation[2:])
        return super().fit(x, _target(x, y), *args, **kwargs)

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        **kwargs: Any,
    ) -> Any:
        """Make an update by `keras.Model.train_on_batch`; batches and errors as in `fit`."""
        self._check_fit(class_weight)
        check_sentence_weights(sample_weight)
        return super().train_on_batch(x, _target(x, y), sample_weight, **kwargs)

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, **kwargs: Any) -> Any:
        """Evaluate a batch by `keras.Model.test_on_batch`; batches and errors as in `fit`."""
        return super().test_on_batch(x, _target(x, y), sample_weight, **kwargs)

    def _check_fit(self, class_weight: Any) -> None:
        strategy = getattr(self, "distribute_strategy", None)
        if getattr(strategy, "cluster_resolver", None) is not None:
            raise ValueError(
                "fit works on one machine; rnnsearch-train --strategy=multi_worker, or "
                "training.run.train with that strategy, trains on several"
            )
        if class_weight is not None:
            raise ValueError("fit has no weights of words; sample_weight has those of sentences")
        if self.config.label_smoothing or self.config.r_drop:
            raise ValueError("fit has neither label smoothing nor R-Drop; training.run.train does")
        if getattr(getattr(self, "optimizer", None), "use_ema", False):
            raise ValueError("fit takes no average of the weights; training.run.train does")

    def evaluate(self, x: Any = None, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Evaluate by `keras.Model.evaluate`; batches and errors as in `fit`."""
        return super().evaluate(x, _target(x, y), *args, **kwargs)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Compute the loss of `compile`; y is the target, whatever a dataset has beside it."""
        return super().compute_loss(x, x["target"], y_pred, *args, **kwargs)

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the metrics of `compile`, of the same y as the loss."""
        return super().compute_metrics(x, x["target"], y_pred, *args, **kwargs)

    @property
    def has_attention(self) -> bool:
        """Whether the model has attention, and so can align; as in its config."""
        return self.config.has_attention

    def bind(
        self,
        source: Int[Tensor, "B Tx"],
        candidates: Candidates | None = None,
        weights: StepWeights | None = None,
    ) -> TranslationStep:
        """Encode source ids, and return the model before their first target word.

        Args:
            source: ids.
            candidates: the words that are predicted; None: all.
            weights: from `step_weights`; by default computed here, in the policy's dtype.
        """
        source = ops.convert_to_tensor(source)
        annotations, summary = self.encoder(source)
        mask = ops.not_equal(source, 0)
        return TranslationStep(
            self.decoder, self.readout, annotations, summary, mask, candidates, weights
        )

    def step_weights(self, bfloat16: bool, all_words: bool, tabulate: bool = False) -> StepWeights:
        """Compute what `bind` needs of the weights, outside a loop.

        Args:
            bfloat16: whether each step's products are in bfloat16.
            all_words: whether all words are predicted, not candidates.
            tabulate: whether to compute here, for many searches to use, the products of all target
                words, if they take no more than 64 MiB, and with candidates also W_oᵀ.
        """
        return StepWeights.of(self.decoder, self.readout, bfloat16, all_words, tabulate)

    def compute_losses(
        self, batch: Mapping[str, Any], names: Iterable[str], training: bool = False
    ) -> dict[str, LossTotal]:
        """Compute losses of a batch; the decoder runs once for all of them.

        Args:
            batch: `source` int32 [B, Tx], `target` int32 [B, Ty], and what else the losses need:
                `guide` float32 [B, Ty, Tx], the given alignment, for "guided_alignment".
            names: of losses in `losses.LOSSES`.
            training: whether dropout acts.

        Returns:
            By name, the sum in nats over the batch and the number of items it is over.
        """
        source, target = batch["source"], batch["target"]
        if training and self.config.r_drop:
            source, target = (ops.concatenate([ids, ids]) for ids in (source, target))
        outputs = self.decoder_outputs(source, target, training)
        return {name: LOSSES[name](self, batch, outputs, training) for name in names}

    def token_losses(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"]
    ) -> Float[Tensor, "N"]:
        """−log p(y_i | y_1 … y_{i-1}, x) of the tokens of given ids, in nats, without dropout.

        Returns:
            float32, of the N tokens of `target` (`</s>` counted) sentence by sentence. JAX's `jit`
            cannot know N: use `compute_losses` there.
        """
        target = ops.convert_to_tensor(target)
        return token_losses(self.readout, self.decoder_outputs(source, target), target)

    def alignment(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"]
    ) -> Float[Tensor, "B Ty Tx"]:
        """α of given pairs of ids, in the dtype of the weights."""
        return ops.transpose(self.decoder_outputs(source, target).alignment, (1, 0, 2))

    def decoder_outputs(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"], training: bool = False
    ) -> DecoderOutputs:
        """Compute what the readout reads at each position of given pairs of ids: [Ty, B, ...]."""
        source, target = ops.convert_to_tensor(source), ops.convert_to_tensor(target)
        annotations, summary = self.encoder(source, training=training)
        mask = ops.not_equal(source, 0)
        # By a call, so that Keras passes `training` on to an attention with dropout.
        return self.decoder(
            target, annotations, summary, mask, training=training, positions_first=True
        )

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of `from_config`."""
        return {
            "config": dataclasses.asdict(self.config),
            "name": self.name,
            "dtype": self.dtype_policy.name,
            "trainable": [layer.trainable for layer in self.layers],
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> TranslationModel:
        """Rebuild a model from `get_config`, with fresh weights."""
        with dtype_policy(config["dtype"]):
            model = cls(ModelConfig(**config["config"]), name=config["name"])
        for layer, trainable in zip(model.layers, config["trainable"], strict=True):
            layer.trainable = trainable
        return model

    def load_weights(self, filepath: Any, *args: Any, **kwargs: Any) -> None:
        """Read a weights file, also one that has the encoder's cells under their earlier names."""
        if not (str(filepath).endswith(".weights.h5") and Path(filepath).exists()):
            return super().load_weights(filepath, *args, **kwargs)
        cells = {"forward": self.encoder.forward_cell, "backward": self.encoder.backward_cell}
        read = []
        with h5py.File(filepath, "r") as file:
            for name, cell in cells.items():
                if cell is not None and (path := f"layers/encoder/{name}/vars") in file:
                    cell.load_own_variables({key: array[()] for key, array in file[path].items()})
                    read.append(cell)
        return super().load_weights(filepath, *args, objects_to_skip=read, **kwargs)


def _layers(config: ModelConfig) -> tuple[Encoder, Decoder, MaxoutDeepOutput]:
    shared: dict[str, Any] = {"dropout": config.dropout, "initial_weights": config.initial_weights}
    encoder = Encoder(
        config.source_vocabulary_size,
        config.embedding_size,
        config.hidden_size,
        bidirectional=config.has_attention,
        with_words=config.lexical_model,
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
        config.maxout_size,
        config.target_vocabulary_size,
        tied_to=decoder.embedding if config.tied_embeddings else None,
        lexical=config.lexical_model,
        name="readout",
        **shared,
    )
    return encoder, decoder, readout


def _attention(config: ModelConfig) -> keras.layers.Layer:
    if config.has_attention:
        return BahdanauAttention(config.attention_size, config.initial_weights, name="attention")
    return LastAnnotation(name="attention")
