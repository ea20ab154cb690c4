"""Packages that only some work needs: what is said, before work begins, where they are missing."""

import importlib.util
import re
import subprocess
import sys

import pytest

from rnnsearch_tf import extras
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import (
    align,
    beam_select,
    beam_translate,
    demo,
    plot,
    reproduce,
    select,
    train,
    translate,
)
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

SELECTION = [
    *(f"--{part}_{side}=text" for part in ("in_domain", "pool") for side in ("source", "target")),
    *("--output_source=en", "--output_target=fr", "--keep=1"),
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
            ["--model_dir=none", "--source=text", "--target=text", "--figures=none"],
            "matplotlib is not installed: {plot}",
        ),
        (
            beam_translate,
            ["--model_dir=none", "--input=text", "--output=none"],
            "apache_beam is not installed: {beam}",
        ),
        (
            beam_select,
            [*(flag for flag in SELECTION if not flag.startswith("--output")), "--output=none"],
            "apache_beam is not installed: {beam}",
        ),
        (select, SELECTION, "nltk is not installed: {select}"),
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
    (tmp_path / "text").touch()
    assert script.run(flags) == 1
    (line,) = capsys.readouterr().err.splitlines()
    extras_named = "beam", "plot", "select", "wmt14"
    commands = {name: f'pip install "{extras.package(f"[{name}]")}"' for name in extras_named}
    assert line == f"{script.COMMAND.name}: {said.format(**commands)}"
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_without_figures_none_is_needed(tmp_path):
    code = """
import sys
sys.modules["matplotlib"] = None
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.scripts.shared.command import Command
command = Command("draw", "draw.")
define_figures(command)
command.flags(["draw"])
check_figures(command)
draw_figure(command, 1, Alignment(("a", "b"), ("c",), [[1.0, 0.0]]), ("", ""))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_tensorflow_a_command_says_what_to_install(monkeypatch):
    """In an environment of the client alone."""
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "tensorflow")
    said = 'tensorflow is not installed: pip install "rnnsearch-tf @ git+'
    with pytest.raises(InputError, match=re.escape(said)), quiet_start():
        pass


def test_with_the_client_alone_every_command_starts():
    """In an environment with only the packages that docs/installation.md names for the client."""
    code = """
import importlib.metadata, sys
for name in ("h5py", "keras", "rich", "sacrebleu", "tensorboard", "tensorflow", "yaml"):
    sys.modules[name] = None
for script in importlib.metadata.distribution("rnnsearch-tf").entry_points:
    assert script.load()(["--version"]) == 0, script.name
"""
    subprocess.run([sys.executable, "-c", code], check=True)
