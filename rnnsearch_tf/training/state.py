"""The state of a training run other than its weights and its optimizer's variables."""

import dataclasses
import json
import math
from typing import Any, TypeVar

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.json_files import parse_json
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.training.logs import RunningMetrics

_Dataclass = TypeVar("_Dataclass")


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
        """Read the values, for TensorFlow; ValueError if they are not as many."""
        values = np.frombuffer(string_value, self._variable.dtype)
        self._variable.assign(values.reshape(self._variable.shape))


def _build(dataclass: type[_Dataclass], values: Any) -> _Dataclass:
    """Build a dataclass from all of its fields; a missing one would silently be its default."""
    names = {field.name for field in dataclasses.fields(dataclass)}  # type: ignore[arg-type]
    if not isinstance(values, dict) or set(values) != names:
        raise ValueError(f"not the {dataclass.__name__} of this version")
    return dataclass(**values)
