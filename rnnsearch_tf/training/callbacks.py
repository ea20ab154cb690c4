"""Keras callbacks that report a training; `trainer.Trainer` documents their logs."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.extras import is_installed
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.training.logs import update_text

Logs = dict[str, float]
_MONITORED = {"bleu": ("val_bleu", "max"), "nll": ("val_nll_per_token", "min")}
_UPDATES_BETWEEN_SUMMARIES = 50


def early_stopping(config: TrainingConfig) -> keras.callbacks.Callback:
    """Build Keras's early stopping, or a callback that does nothing."""
    if config.early_stopping == "none":
        return keras.callbacks.Callback()
    monitor, mode = _MONITORED[config.early_stopping]
    return keras.callbacks.EarlyStopping(monitor, patience=config.patience, mode=mode)


class ModelWithOptimizer:
    """A model with its optimiser, as callbacks expect it.

    The model itself must not have an optimiser: Keras would write it into every file of weights.
    """

    def __init__(self, model: keras.Model, optimizer: keras.optimizers.Optimizer):
        self.model = model
        self.optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    @property
    def stop_training(self) -> bool:
        """Whether a callback has asked to stop."""
        return self.model.stop_training

    @stop_training.setter
    def stop_training(self, stop: bool) -> None:
        self.model.stop_training = stop


class ProgressBar(keras.callbacks.Callback):
    """A line with updates, mean losses in nats, perplexity, target tokens/s and the time left."""

    def __init__(self) -> None:
        super().__init__()
        self._line = ProgressLine()
        self._first: tuple[float, float] | None = None  # time and number of the first update

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Rewrite the line when it is due."""
        if not logs:
            return
        if self._first is None:
            self._first = time.monotonic(), logs["updates"]
        if self._line.is_due():
            self._line.show(update_text(logs, self.params["updates"]) + self._time_left(logs))

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Clear the line, for that of the evaluation."""
        self._line.clear()

    def _time_left(self, logs: Logs) -> str:
        """Time left at the pace since the first update, evaluations included."""
        assert self._first is not None
        started, first = self._first
        done = logs["updates"]
        if done == first:  # the first update traces the graph: its time says nothing
            return ""
        seconds = (time.monotonic() - started) / (done - first) * (self.params["updates"] - done)
        return f", {_duration(seconds)} left"


class Summaries(keras.callbacks.Callback):
    """TensorBoard's summaries: scalars, translations and (by Matplotlib) an image of an alignment.

    Args:
        folder: for the event files.
        translator: of the model in training; without it, there are scalars alone.
        sentences: source sentences to translate at each evaluation; the first one's alignment is
            drawn.
    """

    def __init__(
        self,
        folder: str | Path,
        translator: Translator | None = None,
        sentences: Sequence[str] = (),
    ):
        super().__init__()
        self._folder = str(folder)
        self._translator = translator
        self._sentences = sentences
        self._writer = tf.summary.create_noop_writer()

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Open a file of events."""
        self._writer = tf.summary.create_file_writer(self._folder)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Write the scalars of an update, at intervals."""
        if logs and logs["updates"] % _UPDATES_BETWEEN_SUMMARIES == 0:
            self._write_scalars("training", logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Write the scalars of the evaluation, translations and an image."""
        if not logs:
            return
        self._write_scalars("evaluation", logs)
        if self._translator is not None and self._sentences:
            self._write_samples(self._translator, int(logs["updates"]))
        self._writer.flush()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Close the file."""
        self._writer.close()

    def _write_samples(self, translator: Translator, step: int) -> None:
        results = translator.translate(self._sentences, return_alignment=True, progress=False)
        rows = [f"{result.source} | {result.text}" for result in results]
        table = "\n".join(["source | translation", "--- | ---", *rows])
        with self._writer.as_default(step):
            tf.summary.text("translations", table)
            if is_installed("matplotlib"):
                from rnnsearch_tf.visualization.alignment_matrix import paint_alignment

                first = results[0]
                image = paint_alignment(first.alignment, first.source_tokens, first.tokens)
                tf.summary.image("alignment", image[None])

    def _write_scalars(self, part: str, logs: Logs) -> None:
        with self._writer.as_default(int(logs["updates"])):
            for name, value in logs.items():
                if name != "updates":
                    tf.summary.scalar(f"{part}/{name}", value)


def _duration(seconds: float) -> str:
    """Format seconds: 1 h 05 min, 12 min, 40 s."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 120 else f"{seconds:.0f} s"
