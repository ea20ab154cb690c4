"""The console scripts: help, usage, and one clear line for each sort of bad input."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from scripted_engine import MAX_LENGTH, answer, engine, made_model

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import find_model
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.scripts import (
    aligner,
    evaluate,
    export,
    lexicon,
    score,
    train,
    translate,
)
from rnnsearch_tf.serving.signatures import signatures

pytestmark = pytest.mark.slow

__all__ = ["engine"]  # a fixture


def fails(capsys: pytest.CaptureFixture[str], script, *arguments: str, status: int = 1) -> str:
    """Run a script that must fail; return the one line it says."""
    capsys.readouterr()
    assert script.run(list(arguments)) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [line for line in captured.err.splitlines() if line]
    assert lines[-1].startswith(script.COMMAND.name + ": ")
    assert not any("Traceback" in line for line in lines)
    return lines[-1]


def test_subwords_have_no_candidate_words_and_no_lexicon(capsys, tmp_path):
    flags = "--model_dir=europarl-en-fr", "--candidate_words=100"
    line = fails(capsys, translate, *flags, status=1)
    assert "--candidate_words needs a word model; " in line
    model = shutil.copytree(find_model("europarl-en-fr"), tmp_path / "model")
    text = tmp_path / "text"
    text.write_text("one\n")
    others = f"--model_dir={model}", f"--source={text}", f"--target={text}"
    assert "a subword model does not use a lexicon" in fails(capsys, lexicon, *others)


def train_on(capsys, tmp_path: Path, source: bytes | None, target: bytes) -> str:
    """Train on files with this content; nothing may be left behind."""
    if source is not None:
        (tmp_path / "a.en").write_bytes(source)
    (tmp_path / "a.fr").write_bytes(target)
    line = fails(
        capsys, train, f"--train_source={tmp_path / 'a.en'}",
        f"--train_target={tmp_path / 'a.fr'}", f"--model_dir={tmp_path / 'model'}",
        "--max_length=5",
    )  # fmt: skip
    assert not (tmp_path / "model").exists()
    return line


def test_training_text_that_cannot_be_used(capsys, tmp_path):
    missing = train_on(capsys, tmp_path, None, b"Un.\n")
    assert "a.en: No such file or directory" in missing
    unequal = train_on(capsys, tmp_path, b"One.\nTwo.\nThree.\n", b"Un.\nDeux.\n")
    assert "a.en has 3 lines" in unequal
    assert "a.fr has 2" in unequal
    assert "are empty" in train_on(capsys, tmp_path, b"", b"")
    assert "a.fr: line 2 is not UTF-8" in train_on(capsys, tmp_path, b"a\nb\n", b"a\n\xff\n")
    long = b"one two three four five six\n"
    assert "none of the 1 pairs has 1 to 5 tokens" in train_on(capsys, tmp_path, long, long)
    assert "none of the 2 pairs" in train_on(capsys, tmp_path, b"\nOne.\n", b"Un.\n\n")


def copied(model_dir: Path, tmp_path: Path) -> Path:
    return shutil.copytree(model_dir, tmp_path / "copy")


def every_reader(capsys, path: Path, tmp_path: Path, corpus: Path) -> set[str]:
    """What translate, evaluate and export say of a model directory, without their names."""
    files = [f"--source={corpus / 'valid.en'}", f"--reference={corpus / 'valid.fr'}"]
    lines = [
        fails(capsys, translate, f"--model_dir={path}", f"--input={corpus / 'valid.en'}"),
        fails(capsys, evaluate, f"--model_dir={path}", *files),
        fails(capsys, export, f"--model_dir={path}", f"--export_dir={tmp_path / 'export'}"),
    ]
    assert not (tmp_path / "export").exists()
    return {line.split(": ", 1)[1] for line in lines}


def damage_vocabulary(path: Path) -> None:
    lines = (path / "source.vocab").read_text("utf-8").split("\n")
    lines[5] = "otherwise"
    (path / "source.vocab").write_text("\n".join(lines), "utf-8")


def truncate_weights(path: Path) -> None:
    whole = (path / "best.weights.h5").read_bytes()
    (path / "best.weights.h5").write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (damage_vocabulary, "not the vocabulary this model was made with"),
        (truncate_weights, "best.weights.h5: damaged"),
    ],
)
def test_damaged_model_directories(capsys, model_dir, tmp_path, corpus, damage, said):
    path = copied(model_dir, tmp_path)
    damage(path)
    messages = every_reader(capsys, path, tmp_path, corpus)
    assert len(messages) == 1
    assert said in messages.pop()


def test_a_training_with_other_settings_is_not_overwritten(
    capsys, model_dir, tmp_path, train_flags
):
    path = copied(model_dir, tmp_path)
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    line = fails(capsys, train, *train_flags, f"--model_dir={path}", "--hidden_size=13")
    assert "hidden_size is 11, not 13" in line
    other_text = [
        flag.replace("/train.", "/valid.") if flag.startswith("--train_") else flag
        for flag in train_flags
    ]
    line = fails(capsys, train, *other_text, f"--model_dir={path}")
    assert "holds a training run with other settings" in line
    assert before == {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}


def test_text_that_is_not_utf8_is_translated_as_a_server_does(
    capsys, model_dir, translator, tmp_path
):
    lines = [b"The man is here.", b"\xe9t\xe9 \xff", b"", b"She sees a cat.\r"]
    (tmp_path / "latin").write_bytes(b"\n".join(lines))
    flags = [f"--model_dir={model_dir}", f"--output={tmp_path / 'out'}", "--beam_size=3"]
    assert translate.run([*flags, f"--input={tmp_path / 'latin'}"]) == 0
    assert "line 2 is not UTF-8" in capsys.readouterr().err
    served = signatures(translator._engine)["serving_default"](tf.constant(lines))
    expected = [text.decode() for text in served["translation"].numpy()]
    assert (tmp_path / "out").read_text("utf-8").split("\n") == [*expected, ""]
    assert expected[1]


def test_translations_as_long_as_they_may_be_are_told(capsys):
    # 5 and 3 tokens of 4 and 2
    config = Config(decoding=DecodingConfig(max_length=4, max_length_ratio=1.5))

    def result(source: int, target: int, pieces: int = 0) -> Translation:
        best = Hypothesis("a", ("a",) * target, 0.0, 0.0, pieces=("a",) * pieces)
        return Translation("x", ("x",) * source, (best,))

    results = [result(4, 4), result(2, 3), result(1, 1), result(4, 5), result(2, 3, 9)]
    assert list(translate._with_advice(iter(results), config, 10)) == results
    (line,) = capsys.readouterr().err.splitlines()
    said = (
        "rnnsearch-translate: translations of the maximum length, perhaps truncated: 2, the first"
    )
    assert line == f"{said} of line 12 (see --max_length_ratio and --max_length)"
    assert list(translate._with_advice(results[:1], config, 0)) == results[:1]
    assert capsys.readouterr().err == ""


def test_paragraphs_are_told_and_translated_by_sentences(capsys, model_dir, tmp_path):
    sentences = ["The man is here.", "She sees a cat.", "It is cold."]
    paragraph = "The house will sleep in Paris. " * 9
    paths = {name: tmp_path / name for name in ("in", "each", "lines", "split")}
    paths["in"].write_text(f"{' '.join(sentences)}\n\n{paragraph}\n")
    paths["each"].write_text("\n".join(sentences) + "\n")
    common = [f"--model_dir={model_dir}", "--beam_size=3"]
    outputs = [f"--output={paths[name]}" for name in ("lines", "split")]
    assert translate.run([*common, f"--input={paths['in']}", outputs[0]]) == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "several" in line)
    assert "tokens: 1, the first is line 3; --split_sentences translates" in line
    flags = [*common, f"--input={paths['in']}", "--split_sentences"]
    assert translate.run([*flags, outputs[1]]) == 0
    assert "several sentences" not in capsys.readouterr().err
    assert translate.run([*common, f"--input={paths['each']}", f"--output={tmp_path / 'out'}"]) == 0
    each = (tmp_path / "out").read_text("utf-8").split("\n")[:-1]
    first, blank, third, end = paths["split"].read_text("utf-8").split("\n")
    assert (first, blank, end) == (" ".join(each), "", "")
    assert len(set(third.split(". "))) <= 2  # the last keeps its full stop
    for other in ("--n_best=2", "--alignment=json", "--word_scores"):
        said = fails(capsys, translate, *flags, other, status=2)
        assert "cannot be combined with --n_best, --word_scores or alignments" in said


def test_lines_in_lines_out(capsys, engine, tmp_path):
    lines = ["The man is here.", "", "   ", "word " * 60, "She sees a cat."]
    (tmp_path / "in").write_text("\n".join(lines) + "\n")
    flags = [made_model(tmp_path / "model"), f"--output={tmp_path / 'out'}"]
    assert translate.run([*flags, f"--input={tmp_path / 'in'}"]) == 0
    assert f"line 4 has 60 tokens: only {MAX_LENGTH} are read" in capsys.readouterr().err
    assert (tmp_path / "out").read_text("utf-8") == "".join(f"{answer(line)}\n" for line in lines)


def translated(capsysbinary, *flags: str) -> list[str]:
    """What the script writes to standard output."""
    assert translate.run(list(flags)) == 0
    return capsysbinary.readouterr().out.decode().splitlines()


@pytest.fixture
def two_lines(model_dir, tmp_path) -> list[str]:
    (tmp_path / "in").write_text("The man will eat.\n\nShe sees a cat.\n")
    return [f"--model_dir={model_dir}", "--beam_size=3", f"--input={tmp_path / 'in'}"]


def test_scores_and_links_stand_behind_the_text(capsysbinary, two_lines):
    plain = translated(capsysbinary, *two_lines)
    rows = [line.split(" ||| ") for line in translated(
        capsysbinary, *two_lines, "--score", "--alignment=pharaoh"
    )]  # fmt: skip
    assert [row[0] for row in rows] == plain
    assert [len(row) for row in rows] == [3, 3, 3]
    assert rows[1][1:] == ["0.0000", ""]
    for row in (rows[0], rows[2]):
        assert float(row[1]) < 0
        links = [tuple(map(int, link.split("-"))) for link in row[2].split()]
        assert links == sorted(links, key=lambda link: link[1])
        assert all(0 <= source < 5 for source, _ in links)


def test_scores_of_words_stand_behind_those_of_sentences(capsysbinary, two_lines):
    flags = ["--score", "--word_scores", "--alignment=pharaoh"]
    rows = [line.split(" ||| ") for line in translated(capsysbinary, *two_lines, *flags)]
    assert [len(row) for row in rows] == [4, 4, 4]
    assert rows[1][2] == "</s>:0.0000"
    for row in (rows[0], rows[2]):
        words, scores = zip(*(one.rsplit(":", 1) for one in row[2].split()), strict=True)
        assert words[-1] == "</s>"
        assert sum(map(float, scores)) == pytest.approx(float(row[1]), abs=1e-3)
    listed = translated(capsysbinary, *two_lines, "--n_best=2", "--word_scores")
    assert [line.split(" ||| ")[4].endswith("</s>:0.0000") for line in listed].count(True) >= 1


def test_an_n_best_list_is_as_moses_writes_it(capsysbinary, two_lines):
    plain = translated(capsysbinary, *two_lines)
    rows = [line.split(" ||| ") for line in translated(capsysbinary, *two_lines, "--n_best=3")]
    assert [row[0] for row in rows] == ["0"] * 3 + ["1"] + ["2"] * 3
    assert [rows[0][1], rows[3][1], rows[4][1]] == plain
    for row in rows:
        assert float(row[3]) >= float(row[2])  # divided by a power of the length
    linked = translated(capsysbinary, *two_lines, "--n_best=2", "--alignment=pharaoh")
    assert all(len(line.split(" ||| ")) == 5 for line in linked)


def test_the_closest_of_several_translations(capsysbinary, two_lines, tmp_path):
    listed = [line.split(" ||| ") for line in translated(capsysbinary, *two_lines, "--n_best=3")]
    texts = [[row[1] for row in listed if row[0] == number] for number in "012"]
    path = tmp_path / "references"
    for place in (1, 2):
        wanted = [texts[0][place], texts[1][0], texts[2][place]]
        path.write_text("".join(f"{text}\n" for text in wanted), "utf-8")
        flags = [*two_lines, "--n_best=3", f"--closest_to={path}"]
        assert translated(capsysbinary, *flags) == wanted
        scored = translated(capsysbinary, *flags, "--score")
        assert [line.split(" ||| ")[0] for line in scored] == wanted
    path.write_text(f"{texts[0][0]}\n", "utf-8")
    assert translate.run(flags) == 1
    assert b"references has 1 lines, the input has 3" in capsysbinary.readouterr().err


def test_json_has_all_that_is_known(capsysbinary, two_lines):
    plain = translated(capsysbinary, *two_lines)
    translations = list(map(json.loads, translated(
        capsysbinary, *two_lines, "--alignment=json", "--n_best=2"
    )))  # fmt: skip
    assert [one["source"] for one in translations] == ["The man will eat.", "", "She sees a cat."]
    assert [one["hypotheses"][0]["translation"] for one in translations] == plain
    assert [len(one["hypotheses"]) for one in translations] == [2, 1, 2]
    first = translations[0]["hypotheses"][0]
    assert translations[0]["source_tokens"] == ["The", "man", "will", "eat", ".", "</s>"]
    assert len(first["alignment"]) == len(first["target_tokens"]) == len(first["word_scores"])
    assert sum(first["word_scores"]) == pytest.approx(first["score"], abs=1e-5)
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in first["alignment"])


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--score", "--alignment=json"], "--score cannot be combined with --alignment=json"),
        (
            ["--word_scores", "--alignment=json"],
            "--word_scores cannot be combined with --alignment=json",
        ),
        (["--n_best=4"], "n_best 4: must be from 1 to the beam size, 3"),
        ([f"--closest_to={__file__}"], "--closest_to needs an --n_best above 1"),
    ],
)
def test_output_that_cannot_be(capsys, two_lines, tmp_path, flags, said):
    flags = [*two_lines, *flags, f"--output={tmp_path / 'out'}"]
    assert said in fails(capsys, translate, *flags, status=2)
    assert not (tmp_path / "out").exists()


def test_the_closest_translations_need_a_file(capsys, two_lines):
    flags = [*two_lines[:2], "--input=-", f"--closest_to={__file__}", "--n_best=2"]
    assert "an --input that is a file" in fails(capsys, translate, *flags, status=2)


def test_an_export_translates_as_the_model(capsysbinary, model_dir, export_dir, two_lines):
    own = translated(capsysbinary, *two_lines)
    assert translated(capsysbinary, f"--model_dir={export_dir}", two_lines[2]) == own
    assert translate.run([f"--model_dir={export_dir}", "--beam_size=2", two_lines[2]]) == 1
    assert b"its own decoding options" in capsysbinary.readouterr().err


def test_given_translations_are_scored(capsys, model_dir, corpus, tmp_path):
    flags = [f"--model_dir={model_dir}",
             f"--source={corpus / 'valid.en'}", f"--target={corpus / 'valid.fr'}"]  # fmt: skip
    assert score.run([*flags, f"--output={tmp_path / 'scores'}"]) == 0
    scores = [float(line) for line in (tmp_path / "scores").read_text().splitlines()]
    pairs = [(corpus / f"valid.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")]
    np.testing.assert_allclose(scores, Translator.load(model_dir).score(*pairs), atol=1e-4)
    records = (model_dir / "training.jsonl").read_text().splitlines()
    mean = json.loads(records[-1])["nll_per_token"]
    assert f"20 pairs: {mean:.4f} nats per token" in capsys.readouterr().err


def test_blank_pairs_are_left_out_of_the_means(capsys, model_dir, tmp_path):
    means = []
    for lines in ("le chat .\n", "le chat .\n\n \n"):
        (tmp_path / "text").write_text(lines)
        flags = [f"--source={tmp_path / 'text'}", f"--target={tmp_path / 'text'}"]
        assert score.run([f"--model_dir={model_dir}", *flags]) == 0
        said = capsys.readouterr()
        assert len(said.out.splitlines()) == lines.count("\n")
        means.append(said.err.splitlines()[-1].split(": "))
    assert means[0][-1] == means[1][-1]
    assert means[1][-2].endswith("1 pair (2 blank left out)")


def test_long_lines_are_scored_in_part_which_is_told(capsys, model_dir, tmp_path):
    for side in ("en", "fr"):
        (tmp_path / side).write_text("le chat .\n" + "le " * 21 + "\n")
    flags = [f"--source={tmp_path / 'en'}", f"--target={tmp_path / 'fr'}"]
    flags += [f"--model_dir={model_dir}", f"--output={tmp_path / 'scores'}"]
    assert score.run([*flags, "--max_length=20"]) == 0
    said = capsys.readouterr().err
    for side in ("source", "target"):
        assert f"{side} line 2 has 21 tokens: only 20 are read" in said
    assert len((tmp_path / "scores").read_text().splitlines()) == 2
    assert score.run(flags) == 0
    assert "are read" not in capsys.readouterr().err


def test_a_lexicon_is_learned_and_used(capsys, copied_model, corpus, tmp_path):
    copy = copied_model()
    others = [corpus / "train.en", corpus / "train.fr"]
    for path in others:
        (tmp_path / path.name).write_text("blank\n" * 50)  # of several files not the first alone
    flags = [f"--model_dir={copy}", f"--source={tmp_path / 'train.en'},{others[0]}",
             f"--target={tmp_path / 'train.fr'},{others[1]}"]  # fmt: skip
    assert lexicon.run([*flags, "--pairs=50"]) == 0
    lines = (copy / "lexicon.tsv").read_text("utf-8").splitlines()
    words = {line.split("\t")[0] for line in lines}
    assert words - {"blank"}
    assert f"lexicon.tsv: {len(words):,} words" in capsys.readouterr().err
    (tmp_path / "in").write_text("Zork is here.\n" * 3)
    assert translate.run([f"--model_dir={copy}", f"--input={tmp_path / 'in'}", "--replace_unknown",
                          "--candidate_words=5", "--beam_size=2",
                          f"--output={tmp_path / 'out'}"]) == 0  # fmt: skip
    assert "[UNK]" not in (tmp_path / "out").read_text("utf-8")
    (tmp_path / "ru").write_text("Это предложение не на английском языке.\n" * 9, "utf-8")
    given = [f"--model_dir={copy}", f"--source={tmp_path / 'ru'}", f"--target={tmp_path / 'ru'}"]
    assert lexicon.run(given) == 0
    assert "of the source are unknown" in capsys.readouterr().err
    before = (copy / "lexicon.tsv").read_bytes()
    (tmp_path / "ru").write_text("\n" * 9)
    assert "no sentence pair has words on both sides" in fails(capsys, lexicon, *given)
    assert (copy / "lexicon.tsv").read_bytes() == before


@pytest.mark.parametrize(("script", "name"), [(lexicon, "lexicon.tsv"), (aligner, "aligner.npz")])
def test_a_link_in_a_model_directory_is_not_written_through(
    capsys, model_dir, corpus, tmp_path, script, name
):
    copy = shutil.copytree(model_dir, tmp_path / "model")
    (tmp_path / "own").write_text("mine")
    (copy / name).symlink_to(tmp_path / "own")
    pairs = [f"--source={corpus / 'valid.en'}", f"--target={corpus / 'valid.fr'}"]
    assert script.run([f"--model_dir={copy}", *pairs]) == 1
    assert f"{name}: a symbolic link" in capsys.readouterr().err
    assert (tmp_path / "own").read_text() == "mine"


def test_alignments_are_drawn(model_dir, tmp_path):
    (tmp_path / "in").write_text("The man costs $5.\n\nShe sees a cat.\n")
    flags = [f"--model_dir={model_dir}", f"--output={tmp_path / 'out'}", "--beam_size=3"]
    flags += [f"--input={tmp_path / 'in'}", f"--figures={tmp_path / 'figures'}"]
    assert translate.run(flags) == 0
    drawn = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert set(drawn) == {"1.png", "3.png"}
    assert all(content.startswith(b"\x89PNG") for content in drawn.values())
