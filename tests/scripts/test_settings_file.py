"""Settings of a training run in a file: what --print_config prints, read by --config."""

import dataclasses
import json

import pytest
import yaml

from rnnsearch_tf.models.model_directory import find_model
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.scripts import train


def printed(capsys, *flags: str) -> dict:
    assert train.run([*flags, "--print_config"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values.pop("format") == 1
    return values


def fails(capsys, path, content: str) -> str:
    path.write_text(content)
    assert train.run([f"--config={path}", "--print_config"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rnnsearch-train: --config {path}: ")
    return line.removeprefix(f"rnnsearch-train: --config {path}: ")


@pytest.mark.parametrize("write", [json.dumps, yaml.safe_dump])
def test_what_is_printed_is_read(capsys, tmp_path, write):
    flags = ["--preset=rnnencdec-30", "--hidden_size=7", "--learning_rate=1e-7", "--dropout=0.5"]
    flags += ["--source_language=de", "--tokenizer=whitespace", "--jit_compile"]
    subwords = find_model("europarl-en-fr") / "source.spm"  # which is not text, and not read
    flags += [f"--subword_models={subwords}"]
    wanted = printed(capsys, *flags)
    assert wanted["model"]["architecture"] == "rnnencdec" and wanted["source_language"] == "de"
    (tmp_path / "config").write_text(write(wanted))
    assert printed(capsys, f"--config={tmp_path / 'config'}") == wanted


def test_flags_win_and_what_the_file_lacks_is_the_presets(capsys, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(
        "# mine\ntraining: {learning_rate: 1e-3, epochs: 3}\ndecoding:\n  beam_size: 5\n"
    )
    config = printed(capsys, f"--config={path}", "--preset=rnnsearch-50", "--epochs=4")
    assert config["training"]["learning_rate"] == 1e-3 and config["training"]["epochs"] == 4
    assert config["decoding"]["beam_size"] == 5
    assert config["model"] == PRESETS["rnnsearch-50"].given_settings()["model"]
    own = PRESETS["rnnsearch-small"].given_settings()["training"]
    training = printed(capsys, f"--config={path}")["training"]
    assert training == {**own, "learning_rate": 1e-3, "epochs": 3} and own["optimizer"] == "adam"


def test_another_optimizer_needs_a_rate_which_may_be_that_of_the_preset(capsys, tmp_path):
    path, flag = tmp_path / "config.yaml", f"--config={tmp_path / 'config.yaml'}"
    assert "0.0015 is that of adam" in fails(capsys, path, "training: {optimizer: adadelta}")
    assert printed(capsys, flag, "--learning_rate=1")["training"]["optimizer"] == "adadelta"
    path.write_text("training: {optimizer: adadelta, learning_rate: 0.0015}")
    assert printed(capsys, flag)["training"]["learning_rate"] == 0.0015


def test_the_config_of_a_model_directory_is_read(capsys, tmp_path):
    config = dataclasses.replace(
        PRESETS["rnnencdec-50"],
        source_vocabulary="a" * 64,
        initial_model="b" * 64,
        training_id="c" * 64,
    )
    text = config.to_json().replace('"dropout": 0.0', '"dropout": 0.25')  # changed by hand
    (tmp_path / "config.json").write_text(text)
    read = printed(capsys, f"--config={tmp_path / 'config.json'}")
    expected = config.given_settings()
    assert read == {**expected, "model": {**expected["model"], "dropout": 0.25}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("model: {hiden_size: 3}", "unknown field hiden_size (did you mean hidden_size?)"),
        ("batch_size: 3", "batch_size: belongs under training"),
        ("training:\nbatch_size: 3", "batch_size: belongs under training"),
        ("batch: 3", "unknown field batch"),
        ("model: 3", "model: expected an object, not 3"),
        ("training: {epochs: many}", "epochs: expected int, not 'many'"),
        ("training: {epochs: -1}", "epochs -1: must be at least 1"),
        ("training: {optimizer: ada}", "optimizer 'ada': choose one of adadelta, adam"),
        ("source_language: sv", "source_language 'sv': the Moses tokenizer has rules for"),
        ("yes: 2", "a key: expected str, not True"),
        ("training: {1: 2}", "training: a key: expected str, not 1"),
        ("- a", "expected an object, not ['a']"),
        ("\n", "is empty"),
        (
            "initial_model: europarl-en-fr",
            "initial_model: is not a setting; training fills it in",
        ),
        ("source_vocabulary: 20000", "source_vocabulary: is not a setting"),
        ("training: {epochs: 2}\ntraining: {seed: 3}", "training: occurs twice"),
        ('{"training": {"seed": 2, "seed": 3}}', "seed: occurs twice"),
        ("training: !!map [a]", "neither JSON nor YAML"),
        ("training: !!bool x", "neither JSON nor YAML"),
        ("a: [", "neither JSON nor YAML: while parsing"),
        ('{"model": ', "not JSON: "),
        ('{"format": 9}', "another format; this version reads format 1"),
        ('{"format": true}', "format: expected int, not True"),
    ],
)
def test_what_is_wrong_is_a_line(capsys, tmp_path, content, said):
    assert said in fails(capsys, tmp_path / "config", content)
