"""Training: it learns, stops cleanly, resumes, and reports what it promises."""

import dataclasses
import json
import math
import os
import random
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import scripted_train_step
import tensorflow as tf
import traced_once
from forked import ForkedProcess
from scripted_train_step import ScriptedTrainStep
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.data import subwords
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.best_weights import stops_early
from rnnsearch_tf.models import losses
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.weights_file import read_updates
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.progress import say
from rnnsearch_tf.scripts import train
from rnnsearch_tf.serving.model_card import evaluation_of
from rnnsearch_tf.training import run as training_run
from rnnsearch_tf.training import tensorboard, trainer
from rnnsearch_tf.training.checkpoints import Checkpoints
from rnnsearch_tf.training.distribution import Workers
from rnnsearch_tf.training.logs import Evaluation
from rnnsearch_tf.training.train_step import TrainStep

pytestmark = pytest.mark.slow
TERMINAL = {"TERM": "xterm"}


@pytest.fixture(scope="module", autouse=True)
def models_are_made_once() -> Iterator[None]:
    """Each training run begins with the weights of a new one."""
    with pytest.MonkeyPatch.context() as patch:
        traced_once.use(patch)
        yield


def weights(path: Path, which: str = "last") -> list[np.ndarray]:
    keras.utils.set_random_seed(0)
    return ModelDirectory(path).load_model(which).get_weights()


def log(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]


def test_a_model_directory_is_complete(model_dir):
    assert {file.name for file in model_dir.iterdir()} == {
        "config.json", "source.vocab", "target.vocab", "best.weights.h5", "last.weights.h5",
        "checkpoints", "training.jsonl", "tensorboard", ".lock",
    }  # fmt: skip
    (record,) = log(model_dir)
    assert record["epoch"] == 1
    assert record["nll_per_token"] < np.log(200)


@pytest.fixture(scope="module")
def flags(train_flags) -> list[str]:
    """Flags of a training run without validation."""
    return [flag for flag in train_flags if not flag.startswith("--valid")]


@pytest.fixture
def scripted(monkeypatch) -> None:
    """Let updates trace nothing."""
    scripted_train_step.use(monkeypatch)


@pytest.mark.usefixtures("scripted")
def test_a_signal_leaves_a_clean_terminal_and_a_directory_that_is_resumed(tmp_path, flags):
    """Exact resuming is tested in test_resume.py."""
    from terminal_screen import TerminalScreen  # it skips the test on Windows

    path = tmp_path / "model"
    flags = [*flags, "--learning_rate_schedule=constant", f"--model_dir={path}"]
    typed = False
    with TerminalScreen() as screen:
        arguments = [*flags, "--epochs=40"]
        process = ForkedProcess(
            scripted_train_step.run, arguments, environment=TERMINAL, log=screen.path
        )
        for lines in screen.views(process):
            assert sum("━" in line for line in lines) <= 1
            if not typed and any(line.startswith("epoch 1, ") for line in lines):
                screen.type(b"\x03")
                process.send_signal(signal.SIGINT)
                typed = True
        assert screen.has_cursor
    assert process.returncode == 128 + signal.SIGINT
    assert lines[-1] == "stopped and saved: the same command resumes the training"
    assert not any("━" in line or "^C" in line or "Traceback" in line for line in lines)
    done = len(log(path))
    assert 1 <= done < 40
    assert weights(path, "best")
    assert train.run([*flags, f"--epochs={done + 1}"]) == 0
    assert [record["epoch"] for record in log(path)] == list(range(1, done + 2))


@pytest.mark.usefixtures("scripted")
def test_a_signal_once_training_is_announced_loses_nothing(tmp_path, monkeypatch, capsys, flags):
    def interrupted(text: str) -> None:
        say(text)
        if text.startswith("training on"):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(trainer, "say", interrupted)
    path = tmp_path / "model"
    assert train.run([*flags, f"--model_dir={path}"]) == 128 + signal.SIGINT
    assert capsys.readouterr().err.splitlines()[-1].startswith("stopped and saved")
    assert list(path.glob("checkpoints/*.index"))


def contents(path: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files, with the time they were written."""
    return {str(f): (f.stat().st_mtime_ns, f.read_bytes()) for f in path.rglob("*") if f.is_file()}


def test_a_finished_training_is_left_alone(model_dir, tmp_path, train_flags, capsys):
    path = shutil.copytree(model_dir, tmp_path / "model")
    before = contents(path)
    assert train.run([*train_flags, f"--model_dir={path}"]) == 0
    assert contents(path) == before
    said = capsys.readouterr().err
    assert "nothing is left to do" in said and "stopped early" not in said
    (tmp_path / "settings").write_text("decoding: {length_penalty: 0.7, beam_size: 99}")
    flags = [*train_flags, f"--model_dir={path}", f"--config={tmp_path / 'settings'}"]
    assert train.run(flags) == 0
    assert contents(path) == before
    config = json.loads((path / "config.json").read_text("utf-8"))
    del config["sha256"]
    config["decoding"]["beam_size"] = 2
    (path / "config.json").write_text(json.dumps(config), "utf-8")
    assert train.run([*train_flags, f"--model_dir={path}"]) == 0
    assert ModelDirectory(path).load_config().decoding.beam_size == 2


@pytest.mark.usefixtures("scripted")
def test_a_disk_that_refuses(tmp_path, monkeypatch, capsys, flags):
    real = os.replace

    def refuse(source, target):
        if str(target).endswith("last.weights.h5"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    assert train.run([*flags, "--max_updates=1", f"--model_dir={tmp_path / 'model'}"]) == 1
    last_line = capsys.readouterr().err.splitlines()[-1]
    assert "last.weights.h5: cannot be written" in last_line
    assert not list((tmp_path / "model").glob(".*tmp*"))


@pytest.fixture(scope="module")
def two_checkpoints(tmp_path_factory, flags) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "model"
    with pytest.MonkeyPatch.context() as patch:
        scripted_train_step.use(patch)
        assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 0
    assert len(list(path.glob("checkpoints/*.index"))) == 2
    return path


def test_without_a_validation_set_the_last_weights_are_best(two_checkpoints):
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


@pytest.mark.usefixtures("scripted")
def test_a_truncated_checkpoint_is_skipped(tmp_path, two_checkpoints, capsys, flags):
    path = copy_with_damage(two_checkpoints, tmp_path / "model", DATA)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 0
    said = capsys.readouterr().err
    assert "ckpt-2: damaged, or of another version, skipped" in said
    assert "resuming from" in said and "ckpt-1: epoch 2, batch 1" in said
    assert [record["epoch"] for record in log(path)] == [1, 2]
    for again, whole in zip(weights(path), weights(two_checkpoints), strict=True):
        np.testing.assert_array_equal(again, whole)


def test_no_whole_checkpoint_is_an_error_and_nothing_is_written(
    tmp_path, two_checkpoints, capsys, flags
):
    damaged = (DATA, DATA.replace("2", "1", 1))
    path = copy_with_damage(two_checkpoints, tmp_path / "model", *damaged)
    before = contents(path)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 1
    assert "none of its checkpoints can be read" in capsys.readouterr().err.splitlines()[-1]
    assert contents(path) == before


# --- bad gradients and too little memory ----------------------------------------------------------


@pytest.fixture(scope="module")
def text(corpus) -> tuple[ParallelText, ParallelText]:
    train, valid = (
        ParallelFiles([corpus / f"{part}.en"], [corpus / f"{part}.fr"]).read()
        for part in ("train", "valid")
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
    """Keeps the logs, and calls a function with the number of each update, before it."""

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
    """Return the factor of every training loss."""
    factor = tf.Variable(1.0)

    def spoilt(*arguments):
        total = losses.nll(*arguments)
        return total._replace(sum=total.sum * factor)

    monkeypatch.setitem(losses.LOSSES, "nll", spoilt)
    return factor


def test_updates_that_are_not_finite_are_skipped_until_there_are_too_many(
    tmp_path, text, spoil, capsys
):
    """Updates 4, 5 and 9 are not finite; from 18 on, none is, and the fourth ends the training."""
    good: list[np.ndarray] = []

    def act(update):
        spoil.assign(np.nan if update in (4, 5, 9) or update >= 18 else 1.0)
        if update == 18:
            good.extend(watcher.model.get_weights())

    watcher = Watcher(act)
    path, config = tmp_path / "model", tiny(epochs=3, max_skipped=4)
    said = r"not finite in 4 updates in a row; .*model has the weights before"
    with pytest.raises(InputError, match=said):
        training_run.train(config, path, text[0], callbacks=[watcher])
    (record,) = log(path)
    assert record["skipped"] == pytest.approx(3 / 12)
    assert np.isfinite(record["train_nll_per_token"])
    assert np.isfinite(record["gradient_norm"])
    norms = [logs["gradient_norm"] for logs in watcher.batches]
    assert [i + 1 for i, norm in enumerate(norms) if not np.isfinite(norm)] == [4, 5, 9, 18, 19, 20]
    assert len(watcher.batches) == 20  # the 21st raises
    assert all(np.isfinite(weight).all() for weight in good)
    for last, expected in zip(weights(path), good, strict=True):
        np.testing.assert_array_equal(last, expected)
    said = capsys.readouterr().err
    assert "NOT FINITE and skipped in 25.0%" in said
    assert re.search(r"^update 1/36: .* clipped\)$", said, re.M)  # the time left is not known yet


@pytest.mark.usefixtures("scripted")
def test_out_of_memory_names_the_bucket(tmp_path, text, monkeypatch):
    shapes: list[tuple[int, ...]] = []

    def refuse(step, batch, stop):
        shapes.append(batch["source"].shape)
        raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")

    monkeypatch.setattr(ScriptedTrainStep, "__call__", refuse)
    with pytest.raises(InputError) as caught:
        training_run.train(tiny(epochs=1), tmp_path, text[0])
    said = str(caught.value)
    told = re.match(r"out of memory in an update of (\d+) pairs in .* up to (\d+) tokens", said)
    assert told is not None and tuple(map(int, told.groups())) == shapes[0]
    assert "--batch_size" in said and "\n" not in said


# --- callbacks ------------------------------------------------------------------------------------


def test_a_training_learns_and_callbacks_are_told_of_it_and_end_it(tmp_path, text):
    """It is ended in update 20, which takes effect after the evaluation at 24."""

    def act(update):
        watcher.model.stop_training |= update == 20

    watcher = Watcher(act)
    csv = keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    board = keras.callbacks.TensorBoard(tmp_path / "board", write_graph=False)
    config = tiny(
        epochs=9, evaluation_interval=8, learning_rate=0.01, learning_rate_schedule="constant"
    )
    callbacks = [watcher, csv, board]
    assert (
        training_run.train(config, tmp_path / "model", text[0], text[1], callbacks=callbacks)
        is None
    )
    assert [logs["updates"] for logs in watcher.batches] == list(range(1, 25))
    assert [logs["updates"] for logs in watcher.epochs] == [8, 16, 24]
    assert [record["updates"] for record in log(tmp_path / "model")] == [8, 16, 24]
    assert weights(tmp_path / "model", "best")
    nll = [record["nll_per_token"] for record in log(tmp_path / "model")]
    assert nll == sorted(nll, reverse=True)
    assert nll[-1] < nll[0] - 0.1
    first = watcher.batches[:8]
    assert first[0]["nll_per_token"] == pytest.approx(np.log(200), abs=0.2)
    assert first[0]["perplexity"] == pytest.approx(np.exp(first[0]["nll_per_token"]))
    assert 0 < first[0]["nll_per_token"] < first[0]["loss"]
    assert "mean_guided_alignment_loss" not in first[0]
    told = watcher.epochs[0]
    assert told["gradient_norm"] == pytest.approx(
        np.mean([logs["gradient_norm"] for logs in first]), rel=1e-6
    )
    assert told["clipped"] == np.mean([logs["gradient_norm"] > 1 for logs in first])
    assert told["loss"] == pytest.approx(first[-1]["mean_loss"])
    assert told["val_perplexity"] == pytest.approx(np.exp(told["val_nll_per_token"]))
    assert all(logs["tokens_per_second"] > 0 for logs in watcher.batches)
    rows = (tmp_path / "log.csv").read_text().splitlines()
    assert len(rows) == 4 and "val_bleu" in rows[0] and "val_nll_per_token" in rows[0]
    columns = rows[0].split(",")
    assert len(set(columns)) == len(columns)
    assert list((tmp_path / "board").rglob("events*"))


def test_tensorboard_has_two_runs_with_the_same_charts(model_dir):
    board = EventMultiplexer().AddRunsFromDirectory(str(model_dir / "tensorboard")).Reload()
    (record,) = log(model_dir)
    tags = {run: set(kinds["tensors"]) for run, kinds in board.Runs().items()}
    assert tags.keys() == {"train", "validation"}
    assert tags["train"] & tags["validation"] == {
        "quality/loss", "quality/nll_per_token", "quality/perplexity",
    }  # fmt: skip
    for run, tag, expected in (
        ("train", "quality/nll_per_token", record["train_nll_per_token"]),
        ("train", "update/gradient_norm", record["gradient_norm"]),
        ("train", "update/clipped", record["clipped"]),
        ("validation", "quality/nll_per_token", record["nll_per_token"]),
        ("validation", "quality/bleu", record["bleu"]),
    ):
        (event,) = board.Tensors(run, tag)
        assert event.step == record["updates"]
        assert tf.make_ndarray(event.tensor_proto) == pytest.approx(expected, rel=0.05)
    for run, names in tags.items():
        for tag in names - {"translations", "alignment"}:
            assert board.SummaryMetadata(run, tag).summary_description


def test_tensorboard_has_translations_and_an_image(model_dir):
    board = EventMultiplexer().AddRunsFromDirectory(str(model_dir / "tensorboard")).Reload()
    (samples,) = board.Tensors("validation", "translations")
    rows = tf.make_ndarray(samples.tensor_proto).item().decode().splitlines()
    assert rows[0] == "| source | reference | translation |"
    assert len(rows) == 2 + 5
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)
    (image,) = board.Tensors("validation", "alignment")
    width, height, png = tf.make_ndarray(image.tensor_proto)
    assert tf.io.decode_png(png).shape[:2] == (int(height), int(width))


def test_tensorboard_shows_text_as_it_is(tmp_path, monkeypatch):
    """And not as Markdown or HTML."""
    monkeypatch.setattr(tensorboard, "is_installed", lambda name: False)  # there is no image
    result = SimpleNamespace(text="a_b | <c>")
    translator: Any = SimpleNamespace(translate=lambda sources, **options: [result])
    summaries = tensorboard.Summaries(tmp_path, translator, [("x", "y")])
    summaries.on_epoch_end(0, {"updates": 1})
    board = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    (samples,) = board.Tensors("validation", "translations")
    assert r"| x | y | a\_b \| &lt;c&gt; |" in tf.make_ndarray(samples.tensor_proto).item().decode()


def test_tensorboard_has_means_of_the_updates_since_the_last_point(tmp_path, monkeypatch):
    """Means over sentences or tokens, without the third update, which was skipped."""
    monkeypatch.setattr(tensorboard, "_UPDATES_BETWEEN_POINTS", 3)
    summaries = tensorboard.Summaries(tmp_path)
    names = ("updates", "loss", "sentences", "nll_per_token", "tokens", "gradient_norm")
    for row in [
        (1, 9.0, 1, 2.0, 2, 1.0), (2, 5.0, 3, 3.0, 6, 4.0), (3, 70.0, 1, 7.0, 2, math.inf),
        (4, 8.0, 2, 1.5, 7, 2.0),
    ]:  # fmt: skip
        summaries.on_train_batch_end(0, dict(zip(names, row, strict=True)))
    summaries.on_epoch_end(0, {"updates": 4})
    board = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    assert {
        tag: [(p.step, float(tf.make_ndarray(p.tensor_proto))) for p in board.Tensors("train", tag)]
        for tag in board.Runs()["train"]["tensors"]
    } == {
        "quality/loss": [(3, 6.0), (4, 8.0)],
        "quality/nll_per_token": [(3, 2.75), (4, 1.5)],
        "quality/perplexity": [(3, pytest.approx(np.exp(2.75))), (4, pytest.approx(np.exp(1.5)))],
        "update/gradient_norm": [(3, 2.5), (4, 2.0)],
    }


@pytest.fixture
def evaluated_as(monkeypatch):
    """Return a function that makes validation sets give these evaluations, one after the other."""

    def use(*evaluations: Evaluation) -> None:
        left = list(evaluations)
        monkeypatch.setattr(training_run, "ValidationSet", lambda *_: Scripted(left))

    class Scripted:
        def __init__(self, left):
            self.left, self.text, self.translator = left, ParallelText([], []), None
            self.bleu_signature = "nrefs:1|…"

        def __call__(self):
            return self.left.pop(0)

    return use


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(("monitor", "best", "ends"), [("bleu", 2, 4), ("nll", 3, 5)])
def test_early_stopping_and_the_best_weights(
    tmp_path, text, evaluated_as, monitor, best, ends, capsys
):
    """With more patience, a training run that was stopped early is resumed."""
    bleu, nll = (10, 12, 11, 11.5, 11, 11, 13), (math.nan, 4.0, 3.0, 3.5, 3.1, 2.0, 1.0)
    evaluated_as(*(Evaluation(n, 9 * n, b) for n, b in zip(nll, bleu, strict=True)))
    config = tiny(epochs=7, early_stopping=monitor, patience=2)
    evaluated: list[list[np.ndarray]] = []
    keep: Any = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: evaluated.append(keep.model.get_weights())
    )
    assert training_run.train(config, tmp_path, text[0], text[1], callbacks=[keep]) is None
    said = capsys.readouterr().err
    assert said.count(f"early stopping: no better {monitor} in the last 2 evaluations") == 1
    assert len(log(tmp_path)) == len(evaluated) == ends
    for kept, expected in zip(weights(tmp_path, "best"), evaluated[best - 1], strict=True):
        np.testing.assert_array_equal(kept, expected)
    before = contents(tmp_path)
    assert training_run.train(config, tmp_path, *text) is None
    assert contents(tmp_path) == before
    assert "stopped early, by --patience=2; a larger one resumes it" in capsys.readouterr().err
    if monitor == "bleu":
        patient = tiny(epochs=7, early_stopping=monitor, patience=4)
        assert training_run.train(patient, tmp_path, *text) is None
        assert len(log(tmp_path)) == 6


@pytest.mark.usefixtures("scripted")
def test_with_less_patience_only_the_newest_evaluations_count(tmp_path, text, evaluated_as):
    bleu = (10, 9, 9, 9, 12, 11, 11)
    evaluated_as(*(Evaluation(1.0, 9.0, b) for b in bleu))
    config = tiny(epochs=5, early_stopping="bleu", patience=5)
    training_run.train(config, tmp_path, *text)
    training_run.train(tiny(epochs=9, early_stopping="bleu", patience=2), tmp_path, *text)
    assert [record["bleu"] for record in log(tmp_path)] == list(bleu)


@pytest.mark.usefixtures("scripted")
def test_the_chief_tells_whether_training_has_stopped(
    tmp_path, text, evaluated_as, monkeypatch, capsys
):
    """Another worker may still see the records of half a minute ago."""
    evaluated_as(Evaluation(1.0, 9.0, 10.0))
    training_run.train(tiny(epochs=1), tmp_path, *text)
    monkeypatch.setattr(Workers, "broadcast", lambda _, values: np.maximum(values, 1.0))
    assert training_run.train(tiny(epochs=2), tmp_path, *text) is None
    assert len(log(tmp_path)) == 1
    assert "stopped early, by --patience=3" in capsys.readouterr().err


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("training.jsonl", b"", "has 0 evaluations of 2"),
        ("best.weights.h5", None, "is missing: restore it"),
        ("best.weights.h5", b"cut off", "is damaged: restore it"),
    ],
)
def test_a_training_without_its_files_is_not_resumed(
    tmp_path, text, evaluated_as, name, content, said
):
    evaluated_as(*[Evaluation(1.0, 9.0, 5.0)] * 4)
    training_run.train(tiny(epochs=2), tmp_path, *text)
    path = tmp_path / name
    whole = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        training_run.train(tiny(epochs=3), tmp_path, *text)
    path.write_bytes(whole)
    training_run.train(tiny(epochs=3), tmp_path, *text)
    assert len(log(tmp_path)) == 3


@pytest.mark.usefixtures("scripted")
def test_a_training_with_older_best_weights_is_not_resumed(tmp_path, text, evaluated_as):
    evaluated_as(*(Evaluation(1.0, 9.0, bleu) for bleu in (5.0, 7.0, 6.0)))
    best = tmp_path / "best.weights.h5"
    kept = []
    for epochs in (1, 2):
        training_run.train(tiny(epochs=epochs), tmp_path, *text)
        kept.append(best.read_bytes())
    best.write_bytes(kept[0])
    updates = [record["updates"] for record in log(tmp_path)]
    said = f"after update {updates[0]}, but those after update {updates[1]} are the best"
    with pytest.raises(InputError, match=said):
        training_run.train(tiny(epochs=3), tmp_path, *text)
    best.write_bytes(kept[1])
    training_run.train(tiny(epochs=3), tmp_path, *text)
    assert best.read_bytes() == kept[1]


@pytest.mark.usefixtures("scripted")
def test_a_training_that_begins_with_no_finite_evaluation_is_resumed(tmp_path, text, evaluated_as):
    evaluated_as(Evaluation(math.nan, math.nan, 0.0), Evaluation(1.0, 9.0, 5.0))
    training_run.train(tiny(epochs=1), tmp_path, *text)
    assert weights(tmp_path, "best")
    training_run.train(tiny(epochs=2), tmp_path, *text)
    assert len(log(tmp_path)) == 2


@pytest.mark.usefixtures("scripted")
def test_better_weights_of_an_evaluation_that_was_broken_off_are_made_again(
    tmp_path, text, evaluated_as, monkeypatch
):
    """They are of the update after which a signal has come, and with it the checkpoint."""
    evaluated_as(*(Evaluation(1.0, 9.0, bleu) for bleu in (5.0, 7.0, 7.0, 6.0)))
    config = tiny(epochs=1, evaluation_interval=4)
    stop: Any = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: (
            signal.raise_signal(signal.SIGTERM) if logs["updates"] == 7 else None
        )
    )
    assert (
        training_run.train(config, tmp_path, text[0], text[1], callbacks=[stop]) == signal.SIGTERM
    )
    with monkeypatch.context() as patch, pytest.raises(InputError, match="full"):
        patch.setattr(Checkpoints, "save", lambda self: (_ for _ in ()).throw(InputError("full")))
        training_run.train(config, tmp_path, *text)
    assert training_run.train(config, tmp_path, *text) is None
    assert [record["bleu"] for record in log(tmp_path)] == [5.0, 7.0, 6.0]
    assert read_updates(tmp_path / "best.weights.h5") == 8


@pytest.mark.usefixtures("scripted")
def test_another_text_is_refused_before_it_is_prepared(tmp_path, text, monkeypatch):
    training_run.train(tiny(epochs=1), tmp_path, text[0])
    other = ParallelText(text[0].source[:-1], text[0].target[:-1])
    monkeypatch.setattr(training_run, "TrainingData", None)
    with pytest.raises(InputError, match="the training text differs"):
        training_run.train(tiny(epochs=1), tmp_path, other)


@pytest.mark.usefixtures("scripted")
def test_a_validation_set_that_comes_later_chooses_the_best_weights(tmp_path, text, evaluated_as):
    assert training_run.train(tiny(epochs=2), tmp_path, text[0]) is None
    evaluated_as(Evaluation(3.0, 27.0, 1.5))
    assert training_run.train(tiny(epochs=3), tmp_path, *text) is None
    for best, last in zip(weights(tmp_path, "best"), weights(tmp_path), strict=True):
        np.testing.assert_array_equal(best, last)
    evaluated_as(Evaluation(4.0, 36.0, 0.5))
    assert training_run.train(tiny(epochs=4), tmp_path, *text) is None
    records = [evaluation_of(ModelDirectory(tmp_path), which) for which in ("best", "last")]
    assert [record["bleu"] for record in records if record] == [1.5, 0.5]


@pytest.mark.usefixtures("scripted")
def test_the_validation_set_may_be_in_files(tmp_path, corpus, text, evaluated_as):
    files = ParallelFiles([corpus / "valid.en"], [corpus / "valid.fr"])
    for epochs, validation in ((1, files), (2, text[1])):
        evaluated_as(Evaluation(3.0, 27.0, 1.5))
        assert training_run.train(tiny(epochs=epochs), tmp_path, text[0], validation) is None


@pytest.mark.usefixtures("scripted")
def test_a_training_goes_on_where_tensorboards_files_cannot_be_written(tmp_path, text, capsys):
    (tmp_path / "tensorboard").write_text("")
    assert training_run.train(tiny(epochs=2), tmp_path, text[0]) is None
    said = capsys.readouterr().err
    assert said.count("nothing more is written for TensorBoard") == 1
    assert said.count("epoch ") == 2


@pytest.mark.usefixtures("scripted")
def test_the_time_of_a_training_is_that_of_updates_and_of_waiting_for_batches(
    tmp_path, text, monkeypatch, evaluated_as
):
    """Not that of evaluations, nor of what is saved."""
    clock = [100.0]

    def batches(*args: Any) -> Any:
        for batch in training_batches(*args):
            clock[0] += 2.0
            yield batch

    def save(*args: Any) -> None:
        clock[0] += 1000.0

    training_batches = trainer.training_batches
    monkeypatch.setattr(trainer, "training_batches", batches)
    monkeypatch.setattr(trainer, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(trainer.Trainer, "_save", save)
    evaluated_as(*[Evaluation(3.0, 27.0, 1.5)] * 9)
    training_run.train(tiny(epochs=1, evaluation_interval=2), tmp_path, *text)
    assert all(record["training_seconds"] == 2.0 * record["updates"] for record in log(tmp_path))


@pytest.mark.usefixtures("scripted")
def test_a_resumed_training_has_its_own_subwords(tmp_path, text, monkeypatch):
    """Also where the cache is gone, and another version would learn others."""
    config = dataclasses.replace(tiny(epochs=1), tokenizer="sentencepiece", subwords=380)
    path, damaged = tmp_path / "model", tmp_path / "damaged"
    training_run.train(config, path, text[0], cache_dir=tmp_path / "a")
    shutil.copytree(path, damaged)
    monkeypatch.setattr(subwords, "learn_subwords", None)
    again = config.with_settings(epochs=2)
    assert training_run.train(again, path, text[0], cache_dir=tmp_path / "b") is None
    with pytest.raises(InputError, match="subwords is 380, not 400; resume it with --config"):
        training_run.train(again.with_settings(subwords=400), path, text[0])
    (damaged / "target.spm").write_bytes(b"other")
    with pytest.raises(InputError, match=r"target\.spm: not the SentencePiece model this model"):
        training_run.train(again, damaged, text[0], cache_dir=tmp_path / "b")


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("is_evaluated", [True, False])
def test_until_weights_are_evaluated_the_last_are_the_best(
    tmp_path, text, evaluated_as, is_evaluated
):
    evaluated_as(*[Evaluation(1.0, 9.0, 5.0)] * is_evaluated)
    for updates in (1, 4, 14):  # of 12 in an epoch
        stop: Any = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda _, logs, after=updates: (
                signal.raise_signal(signal.SIGTERM) if logs["updates"] == after else None
            )
        )
        valid = text[1] if is_evaluated else None
        stopped = training_run.train(tiny(epochs=2), tmp_path, text[0], valid, callbacks=[stop])
        assert stopped == signal.SIGTERM
        best, last = (read_updates(tmp_path / f"{which}.weights.h5") for which in ("best", "last"))
        assert last == updates + 1
        assert best == (12 if is_evaluated and updates == 14 else last)


@pytest.mark.usefixtures("scripted")
def test_a_schedule_that_changes_the_last_rate_is_resumed_exactly(tmp_path, text):
    rates = []

    def keep(_, logs):
        rates.append(logs["learning_rate"])
        if logs["updates"] == 6:  # of 8 in two intervals; one more is made
            signal.raise_signal(signal.SIGTERM)

    config = tiny(
        epochs=1, evaluation_interval=4, learning_rate=0.5, learning_rate_schedule="constant"
    )
    while len(rates) < 12:
        halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
        callbacks: Any = [halve, keras.callbacks.LambdaCallback(on_train_batch_end=keep)]
        training_run.train(config, tmp_path, text[0], callbacks=callbacks)
    assert rates == [0.25] * 4 + [0.125] * 4 + [0.0625] * 4


@pytest.mark.usefixtures("scripted")
def test_a_longer_linear_schedule_is_that_from_where_it_is_resumed(tmp_path, text):
    def rates(path: Path, epochs: int) -> list[float]:
        found: list[float] = []
        keep: Any = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda _, logs: found.append(logs["learning_rate"])
        )
        config = tiny(epochs=epochs, learning_rate_schedule="linear")
        assert training_run.train(config, path, text[0], callbacks=[keep]) is None
        return found

    whole = rates(tmp_path / "whole", 2)
    assert whole == sorted(whole, reverse=True) and len(set(whole)) == 24
    assert len(rates(tmp_path / "resumed", 1)) == 12
    assert rates(tmp_path / "resumed", 2) == whole[12:]


@pytest.mark.usefixtures("scripted")
def test_best_weights_are_the_best_on_one_validation_set(tmp_path, text, evaluated_as):
    evaluated_as(Evaluation(3.0, 27.0, 1.5))
    assert training_run.train(tiny(epochs=1), tmp_path, *text) is None
    before = contents(tmp_path)
    for other in (None, ParallelText(text[1].source[1:], text[1].target[1:])):
        with pytest.raises(InputError, match="the validation set differs; train in another"):
            training_run.train(tiny(epochs=2), tmp_path, text[0], other)
    assert contents(tmp_path) == before


def test_early_stopping_needs_a_validation_set(tmp_path, text):
    with pytest.raises(InputError, match="validation set"):
        training_run.train(tiny(early_stopping="bleu"), tmp_path / "model", text[0])
    assert not (tmp_path / "model").exists()


# --- options --------------------------------------------------------------------------------------


def test_options_train_too(tmp_path, flags, model_dir, monkeypatch):
    """They end near the training without options, if not in the same place.

    --jit_compile is tested in test_guided_training.py.
    """
    policies = []

    class Noted(TrainStep):
        def __init__(self, model, *arguments):
            policies.append(model.dtype_policy.name)
            super().__init__(model, *arguments)

    monkeypatch.setattr(trainer, "TrainStep", Noted)
    options = ["--dtype_policy=mixed_bfloat16", "--batching=sorted"]
    assert train.run([*flags, *options, f"--model_dir={tmp_path}"]) == 0
    assert policies == ["mixed_bfloat16"]
    plain, chosen = (log(path)[-1]["train_nll_per_token"] for path in (model_dir, tmp_path))
    assert plain != chosen
    assert chosen == pytest.approx(plain, abs=0.1)


def test_flags_without_an_effect_are_told(tmp_path, capsys):
    flags = ["--preset=rnnencdec-30", "--attention_size=7", "--patience=3", "--batching=sorted"]
    files = [f"--train_source={__file__}", f"--train_target={train.__file__}", "--valid_split=1.5"]
    assert train.run([*flags, "--bucket_width=9", *files, f"--model_dir={tmp_path}"]) == 2
    said = capsys.readouterr().err
    for name in ("attention_size", "patience", "bucket_width"):
        assert f"--{name} has no effect with these settings" in said
    assert "--batching has" not in said


@pytest.mark.parametrize(
    ("evaluations", "ends_after"),
    [
        ([(6.0, 0.0), (5.0, 0.0), (4.5, 0.0), (4.0, 0.0)], None),  # BLEU of 0: ranked by NLL
        ([(math.nan, 10.0), (4.0, 9.0), (3.0, 9.5), (2.0, 9.9)], None),  # never the best
        ([(4.0, 9.0), (3.0, 8.0), (2.0, 8.5)], 3),
    ],
)
def test_training_ends_early_by_the_score_that_chooses_the_best_weights(evaluations, ends_after):
    config = TrainingConfig(early_stopping="bleu", patience=2)
    records = [{"nll_per_token": nll, "bleu": bleu} for nll, bleu in evaluations]
    ends = (n for n in range(len(records) + 1) if stops_early(config, records[:n]))
    assert next(ends, None) == ends_after
    assert not stops_early(TrainingConfig(early_stopping="none", patience=1), records)


@pytest.mark.usefixtures("scripted")
def test_a_callers_random_numbers_go_on(tmp_path, text, evaluated_as):
    evaluated_as(*[Evaluation(1.0, 9.0, 5.0)] * 2)
    random.seed(3)
    np.random.seed(3)
    expected = random.random(), np.random.random()
    random.seed(3)
    np.random.seed(3)
    training_run.train(tiny(epochs=1), tmp_path, *text)
    assert (random.random(), np.random.random()) == expected
