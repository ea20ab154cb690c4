"""Exact resume: a training killed and started again ends bit for bit as one that was not."""

import json
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from forked import ForkedProcess
from training_process import start

from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import train

pytestmark = pytest.mark.slow

FLAGS = (
    "--max_updates=48",
    "--epochs=100",
    "--checkpoint_interval=3",
    "--evaluation_interval=20",  # neither divides an epoch of 11 batches
    "--dropout=0.3",
    "--seed=5",
)


def wait_for(condition, process: ForkedProcess) -> None:
    """Wait until the condition holds or the process has ended."""
    while process.poll() is None and not condition():
        time.sleep(0.0005)


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


def log(path: Path) -> list[dict]:
    records = [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]
    for record in records:
        del record["training_seconds"]
    return records


def weights(path: Path, which: str) -> list[np.ndarray]:
    return ModelDirectory(path).load_model(which).get_weights()


def assert_same(path: Path, reference: Path) -> None:
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


@pytest.fixture(scope="module")
def flags(train_flags) -> list[str]:
    return [*train_flags, *FLAGS]


@pytest.fixture(scope="module")
def reference(tmp_path_factory, flags) -> Path:
    path = tmp_path_factory.mktemp("reference") / "model"
    assert train.run([*flags, f"--model_dir={path}"]) == 0
    assert [record["updates"] for record in log(path)] == [20, 40, 48]
    return path


def checkpoints(path: Path) -> set[str]:
    return {file.name for file in path.glob("checkpoints/*")}


def ends(path: Path) -> Iterator[tuple[Callable[[], bool], signal.Signals]]:
    """Give moments to end it: while a checkpoint is written, while weights are, at random."""

    def half_written():
        return any("temp" in name for name in checkpoints(path))

    def data_without_index():
        names = checkpoints(path)
        return any(".data" in name and name.split(".")[0] + ".index" not in names for name in names)

    yield half_written, signal.SIGKILL
    yield data_without_index, signal.SIGKILL
    yield lambda: any(path.glob(".*.tmp*")), signal.SIGKILL
    for number in (signal.SIGKILL, signal.SIGTERM):
        known = checkpoints(path)
        delay = random.uniform(0, 1)
        begun: list[float] = []

        def later(known=known, delay=delay, begun=begun):
            if checkpoints(path) != known and not begun:
                begun.append(time.monotonic())
            return bool(begun) and time.monotonic() > begun[0] + delay

        yield later, number


def killed_in_its_first_checkpoint(path: Path, reference: Path) -> None:
    """Make a folder with a checkpoint that has no index, which TensorFlow writes last."""
    shutil.rmtree(path, ignore_errors=True)
    (path / "checkpoints" / "ckpt-1_temp").mkdir(parents=True)
    (path / "checkpoints" / "ckpt-1.data-00000-of-00001").write_bytes(b"half")
    for name in ("config.json", "source.vocab", "target.vocab"):
        shutil.copy(reference / name, path)


def test_kills_at_any_moment_change_nothing(tmp_path, flags, reference):
    path, kills = tmp_path / "model", 0
    killed_in_its_first_checkpoint(path, reference)
    for moment, number in ends(path):
        process = start(flags, path)
        wait_for(moment, process)
        in_time = process.poll() is None
        process.send_signal(number)
        process.finish()
        kills += in_time
        if not in_time:
            killed_in_its_first_checkpoint(path, reference)
    assert kills >= 3  # on a busy machine, a moment may be missed
    assert train.run([*flags, f"--model_dir={path}"]) == 0
    assert_same(path, reference)
    assert not list(path.glob(".*.tmp*"))
    assert len(list(path.glob("checkpoints/*.index"))) == 2


def test_two_trainings_in_one_folder_are_refused(flags, reference, capsys):
    with ModelDirectory(reference).locked():
        assert train.run([*flags, f"--model_dir={reference}"]) == 1
    assert "another training is running here" in capsys.readouterr().err.splitlines()[-1]
    assert train.run([*flags, f"--model_dir={reference}"]) == 0


def test_other_text_of_the_same_words_is_refused(tmp_path, flags, reference, capsys):
    """The vocabularies are the same when the lines stand in another order."""
    changed = []
    for flag in flags:
        name, _, value = flag.partition("=")
        if name.startswith("--train"):
            path = tmp_path / Path(value).name
            path.write_text("".join(Path(value).read_text("utf-8").splitlines(True)[::-1]), "utf-8")
            flag = f"{name}={path}"
        changed.append(flag)
    assert train.run([*changed, f"--model_dir={reference}"]) == 1
    assert "training text or its vocabulary differs" in capsys.readouterr().err.splitlines()[-1]
