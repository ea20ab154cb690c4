"""rnnsearch-align, and rnnsearch-evaluate --alignments."""

import json
from pathlib import Path

import numpy as np
import pytest
from scripted_aligner import ScriptedTranslator, installed
from test_scripts import fails

from rnnsearch_tf.alignment.error_rate import AlignmentScores
from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.scripts import align, evaluate
from rnnsearch_tf.scripts.shared import alignment_evaluation

SOURCE = "a b c\n\nd\n  \ne f\ng\n"
TARGET = "c a x\n\ne d f\n\nf\n\n"  # the last pair: its target alone is blank
LINKS = "2-0 0-1\n\n0-1\n\n1-0\n\n"


@pytest.fixture
def models(monkeypatch) -> dict[str, ScriptedTranslator]:
    return installed(monkeypatch)


@pytest.fixture
def text(tmp_path: Path, models) -> list[str]:
    (tmp_path / "text.en").write_text(SOURCE, "utf-8")
    (tmp_path / "text.fr").write_text(TARGET, "utf-8")
    return ["--model_dir=en-fr", f"--source={tmp_path / 'text.en'}"]


@pytest.fixture
def pairs(text, tmp_path) -> list[str]:
    return [*text, f"--target={tmp_path / 'text.fr'}"]


# --- rnnsearch-align ------------------------------------------------------------------------------


def test_lines_in_lines_out(capsys, pairs):
    assert align.run(pairs) == 0
    captured = capsys.readouterr()
    assert captured.out == LINKS
    assert captured.err == ""


def test_pictures_are_drawn(capsys, pairs, tmp_path):
    flags = [f"--figures={tmp_path / 'figures'}", "--figure_format=svg"]
    assert align.run([*pairs, *flags]) == 0
    assert capsys.readouterr().out == LINKS
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{number}.svg" for number, line in enumerate(SOURCE.split("\n"), 1) if line.strip()
    }
    said = fails(capsys, align, *pairs, "--figure_format=html", status=2)
    assert "--figure_format needs --figures" in said


def test_rules_and_directions(capsys, pairs, models):
    def links(*flags: str) -> str:
        assert align.run([*pairs, *flags]) == 0
        return capsys.readouterr().out

    assert links("--rule=threshold") == LINKS
    assert links("--rule=threshold", "--threshold=0.81") == "\n" * 6
    assert links("--reverse_model_dir=fr-en") == LINKS
    # γ is 0.8 where words are equal, and never more.
    average = "--reverse_model_dir=fr-en", "--average_alignments", "--rule=threshold"
    assert links(*average, "--threshold=0.79") == LINKS
    assert links(*average, "--threshold=0.81") == "\n" * 6
    # A reverse model that attends to "</s>" alone gives no links.
    models["fr-en"] = Blind("fr-en")
    assert links("--reverse_model_dir=fr-en", "--symmetrize=intersection") == "\n" * 6
    assert links("--reverse_model_dir=fr-en", "--symmetrize=union") == LINKS
    assert links("--reverse_model_dir=fr-en") == LINKS  # final-and: all words are free
    assert links("--symmetrize=intersection") == LINKS  # of the rows and the columns


class Blind(ScriptedTranslator):
    """Every word attends to `</s>`."""

    def align(self, source, target, progress=True):
        alignments = super().align(source, target, progress)
        for alignment in alignments:
            alignment.weights[:] = np.eye(alignment.weights.shape[1])[-1]
        return alignments


def test_json(capsys, pairs):
    assert align.run([*pairs, "--format=json", "--reverse_model_dir=fr-en"]) == 0
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(values) == 6
    assert values[2] == {
        "source_tokens": ["d", "</s>"],
        "target_tokens": ["e", "d", "f", "</s>"],
        "unknown_source": [],
        "unknown_target": [],
        "alignment": [[0.0, 1.0], [0.8, 0.2], [0.0, 1.0], [0.0, 1.0]],
        "reverse_alignment": [[0.0, 0.8, 0.0, 0.2], [0.0, 0.0, 0.0, 1.0]],
        "links": [[0, 1]],
    }
    assert values[1] == {
        "source_tokens": ["</s>"], "target_tokens": ["</s>"],
        "unknown_source": [], "unknown_target": [],
        "alignment": [[1.0]], "reverse_alignment": [[1.0]], "links": [],
    }  # fmt: skip


def test_json_has_one_model_s_alignment_and_unescaped_words(capsys, text, tmp_path):
    (tmp_path / "text.en").write_text("é\n", "utf-8")
    (tmp_path / "text.fr").write_text("é\n", "utf-8")
    assert align.run([*text, f"--target={tmp_path / 'text.fr'}", "--format=json"]) == 0
    line = capsys.readouterr().out
    assert "é" in line and "reverse_alignment" not in line


def test_long_files_are_read_in_windows(capsys, text, models, tmp_path):
    words = [f"w{i} w{i + 1}" for i in range(257)]
    (tmp_path / "text.en").write_text("".join(f"{line}\n" for line in words))
    (tmp_path / "text.fr").write_text(
        "".join(f"{line.split()[i % 2]}\n" for i, line in enumerate(words))
    )
    assert align.run([*text, f"--target={tmp_path / 'text.fr'}"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{i % 2}-0" for i in range(257)]
    assert models["en-fr"].max_pairs == 256


def test_cut_sentences_are_told(capsys, pairs, models, monkeypatch):
    # Lines are counted over blocks of the file.
    monkeypatch.setattr("rnnsearch_tf.data.parallel_corpus.BLOCK_PAIRS", 2)
    models["en-fr"] = ScriptedTranslator("en-fr", max_length=2)
    assert align.run(pairs) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "0-1"
    assert captured.err.splitlines() == [
        "rnnsearch-align: source line 1 has 3 tokens: only 2 are read",
        "rnnsearch-align: target line 1 has 3 tokens: only 2 are read",
        "rnnsearch-align: target line 3 has 3 tokens: only 2 are read",
    ]


def test_bad_flags(capsys, pairs):
    assert "--threshold needs --rule=threshold" in fails(
        capsys, align, *pairs, "--threshold=0.5", status=2
    )
    assert "--average_alignments needs --reverse_model_dir" in fails(
        capsys, align, *pairs, "--average_alignments", status=2
    )


def test_help_has_the_default_thresholds():
    text = align.COMMAND.help()
    assert "(default: 0.3; with the aligner, 0.35)" in " ".join(text.split())


@pytest.mark.slow
def test_a_trained_model_s_links(capsys, model_dir, corpus):
    files = [corpus / f"valid.{side}" for side in ("en", "fr")]
    flags = [f"--model_dir={model_dir}", f"--source={files[0]}", f"--target={files[1]}"]
    assert align.run(flags) == 0
    source, target = (file.read_text("utf-8").splitlines() for file in files)
    alignments = Translator.load(model_dir).align(source, target, progress=False)
    expected = [pharaoh(LinkRule().links(alignment.weights)) for alignment in alignments]
    assert capsys.readouterr().out.splitlines() == expected


# --- rnnsearch-evaluate --alignments --------------------------------------------------------------


@pytest.fixture
def gold(text, tmp_path) -> list[str]:
    # Predicted: 2-0 0-1 | 0-1 | 1-0. Of these sure: 2-0 and 1-0; possible: also 0-1 of line 1.
    (tmp_path / "gold").write_text("2-0 1-2 0p1\n\n0-0\n\n1-0\n\n")
    return [*text, f"--reference={tmp_path / 'text.fr'}", f"--alignments={tmp_path / 'gold'}"]


def test_scores(capsys, gold):
    assert evaluate.run(gold) == 0
    lines = capsys.readouterr().out.splitlines()
    # AER 1 − (2 + 3) / (4 + 4), precision 3/4, recall 2/4.
    assert lines[1].split() == ["forward,", "argmax", "37.5", "75.0", "50.0", "4"]
    assert lines[2] == "6 sentence pairs, 4 sure links"


def test_scores_in_json(capsys, gold, tmp_path):
    flags = [*gold, "--reverse_model_dir=fr-en", "--rule=threshold", "--threshold=0.5"]
    assert evaluate.run([*flags, f"--json={tmp_path / 'figures.json'}"]) == 0
    assert "both, threshold 0.5, grow-diag-final-and" in capsys.readouterr().out
    methods = json.loads((tmp_path / "figures.json").read_text())["methods"]
    assert [method["weights"] for method in methods] == ["forward", "reverse", "both"]
    assert [method["aer"] for method in methods] == [0.375] * 3
    assert evaluate.run([*flags, "--json=-"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"] == methods


def test_search_options_hold_for_both_models(gold, monkeypatch):
    load, lengths = Translator.load, {}

    def recorded(paths, decoding, weights, alignment):
        [path] = paths
        lengths[path] = decoding.max_length
        return load(paths, decoding, weights, alignment)

    monkeypatch.setattr(Translator, "load", recorded)
    assert evaluate.run([*gold, "--reverse_model_dir=fr-en", "--max_length=77"]) == 0
    assert lengths == {"en-fr": 77, "fr-en": 77}


def test_gold_of_the_other_direction(capsys, gold, models, tmp_path):
    flags = [
        "--model_dir=fr-en", f"--source={tmp_path / 'text.fr'}",
        f"--reference={tmp_path / 'text.en'}", gold[-1],
    ]  # fmt: skip
    assert evaluate.run([*flags, "--flip_gold"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[2] == "37.5"
    # Line 5 is "f" and "e f" here.
    assert "gold: line 5: 1-0 is outside" in fails(capsys, evaluate, *flags)


def test_tuning(capsys, gold, tmp_path, monkeypatch):
    flags = [*gold, "--reverse_model_dir=fr-en", "--tune", f"--json={tmp_path / 'figures.json'}"]
    assert evaluate.run(flags) == 0
    text = capsys.readouterr().out
    _, *methods, text_size = text.splitlines()
    assert len(methods) == 10 and text_size == "6 sentence pairs, 4 sure links"
    assert max(map(len, text.splitlines())) <= 80
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert len(figures["methods"]) > 100
    assert figures["best"]["aer"] == min(method["aer"] for method in figures["methods"])
    assert methods[0].startswith(figures["best"]["weights"])
    nothing = AlignmentScores(6, 0, 0, 0, 0)
    monkeypatch.setattr(alignment_evaluation, "alignment_scores", lambda *_: nothing)
    assert evaluate.run(flags) == 0  # where there is no AER to sort by


def test_tokens_that_are_not_the_gold_s_words(capsys, gold, models):
    models["en-fr"] = ScriptedTranslator("en-fr", max_length=2)
    line = fails(capsys, evaluate, *gold)
    assert "line 1 has 3 and 3 words, but the model reads 2 and 2:" in line


def test_bad_gold_is_told_before_a_model_is_loaded(capsys, gold, tmp_path):
    (tmp_path / "gold").write_text("2-0\n")
    line = fails(capsys, evaluate, "--model_dir=nowhere", *gold[1:])
    assert "gold: 1 lines for 6 sentence pairs" in line


def test_flags_for_alignments_alone(capsys, gold):
    for flag in ("--tune", "--reverse_model_dir=fr-en", "--rule=argmax", "--flip_gold"):
        assert "needs --alignments" in fails(capsys, evaluate, *gold[:-1], flag, status=2)


def test_flags_that_would_do_nothing(capsys, gold, tmp_path):
    for flag in (f"--translations={tmp_path / 'x'}", "--calibration", "--system=other:file"):
        assert "cannot be combined with --alignments" in fails(
            capsys, evaluate, *gold, flag, status=2
        )
    tune = fails(capsys, evaluate, *gold, "--tune", "--threshold=0.5", status=2)
    assert "--threshold cannot be combined with --tune, which tries them all" in tune
