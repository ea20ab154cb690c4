"""What a training run leaves in its folder, for tests that compare two of them."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.training.checkpoints import Checkpoints


@contextlib.contextmanager
def copied_at(updates: int, path: Path, copy: Path) -> Iterator[None]:
    """Copy a training run's folder when it has its checkpoint of an update."""
    save = Checkpoints.save

    def save_and_copy(checkpoints: Checkpoints) -> None:
        save(checkpoints)
        if checkpoints.state.updates == updates:
            shutil.copytree(path, copy)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoints, "save", save_and_copy)
        yield


def checkpoints(path: Path) -> set[str]:
    return {file.name for file in path.glob("checkpoints/*")}


def is_writing_a_checkpoint(path: Path) -> bool:
    return any("temp" in name for name in checkpoints(path))


def has_data_without_index(path: Path) -> bool:
    names = checkpoints(path)
    return any(".data" in name and name.split(".")[0] + ".index" not in names for name in names)


def is_writing_a_file(path: Path) -> bool:
    """Weights, log, vocabularies or settings."""
    return any(path.glob(".*.tmp*"))


def numbers(path: Path) -> dict[str, np.ndarray]:
    """Return all that the newest checkpoint holds, but for the seconds."""
    newest = max((path / "checkpoints").glob("*.index"), key=lambda p: int(p.stem[5:]))
    reader = tf.train.load_checkpoint(str(newest.with_suffix("")))
    values = {}
    for name in reader.get_variable_to_shape_map():
        value = reader.get_tensor(name)
        if isinstance(value, bytes):
            if name.startswith("_CHECKPOINTABLE"):
                continue  # the graph of objects, whose order is not fixed
            state = json.loads(value)
            del state["seconds"]
            value = json.dumps(state)
        values[name] = np.asarray(value)
    return values


def updates(path: Path) -> int:
    """Return the number of updates of the newest checkpoint."""
    (name,) = (name for name in numbers(path) if name.startswith("state/"))
    return json.loads(str(numbers(path)[name]))["updates"]


def log(path: Path) -> list[dict]:
    records = ModelDirectory(path).read_log()
    for record in records:
        del record["training_seconds"], record["software"]  # somebody may commit meanwhile
    return records


def weights(path: Path, which: str = "last") -> list[np.ndarray]:
    return ModelDirectory(path).load_model(which).get_weights()


def assert_same(path: Path, reference: Path) -> None:
    """Bit for bit: weights, averages of the optimizer, state and log."""
    restored, expected = numbers(path), numbers(reference)
    assert restored.keys() == expected.keys()
    assert len([name for name in restored if "optimizer" in name]) > 60
    for name, value in expected.items():
        np.testing.assert_array_equal(restored[name], value, err_msg=name)
    assert log(path) == log(reference)
    for which in ("last", "best"):
        pairs = zip(weights(path, which), weights(reference, which), strict=True)
        for weight, expected_weight in pairs:
            np.testing.assert_array_equal(weight, expected_weight, err_msg=which)


def assert_same_weights(path: Path, reference: Path) -> None:
    """Within 1e-6."""
    for weight, expected in zip(weights(path), weights(reference), strict=True):
        np.testing.assert_allclose(weight, expected, atol=1e-6)
