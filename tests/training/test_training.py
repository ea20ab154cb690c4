"""Training: it learns, stops cleanly, goes on where it stopped, and keeps what it promises."""

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.compat.proto import event_pb2
from training_process import start

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import ParallelText, read_parallel
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training import run as experiment
from rnnsearch_tf.training.trainer import Evaluation

pytestmark = pytest.mark.slow


def weights(path: Path, which: str = "last") -> list[np.ndarray]:
    keras.utils.set_random_seed(0)
    return ModelDirectory(path).load_model(which).get_weights()


def log(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]


def test_a_model_directory_is_complete(model_dir):
    found = {file.name for file in model_dir.iterdir()}
    assert found == {
        "config.json", "source.vocab", "target.vocab", "best.weights.h5", "last.weights.h5",
        "checkpoints", "training.jsonl", "tensorboard", ".lock",
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


@pytest.fixture(scope="module")
def flags(train_flags) -> list[str]:
    """Of a training without evaluations, which take half of its time."""
    return [flag for flag in train_flags if not flag.startswith("--valid")]


def test_a_signal_leaves_a_usable_directory_that_goes_on(tmp_path, flags):
    """That it goes on exactly, `test_resume` tells."""
    path = tmp_path / "model"
    process = start([*flags, "--epochs=40", "--learning_rate_schedule=constant"], path)
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 128 + signal.SIGTERM
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    done = len(log(path)) if (path / "training.jsonl").exists() else 0
    assert done < 40
    assert weights(path, "best")
    short = [
        *flags,
        f"--epochs={done + 1}",
        "--learning_rate_schedule=constant",
        f"--model_dir={path}",
    ]
    assert train.run(short) == 0
    assert [record["epoch"] for record in log(path)] == list(range(1, done + 2))


def contents(path: Path) -> dict[str, tuple[int, bytes]]:
    """All files, with the time they were written."""
    return {str(f): (f.stat().st_mtime_ns, f.read_bytes()) for f in path.rglob("*") if f.is_file()}


def test_a_finished_training_is_left_alone(model_dir, tmp_path, train_flags, capsys):
    path = shutil.copytree(model_dir, tmp_path / "model")
    before = contents(path)
    assert train.run([*train_flags, f"--model_dir={path}"]) == 0
    assert contents(path) == before
    assert "nothing is left to do" in capsys.readouterr().err


def test_a_disk_that_refuses(tmp_path, monkeypatch, capsys, flags):
    real = os.replace

    def refuse(source, target):
        if str(target).endswith("last.weights.h5"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    assert train.run([*flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert "last.weights.h5: cannot be written" in last_line
    assert not list((tmp_path / "model").glob(".*tmp*"))


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory, flags) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "model"
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 0
    assert len(list(path.glob("checkpoints/*.index"))) == 2
    return path


def test_without_a_development_set_the_last_weights_are_best(two_checkpoints):
    for best, last in zip(weights(two_checkpoints, "best"), weights(two_checkpoints), strict=True):
        np.testing.assert_array_equal(best, last)
    assert "bleu" not in log(two_checkpoints)[0]


def copy_with_damage(two_checkpoints: Path, path: Path, *names: str) -> Path:
    shutil.copytree(two_checkpoints, path)
    for name in names:
        file = path / "checkpoints" / name
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 3])
    return path


DATA = "ckpt-2.data-00000-of-00001"


def test_a_truncated_checkpoint_is_passed_over(tmp_path, two_checkpoints, capsys, flags):
    path = copy_with_damage(two_checkpoints, tmp_path / "model", DATA)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 0
    said = capsys.readouterr().err
    assert "ckpt-2: damaged or of another version, passed over" in said
    assert "going on from" in said and "ckpt-1: epoch 2, batch 1" in said
    assert [record["epoch"] for record in log(path)] == [1, 2]
    for again, whole in zip(weights(path), weights(two_checkpoints), strict=True):
        np.testing.assert_array_equal(again, whole)


def test_a_trained_folder_without_checkpoints_is_not_trained_anew(
    tmp_path, two_checkpoints, capsys, flags
):
    path = copy_with_damage(two_checkpoints, tmp_path / "model")
    shutil.rmtree(path / "checkpoints")
    before = contents(path)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 1
    assert "its checkpoints are gone" in capsys.readouterr().err.splitlines()[-1]
    assert contents(path) == before


def test_no_whole_checkpoint_is_an_error_and_nothing_is_written(
    tmp_path, two_checkpoints, capsys, flags
):
    damaged = (DATA, DATA.replace("2", "1", 1))
    path = copy_with_damage(two_checkpoints, tmp_path / "model", *damaged)
    before = contents(path)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 1
    assert "no checkpoint there is whole" in capsys.readouterr().err.splitlines()[-1]
    assert contents(path) == before


def test_a_full_disk_keeps_the_older_checkpoint(tmp_path, two_checkpoints, flags):
    """A file may not grow: what a full disk does to a write, through the same calls."""
    path = copy_with_damage(two_checkpoints, tmp_path / "model")
    before = {name for name in contents(path) if "checkpoints" in name}
    size = (path / "checkpoints" / DATA).stat().st_size
    flags = [*flags, "--epochs=3", f"--model_dir={path}"]
    script = (
        "import resource, signal, sys\n"
        "from rnnsearch_tf.scripts import train\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size // 2},) * 2)\n"
        "sys.exit(train.run(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *flags],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 1, done.stderr
    assert re.search(rf"{path}/\S+: cannot be written: \S", done.stderr.splitlines()[-1])
    assert {name for name in contents(path) if "checkpoints" in name} == before
    assert not list(path.glob(".*tmp*"))
    assert train.run(flags) == 0
    assert [record["epoch"] for record in log(path)] == [1, 2, 3]


# --- bad gradients and too little memory ----------------------------------------------------------


@pytest.fixture(scope="module")
def text(corpus) -> tuple[ParallelText, ParallelText]:
    train, valid = (
        read_parallel(corpus / f"{part}.en", corpus / f"{part}.fr") for part in ("train", "valid")
    )
    return train, valid


def tiny(**settings) -> Config:
    preset = PRESETS["rnnsearch-tiny"]
    model = dataclasses.replace(
        preset.model,
        source_vocabulary_size=200,
        target_vocabulary_size=200,
        embedding_size=8,
        hidden_size=11,
        attention_size=7,
        maxout_size=5,
    )
    training = dataclasses.replace(preset.training, batch_size=32, **settings)
    return dataclasses.replace(preset, model=model, training=training)


class Watcher(keras.callbacks.Callback):
    """Keeps the logs, and calls a function before the update of that number."""

    def __init__(self, act=lambda update: None):
        super().__init__()
        self.batches: list[dict] = []
        self.epochs: list[dict] = []
        self.act = act

    def on_epoch_begin(self, epoch, logs=None):
        self.act(len(self.batches) + 1)

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append(logs)
        self.act(len(self.batches) + 1)

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(logs)


@pytest.fixture
def spoil(monkeypatch) -> tf.Variable:
    """What every loss is multiplied by."""
    factor = tf.Variable(1.0)
    token_losses = TranslationModel.token_losses

    def spoilt(self, source, target, training=False):
        losses = token_losses(self, source, target, training)
        return losses * factor if training else losses

    monkeypatch.setattr(TranslationModel, "token_losses", spoilt)
    return factor


def test_an_update_that_is_not_finite_is_skipped_counted_and_shown(tmp_path, text, spoil, capsys):
    watcher = Watcher(lambda update: spoil.assign(np.nan if update in (4, 5, 9) else 1.0))
    config = tiny(epochs=1, max_skipped=3)
    assert experiment.train(config, tmp_path, text[0], callbacks=[watcher]) is None
    (record,) = log(tmp_path)
    assert record["skipped"] == pytest.approx(3 / 11)
    assert np.isfinite(record["train_nll_per_token"])
    assert np.isfinite(record["gradient_norm"])
    norms = [logs["gradient_norm"] for logs in watcher.batches]
    assert [i + 1 for i, norm in enumerate(norms) if not np.isfinite(norm)] == [4, 5, 9]
    assert all(np.isfinite(weight).all() for weight in weights(tmp_path))
    said = capsys.readouterr().err
    assert "NOT FINITE and skipped in 27.3%" in said
    assert re.search(r"update 1/11: .*\d tokens/s$", said, re.M)  # what is left is not known yet


def test_too_many_in_a_row_stop_the_training_with_the_last_good_weights(tmp_path, text, spoil):
    good: list[np.ndarray] = []

    def act(update):
        if update == 7:
            good.extend(watcher.model.get_weights())
            spoil.assign(np.nan)

    watcher = Watcher(act)
    with pytest.raises(InputError, match=r"not finite in 4 updates in a row; .*model has the last"):
        experiment.train(
            tiny(epochs=3, max_skipped=4), tmp_path / "model", text[0], callbacks=[watcher]
        )
    assert len(watcher.batches) == 9  # the tenth raises
    for found, expected in zip(weights(tmp_path / "model"), good, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_out_of_memory_names_the_bucket(tmp_path, text, monkeypatch):
    token_losses = TranslationModel.token_losses
    seen: list[tuple[int, ...]] = []

    def greedy(self, source, target, training=False):
        tf.py_function(lambda x: seen.append(tuple(x.shape)), [source], [])
        wanted = tf.cast(tf.shape(source)[0], tf.int64) * 2**42
        much = tf.reduce_sum(tf.random.uniform([wanted]))
        return token_losses(self, source, target, training) + much

    monkeypatch.setattr(TranslationModel, "token_losses", greedy)
    with pytest.raises(InputError) as caught:
        experiment.train(tiny(epochs=1), tmp_path, text[0])
    said = str(caught.value)
    told = re.match(r"out of memory in an update of (\d+) pairs in .* up to (\d+) tokens", said)
    assert told is not None and tuple(map(int, told.groups())) == seen[0]
    assert "--batch_size" in said and "\n" not in said


# --- watching -------------------------------------------------------------------------------------


def test_callbacks_are_told_what_the_trainer_promises(tmp_path, text):
    watcher = Watcher()
    csv = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    board = keras.callbacks.TensorBoard(tmp_path / "board", write_graph=False)
    config = tiny(epochs=2, evaluation_interval=8)
    callbacks = [watcher, csv, board]
    path = tmp_path / "model"
    assert experiment.train(config, path, text[0], text[1], callbacks=callbacks) is None
    assert [logs["updates"] for logs in watcher.batches] == list(range(1, 23))
    assert [logs["updates"] for logs in watcher.epochs] == [8, 16, 22]
    first = watcher.batches[:8]
    assert first[0]["nll_per_token"] == pytest.approx(np.log(200), abs=0.2)
    assert 0 < first[0]["nll_per_token"] < first[0]["loss"]
    assert watcher.epochs[0]["gradient_norm"] == pytest.approx(
        np.mean([logs["gradient_norm"] for logs in first]), rel=1e-6
    )
    assert watcher.epochs[0]["clipped"] == np.mean([logs["gradient_norm"] > 1 for logs in first])
    assert watcher.epochs[0]["loss"] == pytest.approx(first[-1]["mean_loss"])
    assert all(logs["tokens_per_second"] > 0 for logs in watcher.batches)
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert len(rows) == 4 and "val_bleu" in rows[0] and "val_nll_per_token" in rows[0]
    assert list((tmp_path / "board").rglob("events*"))


def events(folder: Path) -> dict[str, list]:
    """TensorBoard's events: name to (step, value)."""
    found: dict[str, list] = {}
    for file in folder.glob("events*"):
        for record in tf.data.TFRecordDataset(str(file)):
            event = event_pb2.Event.FromString(record.numpy())
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.tensor))
    return found


def test_tensorboard_has_curves_translations_and_a_picture(model_dir):
    found = events(model_dir / "tensorboard")
    (record,) = log(model_dir)
    ((step, bleu),) = found["evaluation/val_bleu"]
    assert step == record["updates"]
    assert tf.make_ndarray(bleu) == pytest.approx(record["bleu"])
    ((_, table),) = found["translations"]
    assert len(tf.make_ndarray(table).item().decode().splitlines()) == 2 + 5
    ((_, picture),) = found["alignment"]
    width, height, png = tf.make_ndarray(picture)
    assert tf.io.decode_png(png).shape[:2] == (int(height), int(width))
    assert {"evaluation/gradient_norm", "evaluation/clipped", "evaluation/loss"} <= found.keys()


@pytest.fixture
def judged(monkeypatch):
    """Validation sets that say what a test wants, one evaluation after the other."""

    def use(*evaluations: Evaluation) -> None:
        left = list(evaluations)
        monkeypatch.setattr(experiment, "ValidationSet", lambda *_: Judge(left))

    class Judge:
        def __init__(self, left):
            self.left, self.text, self.translator = left, ParallelText([], []), None

        def __call__(self):
            return self.left.pop(0)

    return use


@pytest.mark.parametrize(("monitor", "best", "ends"), [("bleu", 2, 4), ("nll", 3, 5)])
def test_early_stopping_and_the_best_weights(tmp_path, text, judged, monitor, best, ends):
    bleu, nll = (10, 12, 11, 11.5, 13, 9), (5.0, 4.0, 3.0, 3.5, 3.1, 2.0)
    judged(*(Evaluation(n, 9 * n, b) for n, b in zip(nll, bleu, strict=True)))
    config = tiny(epochs=6, early_stopping=monitor, patience=2)
    evaluated: list[list[np.ndarray]] = []
    keep: Any = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: evaluated.append(keep.model.get_weights())
    )
    assert experiment.train(config, tmp_path, text[0], text[1], callbacks=[keep]) is None
    assert len(log(tmp_path)) == len(evaluated) == ends
    for found, expected in zip(weights(tmp_path, "best"), evaluated[best - 1], strict=True):
        np.testing.assert_array_equal(found, expected)
    before = contents(tmp_path)
    assert experiment.train(config, tmp_path, *text) is None
    assert contents(tmp_path) == before


def test_more_patience_goes_on_with_a_training_that_was_stopped_early(tmp_path, text, judged):
    judged(*[Evaluation(3.0, 9.0, 10.0)] * 9)
    for patience, ends in ((2, 3), (4, 5)):
        config = tiny(
            epochs=9, early_stopping="bleu", patience=patience, learning_rate_schedule="constant"
        )
        assert experiment.train(config, tmp_path, *text) is None
        assert len(log(tmp_path)) == ends


def test_a_callback_that_stops_is_heeded_after_the_evaluation(tmp_path, text):
    def stop(update):
        if update == 4:
            watcher.model.stop_training = True

    watcher = Watcher(stop)
    config = tiny(epochs=9, learning_rate_schedule="constant")
    assert experiment.train(config, tmp_path, text[0], callbacks=[watcher]) is None
    assert [record["updates"] for record in log(tmp_path)] == [11]
    assert weights(tmp_path, "best")


def test_early_stopping_needs_a_development_set(tmp_path, text):
    with pytest.raises(InputError, match="validation set"):
        experiment.train(tiny(early_stopping="bleu"), tmp_path / "model", text[0])
    assert not (tmp_path / "model").exists()


# --- options --------------------------------------------------------------------------------------


def trained_nll(path, text, **settings) -> float:
    """The training pairs' NLL, nats per token, in the last of two epochs."""
    config = tiny(epochs=2, learning_rate=0.01, bucket_width=16, **settings)
    assert experiment.train(config, path, text[0]) is None
    return log(path)[-1]["train_nll_per_token"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory, text) -> float:
    """That of a training without options."""
    return trained_nll(tmp_path_factory.mktemp("plain"), text)


@pytest.mark.parametrize(
    "settings",
    [{"jit_compile": True}, {"dtype_policy": "mixed_bfloat16"}, {"batching": "sorted"}],
    ids=str,
)
def test_options_train_too(tmp_path, text, plain, settings):
    """They end near the plain training, if not in the same place."""
    chosen = trained_nll(tmp_path, text, **settings)
    if "jit_compile" not in settings:
        assert plain != chosen
    assert chosen == pytest.approx(plain, abs=1e-4 if "jit_compile" in settings else 0.1)


def test_print_config_shows_what_a_preset_means(capsys):
    flags = ["--preset=rnnencdec-30", "--batch_size=7", "--print_config"]
    assert train.run(flags) == 0
    shown = Config.from_json(capsys.readouterr().out)
    preset = PRESETS["rnnencdec-30"]
    assert shown.model == preset.model
    assert shown.training == dataclasses.replace(preset.training, batch_size=7)
