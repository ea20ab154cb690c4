"""rnnsearch-plot: curves of made-up files, and what it refuses."""

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from test_scripts import fails

from rnnsearch_tf.scripts import plot


def bins(*scores: float) -> list[dict[str, float]]:
    return [
        {"low": 10 * i + 1, "high": 10 * i + 10, "sentences": 9, "bleu": score, "interval": 1.5}
        for i, score in enumerate(scores)
    ]


def texts(path: Path) -> list[str]:
    return [text.text or "" for text in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def write_evaluation(path: Path, **more) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"by_length": bins(20, 10), **more}))
    return path


def test_trainings(model_dir, tmp_path):
    models = f"--model_dir={model_dir},europarl-en-fr"
    assert plot.run([models, f"--output={tmp_path / 'a.svg'}"]) == 0
    name, labels = model_dir.name, set(texts(tmp_path / "a.svg"))
    assert {f"{name}, training", f"{name}, validation"} <= labels
    # Its labels were smoothed: the loss is not −log p alone.
    assert {"europarl-en-fr, training loss", "europarl-en-fr, validation"} <= labels


def test_evaluations_and_what_they_were_compared_with(tmp_path):
    one = write_evaluation(tmp_path / "one.json")
    others = [
        {"other": name, "by_length": bins(5, 4)} for name in ("old/old.fr", "a/b.fr", "Moses")
    ]
    two = write_evaluation(tmp_path / "two.json", comparisons=others)
    flags = [f"--evaluations={one},{two}", f"--output={tmp_path / 'a.svg'}"]
    assert plot.run(flags) == 0
    against_two = {f"{name} (against two)" for name in ("old.fr", "b.fr", "Moses")}
    assert {"one", "two", *against_two, "1–10"} <= set(texts(tmp_path / "a.svg"))


def test_of_different_test_sets_there_is_a_warning(capsys, tmp_path):
    paths = [write_evaluation(tmp_path / f"{x}.json", test_set_sha256=x) for x in "ab"]
    old = write_evaluation(tmp_path / "old.json")
    flags = [f"--evaluations={paths[0]},{paths[1]},{old}", f"--output={tmp_path / 'a.svg'}"]
    assert plot.run(flags) == 0
    assert "rnnsearch-plot: these evaluations are of different test" in capsys.readouterr().err
    flags[0] = f"--evaluations={paths[0]},{old}"
    assert plot.run(flags) == 0
    assert "different" not in capsys.readouterr().err


def test_equal_names_of_what_was_compared_with_are_told_apart(tmp_path):
    others = [{"other": name, "by_length": bins(5, 4)} for name in ("a/b.fr", "c/b.fr")]
    one = write_evaluation(tmp_path / "one.json", comparisons=others)
    assert plot.run([f"--evaluations={one}", f"--output={tmp_path / 'a.svg'}"]) == 0
    labels = set(texts(tmp_path / "a.svg"))
    assert {"a/b.fr (against one)", "c/b.fr (against one)"} <= labels


def test_calibrations(capsys, tmp_path):
    one = {"low": 0.4, "high": 0.5, "tokens": 9, "confidence": 0.45, "accuracy": 0.333}
    measured = {"error": 0.117, "tokens": 9, "bins": [one]}
    path = write_evaluation(tmp_path / "one.json", calibration=measured)
    assert plot.run([f"--calibrations={path}", f"--output={tmp_path / 'a.svg'}"]) == 0
    assert "one: ECE 0.117" in texts(tmp_path / "a.svg")
    without = write_evaluation(tmp_path / "two.json")
    said = fails(capsys, plot, f"--calibrations={without}", f"--output={tmp_path / 'b.svg'}")
    assert "two.json: not what rnnsearch-evaluate --calibration --json writes" in said


def test_equal_names_are_told_apart(tmp_path):
    paths = [write_evaluation(tmp_path / folder / "test.json") for folder in "ab"]
    flags = [f"--evaluations={paths[0]},{paths[1]}", f"--output={tmp_path / 'a.svg'}"]
    assert plot.run(flags) == 0
    written = "".join(texts(tmp_path / "a.svg"))  # each of them in several lines
    assert all(str(path) in written for path in paths)


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_any_name_is_drawn(capsys, tmp_path, ending):
    names = [b"caf\xe9", b"ctl\x01x", "日本語の翻訳模型第一版改訂版比較実験用1".encode()]
    paths = [write_evaluation(tmp_path / os.fsdecode(name + b".json")) for name in names]
    picture = tmp_path / f"a.{ending}"
    flags = [f"--evaluations={','.join(map(str, paths))}", f"--output={picture}"]
    assert plot.run(flags) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) <= (ending == "png") and all(line.endswith("viewer's fonts") for line in said)
    if ending == "svg":
        assert {"caf\ufffd", "ctl\ufffdx"} <= set(texts(picture))


def test_what_it_refuses(capsys, tmp_path):
    good = write_evaluation(tmp_path / "good.json")
    output = f"--output={tmp_path / 'a.svg'}"
    twice = fails(capsys, plot, f"--evaluations={good},{good}", output, status=2)
    assert "twice" in twice
    gif = fails(capsys, plot, f"--evaluations={good}", f"--output={tmp_path / 'a.gif'}", status=2)
    assert "a.gif: the name of a figure must end in .png, .svg or .pdf" in gif
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.json"]


@pytest.mark.parametrize("name", ["a.svg", "a.png", "a.pdf"])
def test_a_picture_is_replaced_whole(tmp_path, name):
    (tmp_path / name).write_text("old")
    good = write_evaluation(tmp_path / "good.json")
    assert plot.run([f"--evaluations={good}", f"--output={tmp_path / name}"]) == 0
    assert (tmp_path / name).read_bytes()[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")
