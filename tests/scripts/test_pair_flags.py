"""Sentence pairs from flags: two files, one with tabs, held-out pairs, several references."""

import gzip
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from scripted_engine import engine, made_model

from rnnsearch_tf.data import lines
from rnnsearch_tf.data.parallel_corpus import read_all
from rnnsearch_tf.scripts import evaluate, score, train, translate
from rnnsearch_tf.scripts.shared import text_input

__all__ = ["engine"]  # a fixture

SOURCE = [f"line {i} x" for i in range(12)]
TARGET = [f"x {i} line w{i}" for i in range(12)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the pairs in two files, in one with tabs, and with a second reference."""
    (tmp_path / "en").write_text("".join(f"{line}\n" for line in SOURCE))
    (tmp_path / "fr").write_text("".join(f"{line}\n" for line in TARGET))
    (tmp_path / "fr2").write_text("".join(f"{line}\n" for line in reversed(TARGET)))
    pairs = zip(SOURCE, TARGET, strict=True)
    content = "".join(f"{source}\t{target}\tCC-BY\n" for source, target in pairs)
    (tmp_path / "both.tsv.gz").write_bytes(gzip.compress(content.encode()))
    return tmp_path


# --- training -------------------------------------------------------------------------------------


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What training runs would read: training pairs, validation set, alignments."""
    calls: list[Any] = []

    def train(config, model_dir, training, validation, *others, alignments, **more) -> None:
        calls.append((read_all(training), validation, alignments))

    monkeypatch.setattr("rnnsearch_tf.training.run.train", train)
    return calls


def test_training_and_validation_text_of_one_file_each(files, trained):
    both = files / "both.tsv.gz"
    flags = [f"--model_dir={files / 'model'}", f"--train_tsv={both},{both}", f"--valid_tsv={both}"]
    flags += [f"--train_alignments={files / 'en'},{files / 'en'}", "--guided_alignment_weight=1"]
    assert train.run(flags) == 0
    training, validation, alignments = trained[0]
    assert training == (SOURCE * 2, TARGET * 2)
    assert validation == (SOURCE, TARGET)
    assert alignments is not None


@pytest.mark.parametrize("is_chief", [True, False])
def test_what_to_run_next_is_told_by_the_chief(capsys, files, trained, monkeypatch, is_chief):
    name = "rnnsearch_tf.training.distribution.Workers"
    monkeypatch.setattr(name, lambda strategy: types.SimpleNamespace(is_chief=is_chief))
    model = files / "a model"
    assert train.run([f"--model_dir={model}", f"--train_tsv={files / 'both.tsv.gz'}"]) == 0
    line = f"Translate: echo \"…\" | rnnsearch-translate --model_dir='{model}'\n"
    assert capsys.readouterr().err == (line if is_chief else "")


def test_a_share_of_the_training_pairs_is_held_out(capsys, files, trained):
    flags = [f"--model_dir={files / 'model'}"]
    two = [f"--train_source={files / 'en'}", f"--train_target={files / 'fr'}"]
    for given, size in ((two, 3), ([f"--train_tsv={files / 'both.tsv.gz'}"], 0.25)):
        assert train.run([*flags, *given, f"--valid_split={size}", "--early_stopping=nll"]) == 0
    for training, validation, _ in trained:
        assert len(validation.source) == 3
        assert sorted(training.target + validation.target) == sorted(TARGET)
    assert trained[0] == trained[1]
    for wrong, message in (
        (
            f"--valid_tsv={files / 'both.tsv.gz'}",
            "--valid_split cannot be combined with --valid_tsv",
        ),
        (f"--train_alignments={files / 'en'}", "needs a separate validation set"),
    ):
        assert train.run([*flags, *two, "--valid_split=3", wrong]) == 2
        assert message in capsys.readouterr().err


# --- models ---------------------------------------------------------------------------------------


def test_scores_of_one_file(capsys, engine, files):
    model = made_model(files / "model")
    assert score.run([model, f"--tsv={files / 'both.tsv.gz'}"]) == 0
    one = capsys.readouterr()
    assert score.run([model, f"--source={files / 'en'}", f"--target={files / 'fr'}"]) == 0
    assert capsys.readouterr() == one
    assert len(one.out.splitlines()) == 12 and "12 pairs" in one.err


def test_several_references(capsys, engine, files, monkeypatch):
    flags = [made_model(files / "model"), f"--hypotheses={files / 'fr2'}", "--json=-"]

    def evaluated(*more: str) -> dict[str, Any]:
        assert evaluate.run([*flags, *more]) == 0
        return json.loads(capsys.readouterr().out)

    source = f"--source={files / 'en'}"
    first = evaluated(source, f"--reference={files / 'fr'}")
    assert evaluated(f"--tsv={files / 'both.tsv.gz'}") == first
    compared = f"--system={files / 'fr'}"
    both = [f"--reference={files / name}" for name in ("fr", "fr2")]
    several = evaluated(source, *both, compared)
    assert first["bleu"]["score"] < 80
    other = several["comparisons"][0]["bleu"]["other"]
    assert [several["bleu"]["score"], several["by_length"][0]["bleu"], other] == [
        pytest.approx(100)
    ] * 3
    assert "nrefs:2" in several["bleu"]["signature"]
    gold = [f"--alignments={files / 'en'}"]
    assert evaluate.run([flags[0], source, *both, *gold]) == 2
    assert "--alignments takes only one --reference" in capsys.readouterr().err


def test_a_text_of_unknown_words_is_told_once(capsys, engine, files):
    model = made_model(files / "model", ["x", "line"])
    (files / "es").write_text("una línea de palabras que nadie conoce\n" * 600)
    known = ["x line", *["x line x"] * 599]
    (files / "known").write_text("".join(f"{line}\n" for line in known))

    def said(script, *flags: str) -> list[str]:
        assert script.run([model, f"--output={files / 'out'}", *flags]) == 0
        lines = capsys.readouterr().err.splitlines()
        return [line for line in lines if "unknown" in line]

    (line,) = said(translate, f"--input={files / 'es'}")
    assert line == (
        "rnnsearch-translate: 100% of the words of the source are unknown to the model: are source "
        "and target swapped, is it in another language, or not tokenized as the training text was?"
    )
    assert said(translate, f"--input={files / 'known'}") == []
    (line,) = said(score, f"--source={files / 'known'}", f"--target={files / 'es'}")
    assert "100% of the words of the target" in line


def test_a_binary_standard_input_is_an_error(capsys, engine, files, monkeypatch):
    model = made_model(files / "model")
    with open(files / "both.tsv.gz", "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert translate.run([model]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "rnnsearch-translate: standard input: binary, compressed, or UTF-16; text must be UTF-8 "
        "(line 1 has a NUL)"
    )


def test_a_standard_input_that_does_not_wait_is_an_error(capsys, engine, files, monkeypatch):
    """A pause of it would be taken for its end."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with open(reader, "rb") as stdin, open(writer, "wb"):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert translate.run([made_model(files / "model")]) == 1
    assert "standard input: Resource temporarily unavailable" in capsys.readouterr().err


def test_windows_is_not_asked_whether_a_file_waits(files, monkeypatch):
    """It knows this of pipes only."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "get_blocking", lambda _: pytest.fail("it was asked"))
    with open(files / "en", "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        read = [*text_input.input_lines("-")]
    assert read == (files / "en").read_bytes().splitlines()


def test_a_line_of_standard_input_that_would_fill_the_memory(capsys, engine, files, monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000)
    model = made_model(files / "model")
    (files / "long").write_bytes(b"short\n" + b"a" * 200_000)
    with open(files / "long", "rb") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert translate.run([model]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "rnnsearch-translate: standard input: line 2 has more than 1,000 bytes"
