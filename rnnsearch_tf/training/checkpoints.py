"""Checkpoints, from which a training run resumes, and the state that they hold beside variables."""

import contextlib
import dataclasses
import json
import math
import re
import shutil
import sys
from pathlib import Path
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.errors import InputError, first_line, input_errors
from rnnsearch_tf.files import synchronize
from rnnsearch_tf.json_files import parse_json
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.progress import say
from rnnsearch_tf.training.logs import RunningMetrics

# Errors for a truncated or foreign checkpoint: TensorFlow's, some of which its reader does not mean
# to raise, and the ValueError of `SavedState.deserialize` for one of another version.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)
_Dataclass = TypeVar("_Dataclass")

JAX = "jax"  # the part that a step on JAX saves


@dataclasses.dataclass
class TrainingState:
    """Progress of a training run."""

    epoch: int = 0  # epochs done
    batch: int = 0  # batches done in this epoch
    updates: int = 0  # batches done in all
    evaluations: int = 0
    seconds: float = 0.0  # of training, without evaluations
    best: float = -math.inf  # best score of the weights so far; higher is better
    skipped_in_a_row: int = 0
    metrics: RunningMetrics = dataclasses.field(default_factory=RunningMetrics)
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)  # that may not change


class SavedState(tf.train.experimental.PythonState):
    """A `TrainingState` as a part of a TensorFlow checkpoint; restoring replaces it."""

    def __init__(self, state: TrainingState):
        self.state = state

    def serialize(self) -> str:
        """Write the state as JSON, for TensorFlow."""
        return json.dumps(dataclasses.asdict(self.state))

    def deserialize(self, string_value: str) -> None:
        """Read the state, for TensorFlow; ValueError for that of another version."""
        values = parse_json(string_value)
        if isinstance(values, dict):
            values.setdefault("settings", {})  # before 2026-11-30, states had none
        metrics = _build(RunningMetrics, _build(TrainingState, values).metrics)
        metrics.losses = {name: LossTotal(*total) for name, total in metrics.losses.items()}
        self.state = TrainingState(**{**values, "metrics": metrics})


class SavedVariable(tf.train.experimental.PythonState):
    """A Keras variable of any backend as a part of a TensorFlow checkpoint."""

    def __init__(self, variable: keras.Variable):
        self._variable = variable

    def serialize(self) -> bytes:
        """Write the values, for TensorFlow."""
        return np.asarray(self._variable.value).tobytes()

    def deserialize(self, string_value: bytes) -> None:
        """Read the values, for TensorFlow; ValueError for another number of them."""
        values = np.frombuffer(string_value, self._variable.dtype)
        self._variable.assign(values.reshape(self._variable.shape))


def _build(dataclass: type[_Dataclass], values: Any) -> _Dataclass:
    """Build a dataclass from all of its fields; a missing one would silently be its default."""
    names = {field.name for field in dataclasses.fields(dataclass)}  # type: ignore[arg-type]
    if not isinstance(values, dict) or set(values) != names:
        raise ValueError(f"not the {dataclass.__name__} of this version")
    return dataclass(**values)


class Checkpoints:
    """The newest two checkpoints of a training run, each written whole or not at all.

    They are `ckpt-0`, of the start, `ckpt-1`, `ckpt-2`, …: a new one gets the highest number,
    so none is overwritten. `parts` are objects with variables: model, optimizer.
    """

    def __init__(self, folder: Path, **parts: Any):
        self._folder = folder
        self._parts = parts
        self._saved = SavedState(TrainingState())
        self._checkpoint = tf.train.Checkpoint(state=self._saved, **parts)

    @property
    def state(self) -> TrainingState:
        """The state that is saved and restored; change it in place."""
        return self._saved.state

    def begin(self) -> None:
        """Write ckpt-0, so that a directory with weights or a log always has a checkpoint, too."""
        self._write(0)

    def save(self) -> None:
        """Write a checkpoint, and keep only it and the one before it.

        InputError if it cannot be written; its partial files are removed.
        """
        numbers = self._numbers()
        self._write(max(numbers, default=0) + 1)
        for number in sorted(numbers)[:-1]:
            self._remove(number)

    def restore(self) -> int | None:
        """Restore the newest checkpoint that can be read, report it and return its number, if any.

        InputError if one cannot be opened or is of another backend, or if none can be read.
        """
        # TensorFlow writes the index last: a checkpoint without one was never finished.
        numbers = sorted(self._numbers("ckpt-*.index"), reverse=True)
        for number in numbers:
            path = self._folder / f"ckpt-{number}"
            try:
                self._check_opens(number)
                self._check_backend(str(path))
                status = self._checkpoint.read(str(path)).expect_partial()
                status.assert_existing_objects_matched()
            except _UNREADABLE as error:
                reason = first_line(error)
                say(f"{path}: damaged, or of another version, skipped: {reason}")
                continue
            place = f"epoch {self.state.epoch + 1}, batch {self.state.batch + 1:,}"
            say(f"resuming from {path}: {place}")
            return number
        if numbers:
            raise InputError(f"{self._folder}: none of its checkpoints can be read")
        return None

    def remove_newer(self, number: int | None) -> None:
        """Remove damaged and unfinished checkpoints, once all workers have restored `number`."""
        for newer in self._numbers():
            if number is None or newer > number:
                self._remove(newer)

    def _check_opens(self, number: int) -> None:
        """Raise an InputError for files that cannot be opened: unlike damaged ones, they stay."""
        for path in self._files(number):
            with input_errors(path), path.open("rb"):
                pass

    def _check_backend(self, path: str) -> None:
        is_jax = any(name.startswith(f"{JAX}/") for name, _ in tf.train.list_variables(path))
        if is_jax != (JAX in self._parts):
            backend = JAX if is_jax else "tensorflow"
            raise InputError(f"{path} is of a training run with KERAS_BACKEND={backend}")

    def _write(self, number: int) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._checkpoint.write(str(self._folder / f"ckpt-{number}"))
            for path in (*self._files(number), self._folder, self._folder.parent):
                synchronize(path)  # the older ones may go only when this one is on the disk
        except (OSError, tf.errors.OpError) as error:
            self._remove(number)
            raise InputError(f"{self._folder}: cannot be written: {first_line(error)}") from error

    def _numbers(self, pattern: str = "ckpt-*") -> set[int]:
        """Return the numbers of the checkpoints that have files of that pattern."""
        matches = (re.match(r"ckpt-(\d+)", path.name) for path in self._folder.glob(pattern))
        return {int(match[1]) for match in matches if match}

    def _files(self, number: int) -> list[Path]:
        return list(self._folder.glob(f"ckpt-{number}.*"))

    def _remove(self, number: int) -> None:
        """Remove a checkpoint; on Windows, files that are open elsewhere stay until next time."""
        is_kept = (PermissionError,) if sys.platform == "win32" else ()
        for path in self._files(number):
            with contextlib.suppress(*is_kept):
                path.unlink()
        for path in self._folder.glob(f"ckpt-{number}_temp*"):
            shutil.rmtree(path, ignore_errors=True)
