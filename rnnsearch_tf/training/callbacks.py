"""Keras callbacks that watch a training; `training.Trainer` says what they are given."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.visualization.alignment_matrix import paint_alignment

Logs = dict[str, float]
_MONITORED = {"bleu": ("val_bleu", "max"), "nll": ("val_nll_per_token", "min")}
_UPDATES_BETWEEN_SUMMARIES = 50


def early_stopping(config: TrainingConfig) -> keras.callbacks.Callback:
    """What ends a training that improves no more: Keras's, or one that never does."""
    if config.early_stopping == "none":
        return keras.callbacks.Callback()
    monitor, mode = _MONITORED[config.early_stopping]
    return keras.callbacks.EarlyStopping(monitor, patience=config.patience, mode=mode)


class Watched:
    """A model as callbacks expect it, with its optimiser.

    The model itself must not have it: Keras would write it into every file of weights.
    """

    def __init__(self, model: keras.Model, optimizer: keras.optimizers.Optimizer):
        self.model = model
        self.optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    @property
    def stop_training(self) -> bool:
        """What `EarlyStopping` sets."""
        return self.model.stop_training

    @stop_training.setter
    def stop_training(self, stop: bool) -> None:
        self.model.stop_training = stop


class ProgressBar(keras.callbacks.Callback):
    """One line: how far, the mean NLL, how fast (target tokens/s), and how long yet."""

    def __init__(self) -> None:
        super().__init__()
        self._line = ProgressLine()
        self._begun: tuple[float, float] | None = None  # the first update's time and number

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Rewrite the line, now and then."""
        if not logs:
            return
        if self._begun is None:
            self._begun = time.monotonic(), logs["updates"]
        if self._line.is_due():
            self._line.show(self._text(logs))

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Leave the terminal to the evaluation's line."""
        self._line.clear()

    def _text(self, logs: Logs) -> str:
        done, total = int(logs["updates"]), self.params["updates"]
        skipped = f", {logs['skipped']:.1%} NOT FINITE and skipped" if logs["skipped"] else ""
        guide = logs.get("mean_guide_loss")
        attention = "" if guide is None else f"attention {guide:.3f} nats/linked word, "
        return (
            f"update {done:,}/{total:,}: {logs['mean_nll_per_token']:.3f} nats/token, "
            f"{logs['mean_loss']:.2f} nats/sentence, {attention}"
            f"gradient norm {logs['gradient_norm']:.2f} "
            f"({logs['clipped']:.0%} clipped{skipped}), {logs['tokens_per_second']:,.0f} tokens/s"
            f"{self._time_left(done, total)}"
        )

    def _time_left(self, done: int, total: int) -> str:
        """At the pace since the first update, evaluations included; not known at that one."""
        assert self._begun is not None
        started, first = self._begun
        if done == first:
            return ""
        seconds = (time.monotonic() - started) / (done - first) * (total - done)
        return f", {_duration(seconds)} left"


class Summaries(keras.callbacks.Callback):
    """What TensorBoard shows: figures, translations and a picture of an alignment.

    Args:
        folder: for the event files.
        translator: of the model in training; without it, figures alone.
        sentences: source sentences to translate at each evaluation; the first is drawn.
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
        """Training figures, now and then."""
        if logs and logs["updates"] % _UPDATES_BETWEEN_SUMMARIES == 0:
            self._write_scalars("training", logs)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """The evaluation's figures, translations, and a picture."""
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
        found = translator.translate(self._sentences, return_alignment=True, progress=False)
        rows = [f"{one.source} | {one.text}" for one in found]
        table = "\n".join(["source | translation", "--- | ---", *rows])
        first = found[0]
        picture = paint_alignment(first.alignment, first.source_tokens, first.tokens)
        with self._writer.as_default(step):
            tf.summary.text("translations", table)
            tf.summary.image("alignment", picture[None])

    def _write_scalars(self, part: str, logs: Logs) -> None:
        with self._writer.as_default(int(logs["updates"])):
            for name, value in logs.items():
                if name != "updates":
                    tf.summary.scalar(f"{part}/{name}", value)


def _duration(seconds: float) -> str:
    """Seconds as people say them: 1 h 05 min, 12 min, 40 s."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min" if seconds >= 120 else f"{seconds:.0f} s"
