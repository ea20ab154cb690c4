"""Training that begins from a trained model."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import scripted_train_step
from scripted_train_step import ScriptedTrainStep
from training_result import weights

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import train
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training.checks import check_same
from rnnsearch_tf.training.initial_model import InitialModel


@pytest.fixture(scope="module")
def other_text(corpus, tmp_path_factory) -> list[str]:
    """Flags of training text with words that the initial model has never seen."""
    folder = tmp_path_factory.mktemp("other")
    for language in ("en", "fr"):
        lines = (corpus / f"valid.{language}").read_text("utf-8").splitlines()
        text = "".join(f"{line} neologism{language}\n" for line in lines)
        (folder / f"text.{language}").write_text(text, "utf-8")
    return [f"--train_source={folder / 'text.en'}", f"--train_target={folder / 'text.fr'}"]


class NoMove(ScriptedTrainStep):
    """Leaves the weights as they are."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._weights, self._ones = [], []


@pytest.fixture(autouse=True)
def no_move(monkeypatch):
    scripted_train_step.use(monkeypatch, NoMove)


def trained(flags: list[str], path: Path) -> Path:
    assert train.run([*flags, "--epochs=1", "--batch_size=32", f"--model_dir={path}"]) == 0
    return path


def vocabularies(path: Path) -> tuple[Vocabulary, Vocabulary]:
    return ModelDirectory(path).load_vocabularies()


def test_weights_and_words_are_the_initial_models(tmp_path, model_dir, other_text):
    sizes = [len(vocabulary) for vocabulary in vocabularies(model_dir)]
    flags = [*other_text, f"--initial_model={model_dir}"]
    path = trained(
        [*flags, f"--source_vocabulary_size={sizes[0] + 9}", "--target_vocabulary_size=999"],
        tmp_path / "model",
    )
    for old, new, language in zip(
        vocabularies(model_dir), vocabularies(path), ("en", "fr"), strict=True
    ):
        assert new.tokens[: len(old) + 1] == [*old.tokens, f"neologism{language}"]
    assert ModelDirectory(path).load_config().initial_model
    for weight, initial in zip(weights(path), weights(model_dir, "best"), strict=True):
        known = tuple(slice(size) for size in initial.shape)
        np.testing.assert_array_equal(weight[known], initial)
        if weight.shape != initial.shape and weight.ndim == 2:
            assert np.abs(weight[-1, -1]) > 0  # random


def test_it_is_resumed_by_the_command_that_is_advised(tmp_path, model_dir, other_text, capsys):
    path = tmp_path / "model"
    flags = [*other_text, f"--initial_model={model_dir}"]
    trained([*flags, "--label_smoothing=0.2", "--source_vocabulary_size=999"], path)
    again = [*flags, f"--model_dir={path}", "--epochs=1", "--batch_size=32"]
    assert train.run(again) == 1
    own = f"--config={path / 'config.json'}"
    assert f"resume it with {own}, without --initial_model, or" in capsys.readouterr().err
    for flags in (again, [*other_text, *again[3:]]):  # also without the initial model
        assert train.run([*flags, own]) == 0
        assert "nothing is left to do" in capsys.readouterr().err
    shutil.rmtree(path / "checkpoints")
    for file in (*path.glob("*.h5"), path / "training.jsonl"):
        file.unlink()
    assert train.run([*other_text, *again[3:], own]) == 1
    assert (
        "training run with an initial model: give it with --initial_model"
        in capsys.readouterr().err
    )


def test_settings_are_those_of_a_file_over_those_of_the_initial_model(tmp_path, model_dir, capsys):
    def printed(*flags: str) -> dict:
        assert train.run([f"--initial_model={model_dir}", "--print_config", *flags]) == 0
        return json.loads(capsys.readouterr().out)

    file = tmp_path / "settings.yaml"
    file.write_text("model: {dropout: 0.2}\ndecoding: {length_penalty: 0.7}\n")
    initial = ModelDirectory(model_dir).load_config()
    own, given = printed(), printed(f"--config={file}")
    assert own["decoding"] == dataclasses.asdict(initial.decoding) != given["decoding"]
    assert own["model"] == dataclasses.asdict(initial.model)
    assert given["model"] == {**own["model"], "dropout": 0.2}
    assert given["decoding"] == {**own["decoding"], "length_penalty": 0.7}


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--hidden_size=12", "its hidden_size is 11, not 12"),
        ("--source_vocabulary_size=9", "its source_vocabulary_size is"),
        ("--tokenizer=whitespace", "its tokenizer is moses, not whitespace"),
        ("--step_order=look_update_generate", "its step_order is look_generate_update"),
        ("--target_language=de", "its target_language is fr, not de"),
    ],
)
def test_a_training_that_does_not_fit(tmp_path, model_dir, other_text, capsys, flag, message):
    flags = [*other_text, f"--initial_model={model_dir}", f"--model_dir={tmp_path / 'model'}", flag]
    assert train.run(flags) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "model").exists()


def test_languages_are_only_names_without_moses_rules(model_dir, tmp_path):
    own = dataclasses.replace(ModelDirectory(model_dir).load_config(), tokenizer="whitespace")
    directory = ModelDirectory(shutil.copytree(model_dir, tmp_path / "model"))
    (directory.path / "config.json").write_text(own.to_json(), "utf-8")
    initial = InitialModel(directory.path)
    initial.check(dataclasses.replace(own, target_language="pt-BR"))
    with pytest.raises(UsageError, match="its tokenizer is whitespace, not moses"):
        initial.check(dataclasses.replace(own, tokenizer="moses"))


def test_an_initial_model_that_is_missing_damaged_or_the_training_itself(
    tmp_path, model_dir, other_text, capsys
):
    path = shutil.copytree(model_dir, tmp_path / "initial")
    flags = [*other_text, f"--initial_model={path}"]
    assert train.run([*flags, f"--model_dir={path}"]) == 2
    assert "is the initial model's; use another" in capsys.readouterr().err
    (path / "best.weights.h5").write_bytes(b"half")
    assert train.run([*flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    assert "best.weights.h5: damaged" in capsys.readouterr().err.splitlines()[-1]
    shutil.rmtree(path)
    assert train.run([*flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    assert "no such model directory" in capsys.readouterr().err.splitlines()[-1]
    assert not (tmp_path / "model").exists()


def test_a_larger_initial_model_leaves_the_way_to_resume(model_dir):
    directory = ModelDirectory(model_dir)
    own = directory.load_config()
    model = dataclasses.replace(own.model, source_vocabulary_size=9)
    other = dataclasses.replace(own, model=model, source_vocabulary="9", initial_model="9")
    for changed, said in (
        (other, "the vocabulary differs, the initial model differs; resume it with --config="),
        (dataclasses.replace(other, training_text="9"), "the training text differs.*; train in"),
    ):
        with pytest.raises(InputError, match=said):
            check_same(directory, changed)


def test_an_initial_model_that_changes_in_between_is_an_error(model_dir):
    model = ModelDirectory(model_dir).load_model()
    with pytest.raises(InputError, match="its weights have changed"):
        InitialModel(model_dir).copy_weights(model, "0" * 64)
