"""The training loop: updates, evaluation, checkpoints, and a clean stop."""

import contextlib
import dataclasses
import json
import math
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import Config
from rnnsearch_tf.dataset import Pairs, batch_count, training_batches
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.model_directory import BEST, LAST, ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.update import Batch, Updater

_SAVE_SECONDS = 600.0
# What TensorFlow raises for a truncated or foreign checkpoint, its reader's own mishaps included.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)


class Evaluation(NamedTuple):
    """How good a model is on the development set."""

    nll_per_token: float  # nats, </s> counted
    nll_per_sentence: float  # nats
    bleu: float  # sacreBLEU of greedy translations, 0 to 100


class Trainer:
    """Trains a model in a model directory, from where the last run there stopped.

    Args:
        config: settings.
        model: to be trained.
        directory: where weights and checkpoints go; complete.
        pairs: the training pairs, short enough.
        evaluate: judges the model on a development set; without it, the last weights are best.
    """

    def __init__(
        self,
        config: Config,
        model: TranslationModel,
        directory: ModelDirectory,
        pairs: Pairs,
        evaluate: Callable[[], Evaluation] | None = None,
    ):
        self._config = config.training
        self._model = model
        self._directory = directory
        self._pairs = pairs
        self._evaluate = evaluate
        self._progress = ProgressLine()
        self._batches_per_epoch = batch_count(
            pairs, config.training.batch_size, config.training.bucket_width
        )
        total = self._batches_per_epoch * config.training.epochs
        self._update = Updater(model, config.training, total)
        self._epoch = tf.Variable(0, dtype=tf.int64)
        self._batch = tf.Variable(0, dtype=tf.int64)  # batches done in this epoch
        self._seconds = tf.Variable(0.0, dtype=tf.float64)  # of training, evaluation not counted
        self._best_bleu = tf.Variable(-math.inf, dtype=tf.float64)
        self._checkpoint = tf.train.Checkpoint(
            model=model,
            optimizer=self._update.optimizer,
            epoch=self._epoch,
            batch=self._batch,
            seconds=self._seconds,
            best_bleu=self._best_bleu,
        )
        self._checkpoints = tf.train.CheckpointManager(
            self._checkpoint, str(directory.checkpoints_path), max_to_keep=2
        )

    def run(self) -> int | None:
        """Train to the last epoch, or to a signal.

        Returns:
            The signal that stopped it (SIGINT or SIGTERM), after everything was saved; or None.
        """
        self._restore()
        with _deferred_signals() as received:
            while int(self._epoch) < self._config.epochs:
                self._run_epoch(received)
                if received:
                    self._save()
                    self._progress.finish("stopped and saved: the same command goes on from here")
                    return received[0]
                self._finish_epoch()
        return None

    def _restore(self) -> None:
        """Go back to the newest checkpoint that is whole, if there is one."""
        for path in reversed(self._checkpoints.checkpoints):
            try:
                self._checkpoint.restore(path).assert_existing_objects_matched()
            except _UNREADABLE as error:
                self._progress.finish(f"{path}: damaged, passed over: {_first_line(error)}")
                continue
            done = f"epoch {int(self._epoch) + 1}, batch {int(self._batch) + 1:,}"
            self._progress.finish(f"going on from {path}: {done}")
            return
        if self._checkpoints.checkpoints:
            raise InputError(f"{self._directory.checkpoints_path}: no checkpoint there is whole")

    def _run_epoch(self, received: list[int]) -> None:
        """Update on every batch left in this epoch; return early at a signal."""
        config, done = self._config, int(self._batch)
        batches = training_batches(
            self._pairs, config.batch_size, config.bucket_width, config.seed, int(self._epoch)
        )
        meter = _Meter()
        last_save = time.monotonic()
        for source, target in batches.skip(done):
            started = time.monotonic()
            meter.add(self._update(source, target))
            seconds = time.monotonic() - started
            meter.seconds += seconds
            self._seconds.assign_add(seconds)
            self._batch.assign_add(1)
            if self._progress.is_due():
                self._progress.show(self._describe(meter))
            if received:
                return
            if time.monotonic() - last_save > _SAVE_SECONDS:
                self._save()
                last_save = time.monotonic()
        if meter.words:
            self._progress.finish(self._describe(meter))

    def _finish_epoch(self) -> None:
        """Judge the model, keep it if it is the best, and save."""
        updates = (int(self._epoch) + 1) * self._batches_per_epoch
        record = {
            "epoch": int(self._epoch) + 1,
            "updates": updates,
            "training_seconds": round(float(self._seconds), 1),
        }
        best = self._evaluate is None
        if self._evaluate is not None:
            found = self._evaluate()
            best = found.bleu > float(self._best_bleu)
            self._best_bleu.assign(max(found.bleu, float(self._best_bleu)))
            record.update(found._asdict())
            self._progress.finish(
                f"epoch {record['epoch']}: dev {found.nll_per_token:.3f} nats/token, "
                f"{found.nll_per_sentence:.2f} nats/sentence, BLEU {found.bleu:.2f} (greedy)"
                f"{', best so far' if best else ''}; trained {float(self._seconds) / 60:.1f} min"
            )
        if best:
            self._directory.save_weights(self._model, BEST)
        self._epoch.assign_add(1)
        self._batch.assign(0)
        self._append(record)
        self._save()

    def _save(self) -> None:
        """Write what a resumed run, or a translator, needs."""
        self._directory.save_weights(self._model, LAST)
        if not self._directory.weights_path(BEST).exists():
            self._directory.save_weights(self._model, BEST)
        try:
            self._checkpoints.save()
        except (OSError, tf.errors.OpError) as error:
            where = self._directory.checkpoints_path
            raise InputError(f"{where}: cannot be written: {_first_line(error)}") from error

    def _append(self, record: dict[str, Any]) -> None:
        log = self._directory.log_path
        earlier = log.read_bytes() if log.exists() else b""
        write_atomically(log, earlier + json.dumps(record).encode() + b"\n")

    def _describe(self, meter: "_Meter") -> str:
        left = (self._batches_per_epoch - int(self._batch)) * meter.seconds / meter.batches
        return (
            f"epoch {int(self._epoch) + 1}/{self._config.epochs} "
            f"batch {int(self._batch):,}/{self._batches_per_epoch:,}: {meter} "
            f"{left:.0f} s left in the epoch"
        )


@dataclasses.dataclass
class _Meter:
    """Sums over the updates of a run of one epoch."""

    nll: float = 0.0
    words: int = 0
    sentences: int = 0
    batches: int = 0
    seconds: float = 0.0

    def add(self, batch: Batch) -> None:
        self.nll += float(batch.nll)
        self.words += int(batch.words)
        self.sentences += int(batch.sentences)
        self.batches += 1

    def __str__(self) -> str:
        return (
            f"{self.nll / self.words:.3f} nats/token, {self.nll / self.sentences:.2f} "
            f"nats/sentence, {self.words / self.seconds:,.0f} words/s,"
        )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextlib.contextmanager
def _deferred_signals() -> Iterator[list[int]]:
    """Collect the first SIGINT or SIGTERM instead of dying; a second one acts at once."""
    received: list[int] = []
    earlier: dict[int, Any] = {}

    def receive(number: int, frame: Any) -> None:
        del frame
        received.append(number)
        _restore(earlier)

    for number in (signal.SIGINT, signal.SIGTERM):
        earlier[number] = signal.signal(number, receive)
    try:
        yield received
    finally:
        _restore(earlier)


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
