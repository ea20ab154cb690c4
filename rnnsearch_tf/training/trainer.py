"""The training loop: updates, evaluations, checkpoints, and a clean stop."""

import math
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import Config, selection_score
from rnnsearch_tf.data.batching import batch_count, guided_batches, training_batches
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.evaluation.metrics import bleu_signature
from rnnsearch_tf.models.model_directory import BEST, LAST, ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.training.callbacks import Watched, early_stopping
from rnnsearch_tf.training.checkpoints import Checkpoints, RunningMetrics, TrainingState
from rnnsearch_tf.training.distribution import Workers
from rnnsearch_tf.training.signals import deferred_signals
from rnnsearch_tf.training.train_step import Batch, TrainStep

_SAVE_SECONDS = 600.0
# What a collective operation ends with when a machine does not answer any more.
_GONE = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.CancelledError)


class Evaluation(NamedTuple):
    """How good a model is on the validation set."""

    nll_per_token: float  # nats, </s> counted
    nll_per_sentence: float  # nats
    bleu: float  # sacreBLEU of greedy translations, 0 to 100


class Trainer:
    """Trains a model in a model directory, from where the last run there stopped.

    Keras callbacks look on. For them an epoch is the stretch between two evaluations: with
    `evaluation_interval` 0, a pass over the training pairs. They are given
        on_train_batch_end: loss (nats per sentence), nll_per_token, gradient_norm, and of the
            stretch so far: mean_loss, mean_nll_per_token, tokens_per_second, clipped, skipped,
            and with links mean_guide_loss (nats per linked word);
        on_epoch_end: the evaluation's record in training.jsonl; the validation set's figures
            also as val_loss (nats per sentence), val_nll_per_token and val_bleu.
    They may look on, and end the training: `model.stop_training` is heeded after the next
    evaluation. What they keep in mind is theirs; it does not survive a restart.

    Args:
        config: settings.
        model: to be trained; built under the strategy.
        directory: where weights and checkpoints go; complete.
        pairs: the training pairs, short enough.
        evaluate: judges the model on a validation set; without it, the last weights are best.
        strategy: the devices.
        callbacks: Keras's or others; they run on the chief alone.
        links: of the pairs, which guide the attention; without them, none is guided.
    """

    def __init__(
        self,
        config: Config,
        model: TranslationModel,
        directory: ModelDirectory,
        pairs: Pairs,
        evaluate: Callable[[], Evaluation] | None = None,
        strategy: tf.distribute.Strategy | None = None,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        links: WordAlignments | None = None,
    ):
        self._config = config.training
        self._model = model
        self._directory = directory
        self._pairs = pairs
        self._links = links
        self._evaluate = evaluate
        self._workers = Workers(strategy or tf.distribute.get_strategy())
        self._progress = ProgressLine()
        self._batches_per_epoch = batch_count(pairs, self._config)
        self._total = self._batches_per_epoch * self._config.epochs
        if self._config.max_updates:
            self._total = min(self._total, self._config.max_updates)
        self._updater = TrainStep(model, self._config, self._total, self._workers.strategy)
        self._checkpoints = Checkpoints(
            directory.checkpoints_path, model=model, optimizer=self._updater.optimizer
        )
        self._stopper = early_stopping(self._config)
        self._stopper.set_model(model)
        self._callbacks = keras.callbacks.CallbackList(
            list(callbacks) if self._workers.is_chief else [],
            model=Watched(model, self._updater.optimizer),
            epochs=self._config.epochs,
            steps=self._config.evaluation_interval or self._batches_per_epoch,
            updates=self._total,
            verbose=0,
        )
        self._stopped = False  # by a callback, on all workers
        self._last_save = time.monotonic()
        self._stretch = Speed()

    @property
    def _state(self) -> TrainingState:
        return self._checkpoints.state

    def run(self) -> int | None:
        """Train to the end, or to a signal.

        Returns:
            The signal that stopped it (SIGINT or SIGTERM), after everything was saved; or None.

        Raises:
            InputError: a disk that refuses, no memory, or no finite gradient any more.
        """
        self._restore()
        if self._is_finished() and not self._evaluation_is_due():
            self._say(f"finished: {self._state.updates:,} updates; nothing is left to do")
            return None
        with deferred_signals() as received:
            self._callbacks.on_train_begin()
            self._callbacks.on_epoch_begin(self._state.evaluations)
            stopped_by = self._train(received)
            self._callbacks.on_train_end()
        if stopped_by:
            self._say("stopped and saved: the same command goes on from here")
        return stopped_by

    def _restore(self) -> None:
        """Go back to the newest whole checkpoint, and to the records written by then."""
        number = self._checkpoints.restore(self._progress)
        updates = self._state.updates
        self._workers.check_same(
            str(updates),
            f"{self._directory.path}: not where the chief is; the model directory must be one "
            "folder that all workers share",
        )
        records = self._directory.read_log()
        if not number and len(records) > 1:  # one may have been written before a checkpoint
            raise InputError(
                f"{self._directory.path}: trained before, and its checkpoints are gone; to train "
                "anew, take another folder"
            )
        made = [record for record in records if record["updates"] <= updates]
        if self._workers.is_chief:
            self._checkpoints.remove_newer(number)
            self._directory.remove_leftovers()
            if made != records:
                self._directory.write_log(made)
        self._workers.check(None)  # no one reads on before all is in its place
        self._model.stop_training = False
        self._stopper.on_train_begin()
        for i, record in enumerate(made):
            self._stopper.on_epoch_end(i, _keras_names(record))
        self._stopped = self._model.stop_training

    def _train(self, received: list[int]) -> int | None:
        """Update, evaluate and save until the end; return early at a signal."""
        if self._evaluation_is_due():  # a signal came before it
            self._judge()
        while not self._is_finished():
            epoch, done = self._state.epoch, self._state.batch
            for batch in self._batches(epoch, done):
                if self._update(batch, bool(received)):
                    self._save()
                    return received[0] if received else signal.SIGTERM
                if self._evaluation_is_due():
                    self._judge()
                elif self._save_is_due():
                    self._save()
                if self._is_finished():
                    break
        return received[0] if received else None

    def _batches(self, epoch: int, done: int) -> tf.data.Dataset:
        """What is left of a pass."""
        if self._links is None:
            return training_batches(self._pairs, self._config, epoch, done)
        return guided_batches(self._pairs, self._links, self._config, epoch, done)

    def _update(self, tensors: tuple[tf.Tensor, ...], stop: bool) -> bool:
        """Update, and count it; returns whether any worker was asked to stop."""
        update = self._updater if self._links is None else self._updater.guided
        state, started = self._state, time.monotonic()
        self._callbacks.on_train_batch_begin(state.meter.updates)
        try:
            batch = Batch(*map(float, update(*tensors, int(stop))))
        except tf.errors.ResourceExhaustedError as error:
            source, target = tensors[:2]
            length = max(source.shape[1], target.shape[1])
            raise InputError(
                f"out of memory in an update of {len(source)} pairs in the bucket of up to "
                f"{length} tokens: a smaller --batch_size or --max_length (with another "
                f"--model_dir) needs less ({first_line(error)})"
            ) from error
        except _GONE as error:
            raise InputError(f"another worker is gone: {first_line(error)}") from error
        seconds = time.monotonic() - started
        state.seconds += seconds
        self._stretch.add(batch.words, seconds)
        state.meter.add(batch, self._config.clip_norm)
        state.updates += 1
        state.batch += 1
        if state.batch == self._batches_per_epoch:
            state.epoch, state.batch = state.epoch + 1, 0
        self._check_finite(batch)
        self._callbacks.on_train_batch_end(state.meter.updates - 1, self._batch_logs(batch))
        return batch.stops > 0

    def _check_finite(self, batch: Batch) -> None:
        state = self._state
        finite = math.isfinite(batch.gradient_norm)
        state.skipped_in_a_row = 0 if finite else state.skipped_in_a_row + 1
        if state.skipped_in_a_row >= self._config.max_skipped:
            state.skipped_in_a_row = 0
            self._save()
            raise InputError(
                f"the gradient was not finite in {self._config.max_skipped} updates in a row; "
                f"{self._directory.path} has the last good weights"
            )

    def _judge(self) -> None:
        """Evaluate the model, keep it if it is the best, and save."""
        state = self._state
        record: dict[str, Any] = {
            "epoch": round(state.updates / self._batches_per_epoch, 3),
            "updates": state.updates,
            "training_seconds": round(state.seconds, 1),
            **state.meter.means(),
        }
        value = float(state.updates)
        if self._evaluate is not None:
            found = self._shared_evaluation(self._evaluate)
            value = selection_score(self._config, found.nll_per_token, found.bleu)
            record.update(found._asdict(), bleu_signature=bleu_signature())
        is_best = value > state.best
        if is_best:
            state.best = value
        state.evaluations += 1
        state.meter = RunningMetrics()
        if self._workers.is_chief:
            if is_best:
                self._directory.save_weights(self._model, BEST)
            self._directory.write_log([*self._directory.read_log(), record])
            self._say(_describe(record, is_best))
        self._stopper.on_epoch_end(state.evaluations - 1, _keras_names(record))
        self._callbacks.on_epoch_end(state.evaluations - 1, _keras_names(record))
        stop = np.array([self._model.stop_training], np.float64)
        self._stopped = bool(self._workers.share(stop)[0])
        self._save()
        self._stretch = Speed()
        if not self._is_finished():
            self._callbacks.on_epoch_begin(state.evaluations)

    def _shared_evaluation(self, evaluate: Callable[[], Evaluation]) -> Evaluation:
        """The chief evaluates; the others wait for its figures."""
        mine = (0.0,) * len(Evaluation._fields)
        if self._workers.is_chief:
            try:
                mine = evaluate()
            except tf.errors.ResourceExhaustedError as error:
                raise InputError(
                    f"out of memory on the validation set: {first_line(error)}"
                ) from error
        return Evaluation(*map(float, self._workers.share(np.array(mine, np.float64))))

    def _is_finished(self) -> bool:
        return self._state.updates >= self._total or self._stopped

    def _evaluation_is_due(self) -> bool:
        """At the end of an epoch, of a stretch, or of the training, if it was not made yet."""
        state, stretch = self._state, self._config.evaluation_interval
        at_end = state.batch == 0 if not stretch else state.updates % stretch == 0
        return state.meter.updates > 0 and (at_end or state.updates >= self._total)

    def _save_is_due(self) -> bool:
        steps = self._config.checkpoint_interval
        if steps:
            return self._state.updates % steps == 0
        return time.monotonic() - self._last_save > _SAVE_SECONDS

    def _save(self) -> None:
        """Write what a resumed run, or a translator, needs."""
        if self._workers.is_chief:
            self._directory.save_weights(self._model, LAST)
            if not self._directory.weights_path(BEST).exists():
                self._directory.save_weights(self._model, BEST)
            self._checkpoints.save()  # last: a finished one says that all is finished
        self._last_save = time.monotonic()

    def _batch_logs(self, batch: Batch) -> dict[str, float]:
        means = self._state.meter.means()
        guided = {"mean_guide_loss": means["train_guide_loss"]} if self._links else {}
        return {
            "loss": batch.nll / batch.sentences,
            "nll_per_token": batch.nll / batch.words,
            "gradient_norm": batch.gradient_norm,
            "learning_rate": batch.learning_rate,
            "mean_loss": means["train_nll_per_sentence"],
            "mean_nll_per_token": means["train_nll_per_token"],
            "clipped": means["clipped"],
            "skipped": means["skipped"],
            "tokens_per_second": self._stretch.tokens_per_second,
            "updates": self._state.updates,
            **guided,
        }

    def _say(self, text: str) -> None:
        if self._workers.is_chief:
            self._progress.finish(text)


class Speed:
    """Target words a second, over some updates."""

    def __init__(self) -> None:
        self._words = 0.0
        self._seconds = 0.0

    def add(self, words: float, seconds: float) -> None:
        """Count an update."""
        self._words += words
        self._seconds += seconds

    @property
    def tokens_per_second(self) -> float:
        """Over all that was counted; 0 before."""
        return self._words / self._seconds if self._seconds else 0.0


def _keras_names(record: dict[str, Any]) -> dict[str, float]:
    """An evaluation's figures, with the names that Keras's callbacks are used to."""
    names = {
        "nll_per_sentence": "val_loss",
        "nll_per_token": "val_nll_per_token",
        "bleu": "val_bleu",
        "train_nll_per_sentence": "loss",
        "train_nll_per_token": "nll_per_token",
        "train_guide_loss": "guide_loss",
    }
    return {
        names.get(name, name): value for name, value in record.items() if not isinstance(value, str)
    }


def _describe(record: dict[str, float], is_best: bool) -> str:
    parts = [
        f"epoch {record['epoch']:g}, {record['updates']:,} updates: "
        f"training {record['train_nll_per_token']:.3f} nats/token"
    ]
    if "bleu" in record:
        parts.append(
            f"validation {record['nll_per_token']:.3f} nats/token, "
            f"{record['nll_per_sentence']:.2f} nats/sentence, BLEU {record['bleu']:.2f} (greedy)"
            f"{', best so far' if is_best else ''}"
        )
    if "train_guide_loss" in record:
        parts.append(f"attention {record['train_guide_loss']:.3f} nats/linked word")
    parts.append(f"gradient clipped in {record['clipped']:.0%} of the updates")
    if record["skipped"]:
        parts.append(f"NOT FINITE and skipped in {record['skipped']:.1%}")
    return "; ".join([*parts, f"trained {record['training_seconds'] / 60:.1f} min"])
