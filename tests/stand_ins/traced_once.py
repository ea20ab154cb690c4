"""Training runs of one process that reuse what earlier ones of the same settings have traced."""

import functools
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training import distribution, run, trainer
from rnnsearch_tf.training.train_step import TrainStep


class _Fresh:
    """An object whose variables can all be set back to what they were at first."""

    def __init__(self, value: Any, variables: Iterable[keras.Variable]):
        self._value = value
        self._first = [(variable, np.array(variable)) for variable in variables]

    def __call__(self) -> Any:
        for variable, first in self._first:
            variable.assign(first)
        return self._value


def use(patch: pytest.MonkeyPatch) -> None:
    """Let training runs of the same settings, seed and number of updates share models and steps.

    Each begins with the weights, averages, counts and random states of a new one. A training run
    that only seems to resume exactly, since these were left over from the one before it, is seen.
    """

    @functools.cache
    def model_for(config: ModelConfig, policy: str) -> _Fresh:
        model = TranslationModel(config)
        return _Fresh(model, model.variables)

    @functools.cache
    def step_for(
        model: TranslationModel,
        config: TrainingConfig,
        total: int,
        strategy: tf.distribute.Strategy,
    ) -> _Fresh:
        step = TrainStep(model, config, total, strategy)
        return _Fresh(step, step.optimizer.variables)

    def new_model(config: ModelConfig) -> TranslationModel:
        return model_for(config, keras.config.dtype_policy().name)()

    def new_step(
        model: TranslationModel,
        config: TrainingConfig,
        total: int,
        strategy: tf.distribute.Strategy,
    ) -> TrainStep:
        with strategy.scope():
            return step_for(model, config, total, strategy)()

    patch.setattr(run, "TranslationModel", new_model)
    patch.setattr(trainer, "TrainStep", new_step)
    patch.setattr(distribution, "build_strategy", functools.cache(distribution.build_strategy))
