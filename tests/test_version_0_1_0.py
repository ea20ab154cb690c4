"""Version 0.1.0's models, exports, logs and flags; fixtures/0.1.0 has its files and outputs."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
import scripted_train_step

from rnnsearch_tf.config import Config, DecodingConfig, ModelConfig, TrainingConfig
from rnnsearch_tf.files import make_once
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import plot, score, train, translate

ARCHIVE = Path(__file__).parent / "fixtures" / "0.1.0" / "files.tar.xz"

# The flags that made the two models, under the names of this version.
SETTINGS = [
    *("--source_vocabulary_size=400", "--target_vocabulary_size=400", "--embedding_size=13"),
    *("--hidden_size=17", "--attention_size=11", "--maxout_size=7", "--batch_size=32"),
    *("--dropout=0", "--learning_rate_schedule=constant", "--learning_rate=0.02"),
]
GUIDED = [
    *("--preset=rnnsearch-tiny", "--epochs=24", "--evaluation_interval=90"),
    "--guided_alignment_weight=0.5",
]
BASELINE = ["--preset=rnnencdec-tiny", "--epochs=8"]


@pytest.fixture(scope="module")
def files(shared_folder):
    """Where a `Translator` is loaded once."""

    def unpack(folder: Path) -> None:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(folder, filter="data")

    make_once(shared_folder / "unpacked", Path.exists, unpack)
    return shared_folder / "unpacked" / "0.1.0"


def training_flags(files: Path, *parts: str) -> list[str]:
    text = [
        f"--{part}_{side}={files / 'text' / part}.{language}"
        for part in parts
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    return [*text, *SETTINGS]


def rows(path: Path) -> list[list[str]]:
    """The fields of an n-best list: number, text, score, normalized score."""
    return [line.split(" ||| ") for line in path.read_text("utf-8").splitlines()]


def assert_same_lists(made: Path, expected: Path) -> None:
    assert [row[:2] for row in rows(made)] == [row[:2] for row in rows(expected)]
    for a, b in zip(rows(made), rows(expected), strict=True):
        assert list(map(float, a[2:])) == pytest.approx(list(map(float, b[2:])), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "rnnencdec", "export"])
def test_models_and_exports_translate_as_before(files, tmp_path, name):
    beam = [] if name == "export" else ["--beam_size=3"]
    made = tmp_path / "made"
    flags = [f"--model_dir={files / name}", f"--input={files / 'input.en'}", "--n_best=2"]
    assert translate.run([*flags, *beam, f"--output={made}"]) == 0
    assert_same_lists(made, files / f"{name}.nbest")


@pytest.mark.slow
def test_alignments_are_as_before(files, tmp_path):
    flags = [f"--model_dir={files / 'model'}", f"--input={files / 'input.en'}", "--beam_size=3"]
    flags += ["--n_best=2", "--alignment=json"]
    assert translate.run([*flags, f"--output={tmp_path / 'made'}"]) == 0
    made, expected = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in (tmp_path / "made", files / "model.json")
    )
    assert len(made) == len(expected)
    for a, b in zip(made, expected, strict=True):
        assert a["source"] == b["source"]
        assert a["source_tokens"] == b["source_tokens"]
        ours, (theirs,) = a["hypotheses"][0], b["hypotheses"]
        assert ours["translation"] == theirs["translation"]
        assert ours["target_tokens"] == theirs["target_tokens"]
        for row, other in zip(ours["alignment"], theirs["alignment"], strict=True):
            assert row == pytest.approx(other, abs=1e-4)


@pytest.mark.slow
def test_given_translations_are_scored_as_before(files, tmp_path):
    flags = [f"--model_dir={files / 'model'}", f"--source={files / 'text' / 'valid.en'}"]
    flags += [f"--target={files / 'text' / 'valid.fr'}", f"--output={tmp_path / 'made'}"]
    assert score.run(flags) == 0
    made, expected = (
        [float(line) for line in path.read_text("utf-8").splitlines()]
        for path in (tmp_path / "made", files / "model.scores")
    )
    assert made == pytest.approx(expected, abs=2e-4)


def test_old_names_in_a_config_are_read(files):
    digests = json.loads((files / "model" / "config.json").read_text("utf-8"))
    assert ModelDirectory(files / "model").load_config() == Config(
        ModelConfig("rnnsearch", 400, 400, 13, 17, 11, 7, initial_weights="glorot"),
        TrainingConfig(
            batch_size=32,
            max_length=30,
            optimizer="adam",
            learning_rate=0.02,
            learning_rate_schedule="constant",
            epochs=24,
            evaluation_interval=90,
            guided_alignment_weight=0.5,
        ),
        DecodingConfig(length_penalty=0.6),
        source_vocabulary=digests["source_vocabulary"],
        target_vocabulary=digests["target_vocabulary"],
        training_text=digests["training_text"],
        training_alignments=digests["training_links"],
    )


def test_old_logs_and_evaluations_are_drawn(files, tmp_path):
    curves, lengths = tmp_path / "curves.svg", tmp_path / "lengths.svg"
    models = f"--model_dir={files / 'model'},{files / 'rnnencdec'}"
    assert plot.run([models, f"--output={curves}"]) == 0
    assert plot.run([f"--evaluations={files / 'evaluation.json'}", f"--output={lengths}"]) == 0
    assert "rnnencdec" in curves.read_text("utf-8")
    assert "evaluation" in lengths.read_text("utf-8")


@pytest.mark.slow
def test_a_training_without_a_checkpoint_is_resumed(files, tmp_path, capsys, monkeypatch):
    """Under today's flags, what it was made with has not changed its meaning; a script updates."""
    scripted_train_step.use(monkeypatch)
    old, path = files / "model", tmp_path / "model"
    path.mkdir()
    for name in ("config.json", "source.vocab", "target.vocab"):
        shutil.copy(old / name, path / name)
    flags = [*training_flags(files, "train"), *GUIDED, f"--model_dir={path}"]
    flags.append(f"--train_alignments={files / 'text' / 'train.links'}")
    assert train.run([*flags, "--max_updates=2"]) == 0
    assert "other settings" not in capsys.readouterr().err
    assert (path / "last.weights.h5").exists()
    for name in ("source.vocab", "target.vocab"):
        assert (path / name).read_bytes() == (old / name).read_bytes()


def test_a_finished_training_is_not_trained_over(files, tmp_path, capsys):
    path = shutil.copytree(files / "rnnencdec", tmp_path / "model")
    flags = [*training_flags(files, "train", "valid"), *BASELINE, f"--model_dir={path}"]
    assert train.run(flags) == 1
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(
        f"rnnsearch-train: {path}: has a training run, but its checkpoints are missing"
    )
    for name in ("best.weights.h5", "training.jsonl"):
        assert (path / name).read_bytes() == (files / "rnnencdec" / name).read_bytes()


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--max_steps=3", "--max_steps is now --max_updates"),
        ("--evaluation_steps=3", "--evaluation_steps is now --evaluation_interval"),
        ("--checkpoint_steps=3", "--checkpoint_steps is now --checkpoint_interval"),
        ("--decay=none", "--decay is now --learning_rate_schedule"),
        ("--gradient_norm=1", "--gradient_norm is now --clip_norm"),
        ("--guidance=0.5", "--guidance is now --guided_alignment_weight"),
        ("--train_links=a", "--train_links is now --train_alignments"),
        ("--tokenizer=spaces", "--tokenizer=spaces is now whitespace"),
        ("--learning_rate_schedule=none", "--learning_rate_schedule=none is now constant"),
    ],
)
def test_an_old_flag_gets_a_line_that_names_the_new_one(capsys, flag, said):
    assert train.run([flag]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"rnnsearch-train: {said}\n"


def test_only_a_flag_that_the_script_has_is_named(capsys):
    assert translate.run(["--max_steps=3"]) == 2
    assert "max_updates" not in capsys.readouterr().err
