"""Checkpoints: the newest two, whole or not at all, with the state of the training."""

import dataclasses
import errno
import json
import sys
from pathlib import Path

import pytest
import tensorflow as tf

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.training.checkpoints import Checkpoints, SavedState, TrainingState
from rnnsearch_tf.training.logs import RunningMetrics


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


def restored(folder: Path) -> tuple[int | None, float, int]:
    """Return the number, the variable and the updates that a new process restores."""
    variable = tf.Variable(tf.ones([100_000]))
    fresh = Checkpoints(folder, variable=variable)
    number = fresh.restore()
    return number, float(variable[-1]), fresh.state.updates


def test_the_newest_two_stay(tmp_path, checkpoints, variable):
    checkpoints.begin()
    assert names(tmp_path) == both(0)
    assert restored(tmp_path) == (0, 0.0, 0)
    for value in (10, 20, 30):
        save(checkpoints, variable, value)
    assert names(tmp_path) == both(2, 3)
    assert restored(tmp_path) == (3, 30.0, 30)


def test_an_empty_folder_has_none(tmp_path):
    assert restored(tmp_path / "nothing") == (None, 1.0, 0)


def test_a_full_disk_leaves_the_older_ones(tmp_path, checkpoints, variable):
    """A limit on a file's size stops the same calls that a full disk stops."""
    for value in (10, 20):
        save(checkpoints, variable, value)
    resource = pytest.importorskip("resource", reason="of POSIX")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot be written"):
            save(checkpoints, variable, 30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert names(tmp_path) == both(1, 2)
    assert restored(tmp_path) == (2, 20.0, 20)


def test_one_that_another_program_has_open_is_removed_the_next_time(
    tmp_path, checkpoints, variable, monkeypatch
):
    """Windows removes no file that is open."""

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "open elsewhere", str(path))

    for value in (10, 20):
        save(checkpoints, variable, value)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        patch.setattr(sys, "platform", "win32")
        save(checkpoints, variable, 30)
    assert names(tmp_path) == both(1, 2, 3)
    save(checkpoints, variable, 40)
    assert names(tmp_path) == both(3, 4)


def test_one_that_cannot_be_opened_is_not_taken_for_damaged(
    tmp_path, checkpoints, variable, monkeypatch
):
    def refuse(path: Path, mode: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    save(checkpoints, variable, 10)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="Too many open files"):
        checkpoints.restore()


def cut(content: bytearray) -> None:
    del content[50:]


def flip(content: bytearray) -> None:
    content[len(content) // 3] ^= 8


@pytest.mark.parametrize("damage", [cut, flip])
@pytest.mark.parametrize("end", ["data-00000-of-00001", "index"])
def test_damaged_and_unfinished_ones_go_when_an_older_one_is_gone_back_to(
    tmp_path, checkpoints, variable, capsys, end, damage
):
    for value in (10, 20):
        save(checkpoints, variable, value)
    file = tmp_path / f"ckpt-2.{end}"
    content = bytearray(file.read_bytes())
    damage(content)
    file.write_bytes(content)
    (tmp_path / "ckpt-3.data-00000-of-00001").write_bytes(b"no index")
    (tmp_path / "ckpt-4_temp").mkdir()
    assert checkpoints.restore() == 1
    said = capsys.readouterr().err
    assert "ckpt-2: damaged" in said and "ckpt-3" not in said
    assert float(variable[0]) == 10.0
    checkpoints.remove_newer(1)
    assert names(tmp_path) == both(1)
    save(checkpoints, variable, 40)
    assert names(tmp_path) == both(1, 2)
    assert restored(tmp_path) == (2, 40.0, 40)


# --- the state ------------------------------------------------------------------------------------

METRICS = RunningMetrics(
    {"nll": LossTotal(30.0, 12.0), "guided_alignment": LossTotal(9.5, 5.0)},
    sentences=3, tokens=12.0, seconds=0.5, updates=2, clipped=1, gradient_norm=3.0,
)  # fmt: skip


def test_a_state_survives(tmp_path, checkpoints):
    checkpoints.state.metrics = METRICS
    checkpoints.state.best = 12.5
    checkpoints.save()
    fresh = Checkpoints(tmp_path, variable=tf.Variable(tf.zeros([100_000])))
    fresh.restore()
    assert fresh.state == TrainingState(best=12.5, metrics=METRICS)
    assert fresh.state.metrics.losses["nll"].sum == 30.0


OLD_STATE = {  # as version 0.1.0 wrote it
    "epoch": 0, "batch": 7, "updates": 7, "evaluations": 0, "seconds": 1.5, "best": -1e9,
    "skipped_in_a_row": 0,
    "meter": {
        "nll": 20.0, "words": 8, "sentences": 2, "updates": 7, "clipped": 0, "skipped": 0,
        "gradient_norm": 0.5, "guide_loss": 0.0, "linked": 0.0,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "old",
    [
        json.dumps(OLD_STATE),
        "[]",
        json.dumps({**dataclasses.asdict(TrainingState()), "metrics": {"updates": 7}}),
    ],
)
def test_a_checkpoint_of_another_version_is_skipped_with_a_line(
    tmp_path, checkpoints, variable, capsys, old
):
    class OldState(SavedState):
        def serialize(self):
            return old

    save(checkpoints, variable, 10)
    variable.assign(tf.fill(variable.shape, 20.0))
    path = tmp_path / "ckpt-2"
    tf.train.Checkpoint(state=OldState(TrainingState()), variable=variable).write(str(path))
    assert checkpoints.restore() == 1
    skipped, resuming = capsys.readouterr().err.splitlines()
    assert skipped.startswith(f"{path}: damaged, or of another version, skipped: not the ")
    assert resuming.startswith("resuming from ")
    assert float(variable[0]) == 10.0
    (tmp_path / "ckpt-1.index").unlink()
    with pytest.raises(InputError, match="none of its checkpoints can be read"):
        checkpoints.restore()
