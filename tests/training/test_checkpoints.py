"""Checkpoints: the newest two, whole or not at all."""

import resource
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.training.checkpoints import Checkpoints, RunningMetrics
from rnnsearch_tf.training.train_step import Batch


@pytest.fixture
def variable() -> tf.Variable:
    return tf.Variable(tf.zeros([100_000]))


@pytest.fixture
def checkpoints(tmp_path, variable) -> Checkpoints:
    return Checkpoints(tmp_path, variable=variable)


def save(checkpoints: Checkpoints, variable: tf.Variable, value: int) -> None:
    variable.assign(tf.fill(variable.shape, float(value)))
    checkpoints.state.updates = value
    checkpoints.save()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def both(*numbers: int) -> set[str]:
    ends = ("index", "data-00000-of-00001")
    return {f"ckpt-{number}.{end}" for number in numbers for end in ends}


def restored(folder: Path) -> tuple[int, float, int]:
    """The number, the variable and the state that a new process finds."""
    variable = tf.Variable(tf.ones([100_000]))
    fresh = Checkpoints(folder, variable=variable)
    number = fresh.restore(ProgressLine())
    return number, float(variable[-1]), fresh.state.updates


def test_the_newest_two_stay(tmp_path, checkpoints, variable):
    for value in (10, 20, 30):
        save(checkpoints, variable, value)
    assert names(tmp_path) == both(2, 3)
    assert restored(tmp_path) == (3, 30.0, 30)


def test_an_empty_folder_has_none(tmp_path):
    assert restored(tmp_path / "nothing") == (0, 1.0, 0)


def test_a_full_disk_leaves_the_older_ones(tmp_path, checkpoints, variable):
    """A limit on a file's size stops the same calls that a full disk stops."""
    for value in (10, 20):
        save(checkpoints, variable, value)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            save(checkpoints, variable, 30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == both(1, 2)
    assert restored(tmp_path) == (2, 20.0, 20)


@pytest.mark.parametrize(("end", "left"), [("data-00000-of-00001", 5000), ("index", 50)])
def test_damaged_and_unfinished_ones_go_when_an_older_one_is_gone_back_to(
    tmp_path, checkpoints, variable, capsys, end, left
):
    for value in (10, 20):
        save(checkpoints, variable, value)
    file = tmp_path / f"ckpt-2.{end}"
    file.write_bytes(file.read_bytes()[:left])
    (tmp_path / "ckpt-3.data-00000-of-00001").write_bytes(b"no index")
    (tmp_path / "ckpt-4_temp").mkdir()
    assert checkpoints.restore(ProgressLine()) == 1
    said = capsys.readouterr().err
    assert "ckpt-2: damaged" in said and "ckpt-3" not in said
    assert float(variable[0]) == 10.0
    checkpoints.remove_newer(1)
    assert names(tmp_path) == both(1)
    save(checkpoints, variable, 40)
    assert names(tmp_path) == both(1, 2)
    assert restored(tmp_path) == (2, 40.0, 40)


def test_a_meter_counts_and_survives(tmp_path, checkpoints):
    meter = checkpoints.state.meter
    meter.add(Batch(20.0, 8.0, 2.0, 0.5, 1.0, 0.0, 9.0, 5.0), limit=1.0)
    meter.add(Batch(np.nan, 8.0, 2.0, np.nan, 1.0, 0.0, np.nan, 5.0), limit=1.0)
    meter.add(Batch(10.0, 4.0, 1.0, 2.5, 1.0, 0.0, 3.0, 3.0), limit=1.0)
    assert meter.means() == {
        "train_nll_per_token": 2.5,
        "train_nll_per_sentence": 10.0,
        "gradient_norm": 1.5,
        "clipped": 0.5,
        "skipped": pytest.approx(1 / 3),
        "train_guide_loss": 1.5,
    }
    checkpoints.save()
    fresh = Checkpoints(tmp_path, variable=tf.Variable(tf.zeros([100_000])))
    fresh.restore(ProgressLine())
    assert fresh.state.meter == meter
    assert RunningMetrics().means()["train_nll_per_token"] == 0
    assert "train_guide_loss" not in RunningMetrics().means()
