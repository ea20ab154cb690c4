"""rnnsearch-evaluate: what it prints and writes, and what it refuses."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from test_scripts import fails

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import align, evaluate
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.systems import named_systems

pytestmark = pytest.mark.slow


@pytest.fixture
def flags(model_dir: Path, corpus: Path) -> list[str]:
    return [
        f"--model_dir={model_dir}",
        "--beam_size=1",
        f"--source={corpus / 'valid.en'}",
        f"--reference={corpus / 'valid.fr'}",
    ]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What it prints."""
    capsys.readouterr()
    assert evaluate.run(list(arguments)) == 0
    return capsys.readouterr().out


def test_it_translates_scores_and_keeps_what_it_is_told_to(capsys, flags, model_dir, tmp_path):
    kept = [f"--{name}={tmp_path / name}" for name in ("translations", "json", "sample_html")]
    kept[2] += ".html"
    table = run(capsys, *flags, *kept, "--sample=3", "--calibration")
    assert "expected calibration error of the next token: 0." in table
    assert "tok:13a" in table and "nc:6" in table and "tok:tercom" in table
    assert "1-10" in table and "no unknown words" in table
    translations = (tmp_path / "translations").read_text("utf-8")
    assert len(translations.split("\n")) == 21
    page = (tmp_path / "sample_html.html").read_text("utf-8")
    assert page.count("<section") == 6 and "Worst 3: sentence" in page and "Best 3" in page
    values = json.loads((tmp_path / "json").read_text("utf-8"))
    assert values["sentences"] == 20 and values["comparisons"] == []
    assert len(values["test_set_sha256"]) == 64
    assert values.pop("unknown_replaced")["sentences"] == 20
    model = ModelDirectory(model_dir)
    assert values.pop("weights_sha256") == [model.check_weights()]
    decoding = dataclasses.replace(model.load_config().decoding, beam_size=1)  # as in the flags
    assert values.pop("decoding") == dataclasses.asdict(decoding)
    # Scored again from the file, without translating, they have the same scores.
    again = run(capsys, *flags, f"--hypotheses={tmp_path / 'translations'}", "--json=-")
    assert values.pop("calibration")["tokens"] > 100
    unknown = ("unknown_replaced", "calibration", "weights_sha256", "decoding")
    assert json.loads(again) == {**values, **dict.fromkeys(unknown)}


def test_a_test_set_has_all_its_references(capsys, flags, tmp_path):
    path = tmp_path / "reference"
    digests = []
    for content in ("one", "other"):
        path.write_text(f"{content}\n" * 20)
        given = [*flags, f"--reference={path}", f"--hypotheses={path}", "--json=-"]
        digests.append(json.loads(run(capsys, *given))["test_set_sha256"])
    assert digests[0] != digests[1]


def test_an_export_has_no_calibration(capsys, flags, export_dir):
    flags[:2] = [f"--model_dir={export_dir}"]
    said = fails(capsys, evaluate, *flags, "--calibration", status=2)
    assert "--calibration needs a model directory, not an export" in said


def test_translations_are_written_before_they_are_scored(
    capsys, flags, corpus, tmp_path, monkeypatch
):
    def refuse(*_):
        raise InputError("no scores today")

    monkeypatch.setattr(Evaluator, "evaluate", refuse)
    given = [f"--hypotheses={corpus / 'valid.en'}", f"--translations={tmp_path / 'kept'}"]
    assert "no scores today" in fails(capsys, evaluate, *flags, *given)
    assert (tmp_path / "kept").read_bytes() == (corpus / "valid.en").read_bytes()


def test_scores_are_printed_although_files_cannot_be_written(
    capsys, flags, corpus, tmp_path, monkeypatch
):
    def refuse(path: object, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(evaluate, "write_atomically", refuse)
    given = [f"--hypotheses={corpus / 'valid.fr'}", f"--translations={tmp_path / 'kept'}"]
    assert evaluate.run([*flags, *given]) == 1
    said = capsys.readouterr()
    assert "BLEU" in said.out
    assert said.err.endswith(f"evaluate: {tmp_path / 'kept'}: No space left on device\n")


def test_an_input_is_not_overwritten(capsys, flags, corpus, tmp_path):
    (tmp_path / "system").write_bytes((corpus / "valid.fr").read_bytes())
    (tmp_path / "link").hardlink_to(tmp_path / "system")
    for given in (
        [f"--translations={corpus / 'valid.fr'}"],
        [f"--system=Moses:{tmp_path / 'system'}", f"--translations={tmp_path / 'system'}"],
        [f"--hypotheses={tmp_path / 'system'}", f"--json={tmp_path / 'link'}"],
        [
            f"--system=Moses:{corpus / 'valid.en'},{tmp_path / 'system'}",
            f"--json={tmp_path / 'system'}",
        ],
    ):
        said = fails(capsys, evaluate, *flags, *given, status=2)
        assert "another flag names this file too" in said


def test_a_file_and_a_model_are_other_systems(capsys, flags, corpus, model_dir, tmp_path):
    ours = f"--hypotheses={corpus / 'valid.en'}"
    systems = [f"--system={corpus / 'valid.fr'}", f"--system=RNNsearch:{model_dir}"]
    table = run(capsys, *flags, ours, *systems, f"--json={tmp_path / 'json'}")
    perfect, model = json.loads((tmp_path / "json").read_text("utf-8"))["comparisons"]
    assert [perfect["other"], model["other"]] == [str(corpus / "valid.fr"), "RNNsearch"]
    assert perfect["bleu"]["other"] == pytest.approx(100)
    assert model["bleu"]["other"] < 99
    assert perfect["bleu"]["p_value"] == pytest.approx(1 / 1001)
    assert f"\n{corpus / 'valid.fr'}\n" in table and "\nRNNsearch " in table
    assert "paired bootstrap" in table


def test_flags_that_would_do_nothing(capsys, flags, corpus):
    assert evaluate.run([*flags, f"--hypotheses={corpus / 'valid.fr'}", "--beam_size=3"]) == 0
    assert "--beam_size has no effect with --hypotheses" in capsys.readouterr().err
    assert "--sample needs --sample_html" in fails(capsys, evaluate, *flags, "--sample=3", status=2)


def test_a_model_that_ships_is_another_system(capsys, flags):
    given = "--system=europarl-en-fr", "--weights=last"  # which it lacks
    assert "europarl-en-fr: no last.weights.h5" in fails(capsys, evaluate, *flags, *given)


def test_links_of_subwords_are_of_the_words_between_blanks(capsys, tmp_path):
    """Its own links are gold links of the same words, of which none is missing."""
    text = {
        "source": "Resumption of the session\n\nThank you.\n",
        "reference": "Reprise de la\n\nMerci.\n",
    }
    for name, lines in text.items():
        (tmp_path / name).write_text(lines, "utf-8")
    model, links = "--model_dir=europarl-en-fr", tmp_path / "links"
    files = [f"--source={tmp_path / 'source'}", f"--target={tmp_path / 'reference'}"]
    figures = f"--figures={tmp_path / 'figures'}", "--figure_format=svg"
    assert align.run([model, *files, f"--output={links}", *figures]) == 0
    linked = links.read_text().splitlines()
    assert len(linked) == 3 and linked[1] == "" and linked[0]
    assert "Resumption" in (tmp_path / "figures" / "1.svg").read_text("utf-8")
    files[1] = f"--reference={tmp_path / 'reference'}"
    said = run(capsys, model, *files, f"--alignments={links}")
    assert re.search(r"argmax +0\.0 +100\.0 +100\.0", said)


def test_names_of_systems_are_told_from_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.en:fr").touch()
    command = Command("test", "test")
    command.define("system", str, "other", repeated=True)
    given = ["Moses:C:\\out.fr", "D:\\out.fr", "E:/out.fr", "a.en:fr", "b.en:fr", "a.en:fr,c", "x"]
    command.run(lambda: 0, [f"--system={value}" for value in given])
    paths = ["D:\\out.fr", "E:/out.fr", "a.en:fr", "a.en:fr,c", "x"]
    expected = {path: path for path in paths} | {"Moses": "C:\\out.fr", "b.en": "fr"}
    assert named_systems(command) == expected


def test_an_export_has_its_own_vocabularies(capsys, flags, export_dir, model_dir, corpus):
    ours = f"--hypotheses={corpus / 'valid.fr'}"
    results = [
        run(capsys, f"--model_dir={path}", *flags[2:], ours, "--json=-")
        for path in (export_dir, model_dir)
    ]
    assert results[0] == results[1]
    assert 0 < json.loads(results[0])["no_unknown"]["sentences"] < 20


def test_what_it_refuses(capsys, flags, tmp_path):
    page = fails(capsys, evaluate, *flags, f"--sample_html={tmp_path / 'page.txt'}", status=2)
    assert "page.txt: must end in .html" in page
