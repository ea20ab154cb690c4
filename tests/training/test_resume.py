"""Exact resume: a training run killed and started again ends bit for bit as one that was not."""

import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scripted_train_step
import traced_once
from forked import ForkedProcess
from training_result import (
    assert_same,
    checkpoints,
    copied_at,
    log,
    numbers,
    weights,
)

from rnnsearch_tf.data.parallel_corpus import ParallelFiles, read_all
from rnnsearch_tf.errors import InputError, TemporaryError
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training import run as training_run
from rnnsearch_tf.training.checkpoints import Checkpoints
from rnnsearch_tf.training.validation import ValidationSet

pytestmark = pytest.mark.slow

FLAGS = (
    "--max_updates=48",
    "--epochs=100",
    "--checkpoint_interval=6",
    "--evaluation_interval=20",  # neither divides an epoch of 11 batches
    "--dropout=0.3",
    "--lexical_model",
    "--maxout_size=8",  # as the lexical model needs it
    "--weight_average=0.8",
    "--seed=5",
)


@pytest.fixture(scope="module")
def flags(train_flags) -> list[str]:
    return [*train_flags, *FLAGS]


@pytest.fixture(scope="module", autouse=True)
def in_this_process() -> Iterator[None]:
    """Training runs here, and their validation, are traced once."""
    made: list[ValidationSet] = []

    def validation_set(*arguments: Any) -> ValidationSet:
        made.extend([] if made else [ValidationSet(*arguments)])
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        traced_once.use(patch)
        patch.setattr(training_run, "ValidationSet", validation_set)
        yield


@pytest.fixture(scope="module")
def reference(tmp_path_factory, flags) -> Path:
    """A training run; `copy` beside it is its folder with the checkpoint of update 24."""
    path = tmp_path_factory.mktemp("reference") / "model"
    with copied_at(24, path, path.with_name("copy")):
        assert train.run([*flags, f"--model_dir={path}"]) == 0
    assert [record["updates"] for record in log(path)] == [20, 40, 48]
    return path


@pytest.fixture(scope="module")
def scripted_flags(train_flags) -> list[str]:
    """Flags of a training run without validation; updates and their numbers are a script's."""
    return [*(flag for flag in train_flags if not flag.startswith("--valid")), *FLAGS]


@pytest.fixture(scope="module")
def scripted(tmp_path_factory, scripted_flags) -> Path:
    path = tmp_path_factory.mktemp("scripted") / "model"
    with pytest.MonkeyPatch.context() as patch:
        scripted_train_step.use(patch)
        assert train.run([*scripted_flags, f"--model_dir={path}"]) == 0
    return path


def at_a_random_moment(path: Path) -> Callable[[], bool]:
    """Return whether up to half a second has passed since the next checkpoint."""
    known, delay = checkpoints(path), random.uniform(0, 0.5)
    begun: list[float] = []

    def is_now() -> bool:
        if checkpoints(path) != known and not begun:
            begun.append(time.monotonic())
        return bool(begun) and time.monotonic() > begun[0] + delay

    return is_now


def killed_in_its_first_checkpoint(path: Path, reference: Path) -> None:
    """Make a folder with a checkpoint that has no index, which TensorFlow writes last."""
    shutil.rmtree(path, ignore_errors=True)
    (path / "checkpoints" / "ckpt-1_temp").mkdir(parents=True)
    (path / "checkpoints" / "ckpt-1.data-00000-of-00001").write_bytes(b"half")
    for name in ("config.json", "source.vocab", "target.vocab"):
        shutil.copy(reference / name, path)


def end(process: ForkedProcess, moment: Callable[[], bool], number: signal.Signals) -> bool:
    """End a training run at a moment; return whether it was still running then."""
    while process.poll() is None and not moment():
        time.sleep(0.02)
    in_time = process.poll() is None
    process.send_signal(number)
    assert "Traceback" not in process.finish()
    if in_time:
        assert process.returncode in (128 + number, -number)
    return in_time


def assert_clean(path: Path) -> None:
    assert not list(path.glob(".*.tmp*"))
    assert len(list(path.glob("checkpoints/*.index"))) == 2


def test_the_averages_are_evaluated_and_saved(reference, corpus):
    """The checkpoint has them beside the newest weights, from which training goes on."""
    saved = numbers(reference)
    averages = [array for name, array in saved.items() if "/_variables/" in name]
    newest = [array for name, array in saved.items() if "/_variables/" not in name]
    for weight in weights(reference):
        assert any(np.array_equal(weight, array) for array in averages)
        assert not any(np.array_equal(weight, array) for array in newest)
    evaluator = Evaluator(Translator.load(reference, weights="last"))
    text = read_all(ParallelFiles([corpus / "valid.en"], [corpus / "valid.fr"]))
    likelihood = evaluator.nll(evaluator.pairs(text))
    record = log(reference)[-1]
    assert record["updates"] == 48
    assert likelihood.per_token == pytest.approx(record["nll_per_token"], rel=1e-5)


def test_a_training_resumes_exactly(flags, reference):
    """From a checkpoint, with all that an update and an evaluation change."""
    copy = reference.with_name("copy")
    assert train.run([*flags, f"--model_dir={copy}"]) == 0
    assert_same(copy, reference)
    assert_clean(copy)


def test_signals_at_random_moments_change_nothing(tmp_path, scripted_flags, scripted, monkeypatch):
    """The first has no record yet, nor best weights but those of its checkpoint."""
    path = tmp_path / "model"
    arguments = [*scripted_flags, f"--model_dir={path}"]
    killed_in_its_first_checkpoint(path, scripted)
    ended = 0
    for number in (signal.SIGTERM, signal.SIGKILL):
        process = ForkedProcess(scripted_train_step.run, arguments)
        next((line for line in process.stderr if line.startswith("update ")), None)
        if not end(process, at_a_random_moment(path), number):
            killed_in_its_first_checkpoint(path, scripted)
            continue
        ended += 1
        if number == signal.SIGTERM:
            assert weights(path, "best")
    assert ended  # on a busy machine, a moment may be missed
    scripted_train_step.use(monkeypatch)
    assert train.run(arguments) == 0
    assert_same(path, scripted)
    assert_clean(path)


def test_kills_while_files_are_written_change_nothing(
    tmp_path, scripted_flags, scripted, monkeypatch
):
    """Checkpoints and weights."""
    path = tmp_path / "model"
    killed_in_its_first_checkpoint(path, scripted)
    arguments = [*scripted_flags, f"--model_dir={path}"]
    for moment, count in (("checkpoint", 3), ("file", 4), ("older", 3), ("checkpoint", 1)):
        process = ForkedProcess(scripted_train_step.run_killed, moment, count, arguments)
        said = process.finish()
        assert process.returncode == -signal.SIGKILL, said
    scripted_train_step.use(monkeypatch)
    assert train.run(arguments) == 0
    assert_same(path, scripted)
    assert_clean(path)


class StoppedAtTwenty(scripted_train_step.ScriptedTrainStep):
    """Asks for a stop with the update before an evaluation, which the next run begins with."""

    def __call__(self, batch, stop):
        return super().__call__(batch, stop or int(self.optimizer.iterations) == 19)


def test_an_evaluation_that_is_broken_off_is_logged_once(tmp_path, scripted_flags, monkeypatch):
    flags = [*scripted_flags, "--checkpoint_interval=99", f"--model_dir={tmp_path / 'model'}"]
    scripted_train_step.use(monkeypatch, StoppedAtTwenty)
    assert train.run(flags) == 128 + signal.SIGTERM
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", lambda self: (_ for _ in ()).throw(InputError("full")))
        assert train.run(flags) == 1
    assert [record["updates"] for record in log(tmp_path / "model")] == [20]
    assert train.run(flags) == 0
    assert [record["updates"] for record in log(tmp_path / "model")] == [20, 40, 48]


def test_two_trainings_in_one_folder_are_refused(flags, reference, capsys):
    with ModelDirectory(reference).locked():
        assert train.run([*flags, f"--model_dir={reference}"]) == TemporaryError.status
    assert "another training run is active here" in capsys.readouterr().err.splitlines()[-1]
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
    assert "the training text differs" in capsys.readouterr().err.splitlines()[-1]
