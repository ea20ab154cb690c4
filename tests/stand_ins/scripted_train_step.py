"""Updates that trace nothing, for tests of what a training run does around them."""

import itertools
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf import files
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training import trainer
from rnnsearch_tf.training.checkpoints import Checkpoints
from rnnsearch_tf.training.train_step import TrainStep, UpdateMetrics

_SECONDS = 0.02  # of a slow update, so that a signal can come between two


class ScriptedTrainStep(TrainStep):
    """Moves every weight by a number that depends on the batch and on the number of updates."""

    def __init__(self, model: TranslationModel, *arguments: Any):
        super().__init__(model, *arguments)
        self._weights = [weight.value for weight in model.trainable_variables]
        self._ones = [tf.ones(weight.shape) for weight in self._weights]

    def __call__(self, batch: Mapping[str, tf.Tensor], stop: int | tf.Tensor) -> UpdateMetrics:
        self.optimizer.iterations.assign_add(1)
        rows = np.arange(1, len(batch["source"]) + 1)[:, np.newaxis]
        amount = float(np.mean(rows * batch["source"])) * int(self.optimizer.iterations) % 1
        # One operation for a weight: those of Keras's variables are four, and most of the time.
        for weight, ones in zip(self._weights, self._ones, strict=True):
            weight.assign_add(0.01 * amount * ones, read_value=False)
        rate = float(self.optimizer.learning_rate)
        return UpdateMetrics({"nll": LossTotal(amount, 1.0)}, len(rows), 1.0, rate, float(stop))


class SlowTrainStep(ScriptedTrainStep):
    """The same, in a time that can be seen."""

    def __call__(self, batch: Mapping[str, tf.Tensor], stop: int | tf.Tensor) -> UpdateMetrics:
        time.sleep(_SECONDS)
        return super().__call__(batch, stop)


def use(patch: pytest.MonkeyPatch, step: type[TrainStep] = ScriptedTrainStep) -> None:
    """Let training runs make these updates."""
    patch.setattr(trainer, "TrainStep", step)


def run_killed(moment: str, count: int, flags: list[str]) -> int:
    """Run `rnnsearch-train` with these updates, killed in a moment when it has come `count` times.

    The moments are "file", which is written and has not its name yet, "checkpoint", which has no
    index yet, and "older", a checkpoint that is to be removed.
    """
    write = tf.train.Checkpoint.write

    def write_without_index(checkpoint: tf.train.Checkpoint, path: str) -> None:
        write(checkpoint, path)
        Path(f"{path}.index").unlink()

    owner, name, before = {
        "file": (files, "move_over", None),
        "checkpoint": (tf.train.Checkpoint, "write", write_without_index),
        "older": (Checkpoints, "_remove", None),
    }[moment]
    usual, calls = getattr(owner, name), itertools.count(1)

    def killed(*arguments: Any) -> Any:
        if next(calls) < count:
            return usual(*arguments)
        if before:
            before(*arguments)
        return os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        use(patch)
        patch.setattr(owner, name, killed)
        return train.run(flags)


def run(flags: list[str]) -> int:
    """Run `rnnsearch-train` with these updates, in a process that is a test's own."""
    with pytest.MonkeyPatch.context() as patch:
        use(patch, SlowTrainStep)
        return train.run(flags)
