"""Several models that translate as one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from keras import ops

from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import (
    Candidates,
    Carried,
    Memory,
    StepOutputs,
    StepWeights,
    TranslationStep,
)
from rnnsearch_tf.tensor_types import Float, Int, Tensor

States = tuple[StepOutputs, ...]


class Ensemble:
    """The mean of the models' distributions at each step.

        p(y_i | y_<i, x) = 1/M Σ_m p_m(y_i | y_<i, x)

    Args:
        models: M of them, over the same vocabularies.

    Raises:
        ValueError: no models, or vocabularies of different sizes.
    """

    def __init__(self, models: Sequence[TranslationModel]):
        sizes = {
            (model.config.source_vocabulary_size, model.config.target_vocabulary_size)
            for model in models
        }
        if len(sizes) != 1:
            raise ValueError(
                "an ensemble needs models over the same vocabularies; "
                f"their sizes (source, target) are {sorted(sizes)}"
            )
        self._models = tuple(models)

    def bind(
        self,
        source: Int[Tensor, "B Tx"],
        candidates: Candidates | None = None,
        weights: Sequence[StepWeights] | None = None,
    ) -> EnsembleStep:
        """Encode source ids, and return the decoders; as `TranslationModel.bind`."""
        given = [None] * len(self._models) if weights is None else weights
        parts = zip(self._models, given, strict=True)
        return EnsembleStep([model.bind(source, candidates, own) for model, own in parts])

    def step_weights(
        self, bfloat16: bool, all_words: bool, tabulate: bool = False
    ) -> list[StepWeights]:
        """Compute those of each model; as `TranslationModel.step_weights`."""
        return [model.step_weights(bfloat16, all_words, tabulate) for model in self._models]

    def __call__(self, inputs: Mapping[str, Any]) -> Float[Tensor, "B Ty K"]:
        """Return log p of given targets, float32, in place of the logits of `TranslationModel`."""
        return _log_mean_softmax([model(inputs) for model in self._models])

    def token_losses(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"]
    ) -> Float[Tensor, "N"]:
        """−log p(y_i | y_<i, x) of the target's tokens, as `TranslationModel.token_losses`."""
        return -_log_mean([-model.token_losses(source, target) for model in self._models])

    @property
    def has_attention(self) -> bool:
        """Whether at least one model has attention, and so can align."""
        return any(model.has_attention for model in self._models)

    def alignment(
        self, source: Int[Tensor, "B Tx"], target: Int[Tensor, "B Ty"]
    ) -> Float[Tensor, "B Ty Tx"]:
        """The mean of α over the models with attention; as `TranslationModel.alignment`."""
        models = [model for model in self._models if model.has_attention] or self._models
        return ops.mean(ops.stack([m.alignment(source, target) for m in models]), axis=0)


class EnsembleStep:
    """The models of an ensemble, bound to source sentences, for one token at a time."""

    def __init__(self, steps: Sequence[TranslationStep]):
        self._steps = steps
        self.memory = tuple(step.memory for step in steps)

    def start(self) -> States:
        """Return the outputs from which the models predict y_1, [B, ...]."""
        return tuple(step.start() for step in self._steps)

    @staticmethod
    def carried(outputs: States) -> tuple[Carried, ...]:
        """Return the part of the outputs that `advance` reads."""
        return tuple(of_model.carried for of_model in outputs)

    def advance(
        self,
        previous: tuple[Carried, ...],
        word: Int[Tensor, "*rows"],
        memory: tuple[Memory, ...] | None = None,
    ) -> States:
        """Return the outputs from which y_{i+1} is predicted; as `TranslationStep.advance`."""
        parts = zip(self._steps, previous, memory or self.memory, strict=True)
        return tuple(step.advance(outputs, word, part) for step, outputs, part in parts)

    def predict_token(
        self, outputs: States, memory: tuple[Memory, ...] | None = None
    ) -> Float[Tensor, "*rows K_or_C"]:
        """Return log p of the next token, float32; as `TranslationStep.predict_token`."""
        parts = zip(self._steps, outputs, memory or self.memory, strict=True)
        return _log_mean_softmax([step.predict_token(rows, part) for step, rows, part in parts])


def _log_mean(log_probs: Sequence[Float[Tensor, "*rows"]]) -> Float[Tensor, "*rows"]:
    return ops.logsumexp(ops.stack(list(log_probs)), axis=0) - math.log(len(log_probs))


def _log_mean_softmax(logits: Sequence[Float[Tensor, "*rows K"]]) -> Float[Tensor, "*rows K"]:
    return _log_mean([ops.log_softmax(ops.cast(x, "float32")) for x in logits])
