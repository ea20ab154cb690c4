"""Training: it learns, stops cleanly, goes on where it stopped, and keeps what it promises."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest

from rnnsearch_tf.model_directory import ModelDirectory
from rnnsearch_tf.scripts import train


def weights(path: Path, which: str = "last") -> list[np.ndarray]:
    keras.utils.set_random_seed(0)
    return ModelDirectory(path).load_model(which).get_weights()


def log(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]


def test_a_model_directory_is_complete(model_dir):
    found = {file.name for file in model_dir.iterdir()}
    assert found == {
        "config.json", "source.vocab", "target.vocab", "best.weights.h5", "last.weights.h5",
        "checkpoints", "training.jsonl",
    }  # fmt: skip
    (record,) = log(model_dir)
    assert record["epoch"] == 1
    assert record["nll_per_token"] < np.log(200)


def test_the_loss_falls(tmp_path, train_flags):
    path = tmp_path / "model"
    flags = [*train_flags, "--epochs=4", "--learning_rate=0.01", f"--model_dir={path}"]
    assert train.run(flags) == 0
    losses = [record["nll_per_token"] for record in log(path)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.1


def start(flags: list[str], path: Path) -> subprocess.Popen:
    """A training in a process of its own, returned once its first updates are through."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rnnsearch_tf.scripts.train", *flags, f"--model_dir={path}"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "batch" in line:
            return process
    raise AssertionError("training ended before its first update")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_usable_directory_that_goes_on(tmp_path, train_flags, number):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    flags = [*train_flags, "--epochs=40", "--decay=none"]
    process = start(flags, broken)
    time.sleep(1)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    done = len(log(broken)) if (broken / "training.jsonl").exists() else 0
    assert done < 40
    assert weights(broken, "best")
    short = [*train_flags, f"--epochs={done + 1}", "--decay=none"]
    assert train.run([*short, f"--model_dir={broken}"]) == 0
    assert train.run([*short, f"--model_dir={whole}"]) == 0
    for stopped, straight in zip(weights(broken), weights(whole), strict=True):
        np.testing.assert_allclose(stopped, straight, atol=1e-6)


def test_kill_leaves_a_directory_that_goes_on(tmp_path, train_flags):
    path = tmp_path / "model"
    process = start([*train_flags, "--epochs=40"], path)
    process.kill()
    process.wait(60)
    assert train.run([*train_flags, f"--model_dir={path}"]) == 0
    assert len(log(path)) >= 1
    assert not list(path.glob(".*tmp*"))


def test_a_finished_training_is_left_alone(model_dir, train_flags):
    before = {f.name: f.read_bytes() for f in model_dir.iterdir() if f.is_file()}
    assert train.run([*train_flags, f"--model_dir={model_dir}"]) == 0
    assert before == {f.name: f.read_bytes() for f in model_dir.iterdir() if f.is_file()}


def test_without_a_development_set_the_last_weights_are_best(tmp_path, train_flags):
    flags = [flag for flag in train_flags if not flag.startswith("--valid")]
    path = tmp_path / "model"
    assert train.run([*flags, f"--model_dir={path}"]) == 0
    for best, last in zip(weights(path, "best"), weights(path), strict=True):
        np.testing.assert_array_equal(best, last)
    assert "bleu" not in log(path)[0]


def test_a_disk_that_refuses(tmp_path, monkeypatch, capsys, train_flags):
    real = os.replace

    def refuse(source, target):
        if str(target).endswith("last.weights.h5"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    assert train.run([*train_flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert "last.weights.h5: cannot be written" in last_line
    assert not list((tmp_path / "model").glob(".*tmp*"))


def test_a_damaged_checkpoint_is_passed_over(tmp_path, capsys, train_flags):
    path = tmp_path / "model"
    for epochs in (1, 2):
        assert train.run([*train_flags, f"--epochs={epochs}", f"--model_dir={path}"]) == 0
    newest = sorted((path / "checkpoints").glob("*.data-*"))[-1]
    newest.write_bytes(newest.read_bytes()[:1000])
    assert train.run([*train_flags, "--epochs=2", f"--model_dir={path}"]) == 0
    said = capsys.readouterr().err
    assert "damaged, passed over" in said
    assert [record["epoch"] for record in log(path)] == [1, 2, 2]
