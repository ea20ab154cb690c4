"""The training loop: updates, evaluations, checkpoints, and a clean stop."""

import math
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf import interrupts
from rnnsearch_tf.config import Config
from rnnsearch_tf.data.batching import batch_count, training_batches
from rnnsearch_tf.data.sampled_pairs import SampledPairs
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.errors import InputError, TemporaryError, first_line
from rnnsearch_tf.evaluation.best_weights import record_score, stops_early
from rnnsearch_tf.models.model_directory import BEST, LAST, ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.weights_file import read_updates
from rnnsearch_tf.progress import say
from rnnsearch_tf.provenance import software
from rnnsearch_tf.training.checkpoints import Checkpoints, TrainingState
from rnnsearch_tf.training.checks import lasting_settings
from rnnsearch_tf.training.distribution import Workers, gpu_advice
from rnnsearch_tf.training.logs import (
    Evaluation,
    RunningMetrics,
    evaluation_logs,
    evaluation_record,
    evaluation_text,
    update_logs,
)
from rnnsearch_tf.training.train_step import TrainStep, UpdateMetrics
from rnnsearch_tf.training.validation import ValidationSet

_SECONDS_BETWEEN_CHECKPOINTS = 600.0


class Trainer:
    """Trains a model in a model directory, resuming where the last run there stopped.

    For Keras callbacks, an epoch is the interval between two evaluations (with
    `evaluation_interval` 0, a pass over the training pairs). Their methods get these logs:
        on_train_begin: updates, made by earlier runs;
        on_train_batch_end: loss (nats per sentence), nll_per_token, perplexity, gradient_norm,
            learning_rate, updates, sentences, tokens (of the target), and for the interval so far:
            mean_loss, mean_nll_per_token, tokens_per_second, clipped, skipped, and
            mean_<name>_loss of each auxiliary loss, such as mean_guided_alignment_loss (nats per
            linked word);
        on_epoch_end: the numbers of the evaluation's record in training.jsonl, with epochs (passes
            over the training pairs, with a fraction) in place of epoch. Of the training pairs:
            loss, nll_per_token, perplexity and <name>_loss; of the validation set: val_loss (nats
            per sentence), val_nll_per_token, val_perplexity and val_bleu.
    Callbacks can end the training: `model.stop_training` takes effect after the next evaluation.
    Their own state does not survive a restart.
    """

    def __init__(
        self,
        config: Config,
        model: TranslationModel,
        directory: ModelDirectory,  # complete
        pairs: Pairs,
        *,
        workers: Workers,  # the model was built under their strategy
        evaluate: ValidationSet | None = None,  # without, the last weights are best
        callbacks: Sequence[keras.callbacks.Callback] = (),  # they run on the chief alone
        alignments: WordAlignments | None = None,  # for the guided alignment loss
        sampled: SampledPairs | None = None,  # the pairs with drawn subwords, to train on instead
    ):
        self._stored_config = directory.load_config()
        self._config = config.training
        self._model = model
        self._directory = directory
        self._pairs = pairs
        self._alignments = alignments
        self._sampled = sampled
        self._evaluate = evaluate
        self._workers = workers
        self._software = software()  # now, before somebody edits or commits
        self._batches_per_epoch = batch_count(pairs, self._config)
        self._total = self._batches_per_epoch * self._config.epochs
        if self._config.max_updates:
            self._total = min(self._total, self._config.max_updates)
        self._train_step = self._build_step()
        model.optimizer = self._train_step.optimizer  # callbacks look for it there
        self._checkpoints = Checkpoints(directory.checkpoints_path, **self._train_step.saved)
        self._callbacks = keras.callbacks.CallbackList(
            list(callbacks) if self._workers.is_chief else [],
            model=model,
            epochs=self._config.epochs,
            steps=self._config.evaluation_interval or self._batches_per_epoch,
            updates=self._total,
            verbose=0,
        )
        self._stopped = False  # by a callback; the same on all workers
        self._last_save = self._waiting_since = time.monotonic()

    def _build_step(self) -> Any:
        if keras.config.backend() == "jax":
            from rnnsearch_tf.training.jax_train_step import JaxTrainStep

            return JaxTrainStep(self._model, self._config, self._total)
        return TrainStep(self._model, self._config, self._total, self._workers.strategy)

    @property
    def _state(self) -> TrainingState:
        return self._checkpoints.state

    def run(self) -> int | None:
        """Train to the end, or to a signal.

        Returns the signal that stopped it, after everything was saved; or None.
        InputError if files cannot be written or were changed by others, memory runs out in an
        update, or too many gradients in a row are not finite.
        """
        self._restore()
        if self._is_finished() and not self._evaluation_is_due():
            self._say(f"finished: {self._state.updates:,} updates; nothing is left to do")
            if self._state.updates < self._total:
                self._say(
                    f"stopped early, by --patience={self._config.patience}; a larger one resumes it"
                )
            self._workers.leave()
            return None
        with interrupts.deferred() as received:
            is_jax = keras.config.backend() == "jax"
            remark = ", by JAX" if is_jax else gpu_advice(self._workers.strategy)
            self._say(f"training on {self._train_step.hardware}{remark}")
            rate = float(np.array(self._train_step.optimizer.learning_rate))
            self._callbacks.on_train_begin({"updates": self._state.updates})
            self._callbacks.on_epoch_begin(self._state.evaluations)
            is_constant = self._config.learning_rate_schedule == "constant"
            if self._state.metrics.updates and is_constant:
                # The interval's callbacks have changed the rate already, before the checkpoint.
                self._train_step.optimizer.learning_rate = rate
            stopped_by = self._train(received)
            self._workers.leave()
            self._callbacks.on_train_end()
        if stopped_by:
            self._say("stopped and saved: the same command resumes the training")
        return stopped_by

    def _restore(self) -> None:
        """Restore the newest checkpoint, and the records of the evaluations before it."""
        number = self._checkpoints.restore()
        updates = self._state.updates
        self._workers.check_same(
            str(number or 0),  # two of the same updates: before an evaluation, and after it
            TemporaryError(  # NFS may show it late
                f"{self._directory.path}: its checkpoint is not the chief's; the model directory "
                "must be one folder that all workers share"
            ),
        )
        records = self._directory.read_log()
        # An evaluation that was interrupted is repeated: it may already have a record.
        by_updates = {record["updates"]: record for record in records}
        kept = [record for number, record in by_updates.items() if number <= updates]
        kept = kept[: self._state.evaluations]
        # On NFS, workers other than the chief may see the files as they were half a minute ago.
        settings = lasting_settings(self._stored_config)
        self._workers.check(self._changed(settings, kept) if self._workers.is_chief else None)
        self._state.settings = settings
        if self._workers.is_chief:
            if self._state.evaluations and self._best_is_newer():
                self._state.best = -math.inf  # a later run has replaced the best weights
            self._checkpoints.remove_newer(number)
            self._directory.remove_leftovers()
            if kept != records:
                self._directory.write_log(kept)
            if number is None:
                self._checkpoints.begin()
        self._model.stop_training = False
        # From the chief's records; and the others wait for its files.
        stopped = [float(stops_early(self._config, kept))]
        self._stopped = bool(self._workers.broadcast(stopped)[0])

    def _changed(self, settings: dict[str, Any], records: list[dict[str, Any]]) -> str | None:
        """Say what is not as it was at the checkpoint, if anything: a setting, or a file."""
        directory, state = self._directory, self._state
        for name, value in settings.items():
            if (before := state.settings.get(name, value)) != value:
                return (
                    f"{directory.path / 'config.json'}: {name} is {value}, but {before} at the "
                    "checkpoint: restore that, or train in another model directory"
                )
        if len(records) < state.evaluations:
            return (
                f"{directory.log_path}: has {len(records):,} evaluations of {state.evaluations:,}"
            )
        best = directory.weights_path(BEST)
        if not state.evaluations:
            return None
        if not best.exists():
            return f"{best} is missing: restore it (for use elsewhere, copy it)"
        try:
            directory.check_weights(BEST)
        except InputError:
            return f"{best} is damaged: restore it"
        updates, best_updates = read_updates(best), self._best_updates(records)
        if updates and best_updates and updates != best_updates and not self._best_is_newer():
            return (
                f"{best} has the weights after update {updates:,}, but those after update "
                f"{best_updates:,} are the best: restore them"
            )
        return None

    def _best_is_newer(self) -> bool:
        """Whether the best weights come from an evaluation that the checkpoint does not count.

        It followed a later update, or the same one if a signal had come before the evaluation.
        """
        updates = read_updates(self._directory.weights_path(BEST)) or 0
        return updates > self._state.updates - bool(self._state.metrics.updates)

    def _best_updates(self, records: list[dict[str, Any]]) -> int | None:
        """Find the updates after which the best weights were evaluated; None without a score."""
        best = self._state.best
        if best == -math.inf:
            return None
        for record in records:
            if "bleu" in record and record_score(self._config, record) == best:
                return int(record["updates"])
        return None

    def _train(self, received: list[int]) -> int | None:
        """Update, evaluate and save until the end; return early at a signal."""
        if self._evaluation_is_due():  # a signal came before it
            self._run_evaluation()
        while not self._is_finished():
            epoch, done = self._state.epoch, self._state.batch
            batches = training_batches(
                self._pairs, self._config, epoch, done, self._alignments, self._sampled
            )
            self._waiting_since = time.monotonic()
            for batch in batches:
                if self._update(batch, bool(received)):
                    self._save()
                    return received[0] if received else signal.SIGTERM
                if self._evaluation_is_due():
                    self._run_evaluation()
                elif self._save_is_due():
                    self._save()
                if self._is_finished():
                    break
                self._waiting_since = time.monotonic()
        return received[0] if received else None

    def _update(self, batch: Mapping[str, tf.Tensor], stop: bool) -> bool:
        """Make an update and count it; return whether any worker was asked to stop."""
        state = self._state
        self._callbacks.on_train_batch_begin(state.metrics.updates)
        update = self._step(batch, stop)
        seconds = time.monotonic() - self._waiting_since
        state.seconds += seconds
        state.metrics.add(update, self._config.clip_norm, seconds)
        state.updates += 1
        state.batch += 1
        if state.batch == self._batches_per_epoch:
            state.epoch, state.batch = state.epoch + 1, 0
        self._check_finite(update)
        logs = update_logs(update, state.metrics, state.updates)
        self._callbacks.on_train_batch_end(state.metrics.updates - 1, logs)
        return update.stops > 0

    def _step(self, batch: Mapping[str, tf.Tensor], stop: bool) -> UpdateMetrics:
        """Make an update; its measurements are floats."""
        try:
            return tf.nest.map_structure(float, self._train_step(batch, int(stop)))
        except tf.errors.ResourceExhaustedError as error:
            length = max(batch["source"].shape[1], batch["target"].shape[1])
            raise InputError(
                f"out of memory in an update of {len(batch['source'])} pairs in the bucket of up "
                f"to {length} tokens: a smaller --batch_size or --max_length (with another "
                f"--model_dir) needs less ({first_line(error)})"
            ) from error

    def _check_finite(self, update: UpdateMetrics) -> None:
        state = self._state
        is_finite = math.isfinite(update.gradient_norm)
        state.skipped_in_a_row = 0 if is_finite else state.skipped_in_a_row + 1
        if state.skipped_in_a_row >= self._config.max_skipped:
            state.skipped_in_a_row = 0
            self._save()
            raise InputError(
                f"the gradient was not finite in {self._config.max_skipped} updates in a row; "
                f"{self._directory.path} has the weights before them"
            )

    def _run_evaluation(self) -> None:
        """Evaluate the model, keep its weights if they are the best, and save."""
        with self._train_step.averaged_weights():
            self._evaluate_weights()
        self._save()
        if not self._is_finished():
            self._callbacks.on_epoch_begin(self._state.evaluations)

    def _evaluate_weights(self) -> None:
        state = self._state
        evaluation = self._broadcast_evaluation()
        record = evaluation_record(
            state.updates, self._batches_per_epoch, state.seconds, state.metrics, evaluation
        )
        if self._evaluate is not None:
            record["bleu_signature"] = self._evaluate.bleu_signature
        record |= {"hardware": self._train_step.hardware, "software": self._software}
        is_best = True
        if evaluation is not None:
            score = record_score(self._config, record)
            is_best = score > state.best
            state.best = max(score, state.best)
        state.evaluations += 1
        state.metrics = RunningMetrics()
        if self._workers.is_chief:
            self._directory.check_unchanged(self._stored_config)
            if is_best:
                self._directory.save_weights(self._model, BEST, self._state.updates)
            records = [*self._directory.read_log(), record]
            self._directory.write_log(records)
            self._say(evaluation_text(record, is_best))
            if stops_early(self._config, records):
                last = f"{self._config.patience:,} evaluations"
                self._say(
                    f"early stopping: no better {self._config.early_stopping} in the last {last}"
                )
                self._model.stop_training = True
        self._callbacks.on_epoch_end(state.evaluations - 1, evaluation_logs(record))
        # Callbacks run on the chief alone, but all workers must stop after the same update.
        stop = np.array([self._model.stop_training], np.float64)
        self._stopped = bool(self._workers.broadcast(stop)[0])

    def _broadcast_evaluation(self) -> Evaluation | None:
        """Evaluate on the chief; the other workers wait for its result."""
        if self._evaluate is None:
            return None
        result = (0.0,) * len(Evaluation._fields)
        if self._workers.is_chief:
            result = self._evaluate()
        return Evaluation(*map(float, self._workers.broadcast(np.array(result, np.float64))))

    def _is_finished(self) -> bool:
        return self._state.updates >= self._total or self._stopped

    def _evaluation_is_due(self) -> bool:
        """Whether an interval, or the training, ended with the last update and has no record."""
        state, interval = self._state, self._config.evaluation_interval
        at_end = state.batch == 0 if not interval else state.updates % interval == 0
        return state.metrics.updates > 0 and (at_end or state.updates >= self._total)

    def _save_is_due(self) -> bool:
        interval = self._config.checkpoint_interval
        if interval:
            return self._state.updates % interval == 0
        return time.monotonic() - self._last_save > _SECONDS_BETWEEN_CHECKPOINTS

    def _save(self) -> None:
        """Write the weights and a checkpoint."""
        if self._workers.is_chief:
            self._directory.check_unchanged(self._stored_config)
            with self._train_step.averaged_weights():
                self._directory.save_weights(self._model, LAST, self._state.updates)
                if self._last_are_best():
                    self._directory.save_weights(self._model, BEST, self._state.updates)
            # Last: a resumed run repeats only what comes after its checkpoint, so weights and log
            # must be on the disk first. If a run is killed before this line, the next run writes
            # them again.
            self._checkpoints.save()
        self._last_save = time.monotonic()

    def _last_are_best(self) -> bool:
        """Whether no weights are better: none have a score, or none are evaluated yet."""
        if self._evaluate is None or not self._state.evaluations:
            return True
        return self._state.best == -math.inf and not self._directory.weights_path(BEST).exists()

    def _say(self, text: str) -> None:
        if self._workers.is_chief:
            say(text)
