"""Packages that only some work needs: what is said, before work begins, where they are missing."""

import importlib.util

import pytest

from rnnsearch_tf import extras
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import align, demo, plot, reproduce, select_pairs, train, translate
from rnnsearch_tf.scripts.shared.command import quiet_start

SELECTION = [
    f"--{part}_{side}={part}{side}"
    for part in ("in_domain", "pool", "output")
    for side in ("source", "target")
]


@pytest.fixture
def bare(monkeypatch):
    """An environment with nothing but what plain `pip install rnnsearch-tf` brings."""
    find = importlib.util.find_spec
    optional = {name for name, source in extras._SOURCES.items() if "[" in source}
    monkeypatch.setattr(
        extras.importlib.util, "find_spec", lambda name: None if name in optional else find(name)
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


def test_html_needs_no_extra(bare, capsys, tmp_path):
    flags = ["--model_dir=none", f"--figures={tmp_path}", "--figure_format=html"]
    assert translate.run(flags) == 1
    assert "not installed" not in capsys.readouterr().err


def test_without_tensorflow_a_command_says_what_to_install():
    """In an environment of the client alone."""
    with pytest.raises(InputError) as caught, quiet_start():
        raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow.core")
    assert str(caught.value) == 'tensorflow is not installed: pip install "rnnsearch-tf"'
    with pytest.raises(ModuleNotFoundError), quiet_start():
        raise ModuleNotFoundError("No module named 'rnnsearch_tf.x'", name="rnnsearch_tf.x")
