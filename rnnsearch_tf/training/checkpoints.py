"""What a training that was killed goes on from."""

import dataclasses
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.files import synchronize
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.training.train_step import Batch

# What TensorFlow raises for a truncated or foreign checkpoint, its reader's own mishaps included.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)


@dataclasses.dataclass
class RunningMetrics:
    """Sums over the updates since the last evaluation."""

    nll: float = 0.0  # nats
    words: int = 0  # target tokens with </s>
    sentences: int = 0
    updates: int = 0
    clipped: int = 0  # updates whose gradient was scaled down
    skipped: int = 0  # updates left out, their gradient not being finite
    gradient_norm: float = 0.0  # summed over the updates that were not skipped
    guide_loss: float = 0.0  # nats
    linked: float = 0.0  # target words that the attention was guided for

    def add(self, batch: Batch, limit: float) -> None:
        """Count an update whose gradient is held to the norm `limit`."""
        norm = float(batch.gradient_norm)
        self.updates += 1
        if not math.isfinite(norm):
            self.skipped += 1
            return
        self.nll += float(batch.nll)
        self.words += int(batch.words)
        self.sentences += int(batch.sentences)
        self.clipped += norm > limit
        self.gradient_norm += norm
        self.guide_loss += float(batch.guide_loss)
        self.linked += float(batch.linked)

    def means(self) -> dict[str, float]:
        """NLL in nats, the gradient's mean norm, the shares of clipped and of skipped updates.

        Of a guided training also the attention's cross-entropy, in nats for each linked word.
        """
        counted = max(self.updates - self.skipped, 1)
        guided = {"train_guide_loss": self.guide_loss / self.linked} if self.linked else {}
        return {
            "train_nll_per_token": self.nll / max(self.words, 1),
            "train_nll_per_sentence": self.nll / max(self.sentences, 1),
            "gradient_norm": self.gradient_norm / counted,
            "clipped": self.clipped / counted,
            "skipped": self.skipped / max(self.updates, 1),
            **guided,
        }


@dataclasses.dataclass
class TrainingState:
    """Where a training is, beside its weights and the optimiser's averages."""

    epoch: int = 0  # epochs done
    batch: int = 0  # batches done in this epoch
    updates: int = 0  # batches done in all
    evaluations: int = 0
    seconds: float = 0.0  # of training, evaluation not counted
    best: float = -math.inf  # of what chooses the best weights; higher is better
    skipped_in_a_row: int = 0
    meter: RunningMetrics = dataclasses.field(default_factory=RunningMetrics)


class _Saved(tf.train.experimental.PythonState):
    """A `TrainingState` inside a TensorFlow checkpoint."""

    def __init__(self, state: TrainingState):
        self.state = state

    def serialize(self) -> str:
        return json.dumps(dataclasses.asdict(self.state))

    def deserialize(self, string_value: str) -> None:
        values = json.loads(string_value)
        self.state = TrainingState(**{**values, "meter": RunningMetrics(**values["meter"])})


class Checkpoints:
    """The newest two checkpoints of a training, each written whole or not at all.

    They are `ckpt-1`, `ckpt-2`, …: a number is never used twice, so a whole checkpoint is never
    written over.

    Args:
        folder: where they lie.
        parts: what has variables: model, optimizer.
    """

    def __init__(self, folder: Path, **parts: Any):
        self._folder = folder
        self._saved = _Saved(TrainingState())
        self._checkpoint = tf.train.Checkpoint(state=self._saved, **parts)

    @property
    def state(self) -> TrainingState:
        """What is saved; to be changed in place."""
        return self._saved.state

    def save(self) -> None:
        """Write a checkpoint; the older ones go when this one is safely on the disk.

        Raises:
            InputError: it cannot be written; nothing of it is left.
        """
        numbers = self._numbers()
        newest = max(numbers, default=0) + 1
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._checkpoint.write(str(self._folder / f"ckpt-{newest}"))
            for path in self._files(newest):
                synchronize(path)
            synchronize(self._folder)
        except (OSError, tf.errors.OpError) as error:
            self._remove(newest)
            raise InputError(f"{self._folder}: cannot be written: {first_line(error)}") from error
        for number in sorted(numbers)[:-1]:
            self._remove(number)

    def restore(self, progress: ProgressLine) -> int:
        """Go back to the newest checkpoint that is whole, if there is one; say which.

        Returns:
            Its number; 0 when there is none.

        Raises:
            InputError: there are checkpoints, and none is whole.
        """
        # TensorFlow writes the index last: what has none was never finished.
        numbers = sorted(self._numbers("ckpt-*.index"), reverse=True)
        for number in numbers:
            path = self._folder / f"ckpt-{number}"
            try:
                self._checkpoint.read(str(path)).assert_existing_objects_matched()
            except _UNREADABLE as error:
                reason = first_line(error)
                progress.finish(f"{path}: damaged or of another version, passed over: {reason}")
                continue
            done = f"epoch {self.state.epoch + 1}, batch {self.state.batch + 1:,}"
            progress.finish(f"going on from {path}: {done}")
            return number
        if numbers:
            raise InputError(f"{self._folder}: no checkpoint there is whole")
        return 0

    def remove_newer(self, number: int) -> None:
        """Remove what is damaged or unfinished, once all have gone back to `number`."""
        for newer in self._numbers():
            if newer > number:
                self._remove(newer)

    def _numbers(self, pattern: str = "ckpt-*") -> set[int]:
        """Those of the checkpoints that have anything, or such a file, on the disk."""
        found = (re.match(r"ckpt-(\d+)", path.name) for path in self._folder.glob(pattern))
        return {int(match[1]) for match in found if match}

    def _files(self, number: int) -> list[Path]:
        return list(self._folder.glob(f"ckpt-{number}.*"))

    def _remove(self, number: int) -> None:
        for path in self._files(number):
            path.unlink()
        for path in self._folder.glob(f"ckpt-{number}_temp*"):
            shutil.rmtree(path, ignore_errors=True)
