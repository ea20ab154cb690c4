"""A training run's folder, changed by others: noticed before anything in it is overwritten."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import keras
import pytest

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.digests import unsealed
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import train
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.training import run
from rnnsearch_tf.training.train_step import TrainStep, UpdateMetrics

WRITTEN = ("best.weights.h5", "last.weights.h5", "training.jsonl", "checkpoints")


@pytest.fixture
def path(model_dir, tmp_path) -> Path:
    """A copy of a finished training run's folder."""
    return shutil.copytree(model_dir, tmp_path / "model")


def contents(path: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def exchange_words(vocabulary: Path) -> None:
    *words, last, other = vocabulary.read_text("utf-8").splitlines()
    vocabulary.write_text("".join(f"{word}\n" for word in [*words, other, last]), "utf-8")


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def refused(path: Path, flags: list[str], capsys: pytest.CaptureFixture) -> str:
    """Resume a training run that is refused; returns its line."""
    before = contents(path)
    assert train.run([*flags, "--epochs=2", f"--model_dir={path}"]) == 1
    assert contents(path) == before
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("name", ["source.vocab", "target.vocab"])
def test_a_vocabulary_that_was_changed(path, train_flags, capsys, name):
    exchange_words(path / name)
    line = refused(path, train_flags, capsys)
    assert line == f"rnnsearch-train: {path / name}: not the vocabulary this model was made with"
    remove(path / name)
    assert str(path / name) in refused(path, train_flags, capsys)


@pytest.mark.parametrize("left", WRITTEN)
def test_a_config_that_was_removed(path, train_flags, capsys, left):
    for name in {"config.json", *WRITTEN} - {left}:
        remove(path / name)
    assert "its config.json is missing: restore it, or" in refused(path, train_flags, capsys)


@pytest.mark.parametrize("left", WRITTEN[:-1])
def test_checkpoints_that_were_removed(path, train_flags, capsys, left):
    for name in set(WRITTEN) - {left}:
        remove(path / name)
    line = refused(path, train_flags, capsys)
    assert "its checkpoints are missing: restore them; or" in line and line.endswith(left)


def test_settings_that_were_changed_by_hand(path, train_flags, capsys):
    """The learning rate of the checkpoint would go on, and smaller batches could end in a loop."""
    file = path / "config.json"
    values = unsealed(json.loads(file.read_text("utf-8")))
    values["training"] |= {"learning_rate": 0.5, "epochs": 2}
    file.write_text(json.dumps(values), "utf-8")
    line = refused(path, [*train_flags, f"--config={file}"], capsys)
    said = "learning_rate is 0.5, but 0.002 at the checkpoint: restore that, or train in another"
    assert line == f"rnnsearch-train: {file}: {said} model directory"


def begin_another(path: Path) -> None:
    """Put the folder of another training run with the same settings in its place."""
    directory = ModelDirectory(path)
    config, vocabularies = directory.load_config(), directory.load_vocabularies()
    remove(path)
    directory.create(config, *vocabularies)


@pytest.fixture
def flags(train_flags) -> list[str]:
    """Flags of a training run without validation."""
    return [flag for flag in train_flags if not flag.startswith("--valid")]


def test_a_folder_that_is_changed_while_the_training_goes_on(tmp_path, flags, monkeypatch, capsys):
    path = tmp_path / "model"
    changes = {
        "target.vocab: not the vocabulary": lambda: exchange_words(path / "target.vocab"),
        "no config.json": lambda: remove(path / "config.json"),
        "no longer the settings of this training run": lambda: begin_another(path),
    }

    def step(self, batch, stop):
        assert (path / "checkpoints" / "ckpt-0.index").exists()
        changes[said]()
        return UpdateMetrics({"nll": LossTotal(1.0, 1.0)}, 1, 1.0, 1.0, 0)

    monkeypatch.setattr(TrainStep, "__call__", step)  # traces nothing
    for said in changes:
        assert train.run([*flags, "--max_updates=1", f"--model_dir={path}"]) == 1
        assert said in capsys.readouterr().err.splitlines()[-1]
        assert not any((path / name).exists() for name in WRITTEN[:-1])
        remove(path)


def test_a_folder_without_a_name(flags, capsys):
    assert train.run([*flags, "--model_dir="]) == 2
    assert capsys.readouterr().err == "rnnsearch-train: --model_dir is empty\n"


@pytest.mark.parametrize("name", ["a[1]", "a\\b"])
def test_a_name_that_tensorflow_takes_for_a_pattern(tmp_path, flags, capsys, model_dir, name):
    """It would write checkpoints and exports there, and not find them."""
    path = tmp_path / name / "model"
    assert train.run([*flags, f"--model_dir={path}"]) == 1
    assert "takes […] and \\ in a path for a pattern, and finds no file" in capsys.readouterr().err
    with pytest.raises(InputError, match="in a path for a pattern"):
        export(model_dir, path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="others have names in Unicode")
@pytest.mark.parametrize(("name", "encoding"), [("mod\udce9l", "utf-8"), ("modèl", "latin-1")])
def test_a_name_that_is_not_utf8(tmp_path, flags, capsys, monkeypatch, name, encoding):
    monkeypatch.setattr("os.fsencode", lambda path: str(path).encode(encoding, "surrogateescape"))
    assert train.run([*flags, f"--model_dir={tmp_path / name}"]) == 1
    assert "TensorFlow needs a path and a locale in UTF-8" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_is_no_corpus_is_told(tmp_path):
    files: Any = ("train.en", "train.fr")
    with pytest.raises(TypeError, match=r"training: expected ParallelFiles, .* not tuple"):
        run.train(Config(), tmp_path / "model", files)
    with pytest.raises(TypeError, match=r"validation: expected ParallelFiles, .* not tuple"):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), files)
    preset: Any = "rnnsearch-small"
    with pytest.raises(TypeError, match=r"config: expected a Config, .* not str"):
        run.train(preset, tmp_path / "model", ParallelText(["a"], ["b"]))
    callback: Any = keras.callbacks.Callback()
    with pytest.raises(TypeError, match="callbacks: expected a list of them, not Callback"):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), callbacks=callback)
    links: Any = "train.links"
    with pytest.raises(TypeError, match="alignments: expected WordAlignmentFiles, not str"):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), alignments=links)
    number: Any = 4000
    with pytest.raises(TypeError, match=r"Config\.subwords sets how many"):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), subwords=number)
    name: Any = "mirrored"
    with pytest.raises(TypeError, match="strategy: expected one that build_strategy makes"):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), strategy=name)
    kinds: Any = [keras.callbacks.TerminateOnNaN]
    with pytest.raises(TypeError, match="callbacks: expected Keras callbacks, not "):
        run.train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]), callbacks=kinds)
    nowhere: Any = None
    with pytest.raises(TypeError, match="model_dir: expected a path, not NoneType"):
        run.train(Config(), nowhere, ParallelText(["a"], ["b"]))
    assert not (tmp_path / "model").exists()
