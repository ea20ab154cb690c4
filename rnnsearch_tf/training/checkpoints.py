"""Checkpoints, from which a training run resumes."""

import contextlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import InputError, first_line, input_errors
from rnnsearch_tf.files import synchronize
from rnnsearch_tf.progress import say
from rnnsearch_tf.training.state import SavedState, TrainingState

# Errors for a truncated or foreign checkpoint: TensorFlow's, some of which its reader does not mean
# to raise, and the ValueError of `SavedState.deserialize` for one of another version.
_UNREADABLE = (tf.errors.OpError, AssertionError, IndexError, RuntimeError, ValueError)


JAX = "jax"  # the part that a step on JAX saves


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
        """The state that is saved and restored; to be changed in place."""
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
