"""Weights so large that nothing is finite: each line keeps its line, and the status tells of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from test_scripts import fails

from rnnsearch_tf.evaluation.metrics import METRICS
from rnnsearch_tf.models.model_directory import BEST, ModelDirectory
from rnnsearch_tf.scripts import align, evaluate, export, score, translate

pytestmark = pytest.mark.slow

LINES = ["The man will eat.", "", "She sees a cat."]


@pytest.fixture(scope="module")
def overflowing(copied_model) -> Path:
    """A model directory whose weights are finite, and whose activations are not."""
    path = copied_model()
    directory = ModelDirectory(path)
    model = directory.load_model(BEST)
    model.set_weights([np.copysign(np.float32(3e38), weight) for weight in model.get_weights()])
    directory.save_weights(model, BEST)
    return path


@pytest.fixture
def pairs(tmp_path) -> list[str]:
    for name, lines in (("en", LINES), ("fr", ["Il mange.", "", "Elle voit."])):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    return [f"--source={tmp_path / 'en'}", f"--target={tmp_path / 'fr'}"]


def warnings(capsys) -> list[str]:
    lines = [line.split(": ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    return [line for line in lines if line.startswith("line")]


def test_each_line_has_its_translation(capsys, overflowing, tmp_path, pairs):
    flags = [f"--model_dir={overflowing}", "--n_best=2", "--alignment=json"]
    flags += [f"--input={tmp_path / 'en'}", f"--output={tmp_path / 'out'}"]
    assert translate.run([*flags, f"--figures={tmp_path / 'figures'}"]) == 1
    problem = "no translation with a finite score"
    assert warnings(capsys) == [f"line 1: {problem}", f"line 3: {problem}"]
    results = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [one["source"] for one in results] == LINES
    for result, expected in zip(results, (None, 0, None), strict=True):
        [hypothesis] = result["hypotheses"]
        assert (hypothesis["translation"], hypothesis["target_tokens"]) == ("", ["</s>"])
        assert hypothesis["score"] == hypothesis["normalized_score"] == expected
    assert not (tmp_path / "figures").exists()


def test_each_pair_has_its_score_and_its_links(capsys, overflowing, tmp_path, pairs):
    flags = [f"--model_dir={overflowing}", *pairs, f"--output={tmp_path / 'out'}"]
    assert score.run(flags) == 1
    assert (tmp_path / "out").read_text().splitlines() == ["-inf", "0.0000", "-inf"]
    assert warnings(capsys) == ["line 1: no finite score", "line 3: no finite score"]
    assert align.run([*flags, "--format=json"]) == 1
    assert warnings(capsys) == [f"line {i}: no finite alignment" for i in (1, 2, 3)]
    results = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [one["alignment"] for one in results] == [None, None, None]
    assert [one["links"] for one in results] == [[], [], []]


def test_such_a_model_is_not_exported(capsys, overflowing, tmp_path):
    flags = [f"--model_dir={overflowing}", f"--export_dir={tmp_path / 'exports'}"]
    assert f"{overflowing}: scores are not finite" in fails(capsys, export, *flags)
    assert not (tmp_path / "exports").exists()


def test_a_few_blank_translations_are_written_and_scored(capsys, overflowing, tmp_path, pairs):
    """As the validation set of training that diverges, which is translated in the same way."""
    flags = [f"--model_dir={overflowing}", "--beam_size=1", f"--translations={tmp_path / 'out'}"]
    files = [pairs[0], pairs[1].replace("--target", "--reference")]
    assert evaluate.run([*flags, *files, "--json=-"]) == 1
    said = capsys.readouterr()
    assert (tmp_path / "out").read_text() == "\n\n\n"
    assert "2 of 3 lines: no translation with a finite score" in said.err
    scores = json.loads(said.out)
    assert scores["bleu"]["score"] == 0
    assert all(scores[name]["interval"] is None for name in METRICS)
