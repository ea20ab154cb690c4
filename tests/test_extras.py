"""Packages that only some work needs: what is said, before work begins, where they are missing."""

import importlib.util
import subprocess
import sys

import pytest

from rnnsearch_tf import extras
from rnnsearch_tf.scripts import align, demo, plot, reproduce, select_pairs, train, translate

SELECTION = [
    f"--{part}_{side}={part}{side}"
    for part in ("in_domain", "pool", "output")
    for side in ("source", "target")
]


@pytest.fixture
def bare(monkeypatch):
    """An environment with nothing but what plain `pip install rnnsearch-tf` brings."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in extras._EXTRAS else find(name)
    )


@pytest.mark.parametrize(
    ("script", "flags", "said"),
    [
        (plot, ["--output=a.png", "--model_dir=none"], "matplotlib is not installed: {plot}"),
        (demo, ["--output=none"], "matplotlib is not installed: {plot}"),
        (reproduce, ["--data=none", "--output=none"], "matplotlib is not installed: {plot}"),
        (translate, ["--model_dir=none", "--figures=none"], "matplotlib is not installed: {plot}"),
        (
            align,
            ["--model_dir=none", "--source=a", "--target=b", "--figures=none"],
            "matplotlib is not installed: {plot}",
        ),
        (select_pairs, [*SELECTION, "--keep=1"], "nltk is not installed: {select}"),
        (
            train,
            ["--model_dir=none", "--wmt14=all"],
            "tensorflow_datasets is not installed: {wmt14}",
        ),
    ],
)
def test_a_missing_extra_is_one_line_with_the_command(
    bare, capsys, tmp_path, monkeypatch, script, flags, said
):
    monkeypatch.chdir(tmp_path)
    assert script.run(flags) == 1
    (line,) = capsys.readouterr().err.splitlines()
    commands = {name: f'pip install "rnnsearch-tf[{name}]"' for name in ("plot", "select", "wmt14")}
    assert line == f"{script.COMMAND.name}: {said.format(**commands)}"
    assert list(tmp_path.iterdir()) == []


def test_without_figures_none_is_needed(tmp_path):
    code = """
import sys
sys.modules["matplotlib"] = None
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.scripts.shared.command import Command
command = Command("draw", "draw.")
define_figures(command)
command.flags(["draw"])
check_figures(command)
draw_figure(command, 1, [[1.0, 0.0]], ["a", "b"], ["c"])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_tensorflow_a_command_says_what_to_install(capsys, monkeypatch):
    """In an environment of the client alone."""
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "tensorflow")
    assert translate.run(["--model_dir=none"]) == 1
    told = capsys.readouterr().err
    assert told.endswith('tensorflow is not installed: pip install "rnnsearch-tf"\n')
