"""The pretrained models are whole, small, and say what they are."""

import hashlib
from pathlib import Path

import pytest

from rnnsearch_tf.models.model_directory import DEFAULT, SHIPPED, ModelDirectory, find_model

SECTIONS = ("Training data", "License", "Scores", "Intended use", "Limits")


def test_the_default_is_among_them():
    assert DEFAULT in [path.name for path in SHIPPED.iterdir()]


@pytest.mark.parametrize("path", sorted(SHIPPED.iterdir()), ids=lambda path: path.name)
def test_each_is_whole_small_and_described(path):
    directory = ModelDirectory(find_model(path.name))
    assert directory.path == path
    config = directory.load_config()
    directory.load_vocabularies()
    directory.check_weights()
    for side in ("source", "target"):
        digest = hashlib.sha256((path / f"{side}.spm").read_bytes()).hexdigest()
        assert digest == getattr(config, f"{side}_subwords")
    assert sum(file.stat().st_size for file in path.iterdir()) <= 15_000_000
    card = (path / "README.md").read_text("utf-8")
    assert f"# {path.name}\n" in card
    assert all(f"## {section}\n" in card for section in SECTIONS)


def test_a_path_is_no_name(tmp_path, monkeypatch):
    """Nor is a name with a folder, or one of which there is nothing."""
    monkeypatch.chdir(tmp_path)
    assert find_model(DEFAULT) == SHIPPED / DEFAULT
    assert find_model(f"./x/{DEFAULT}") == Path("x", DEFAULT)
    assert find_model("none").name == "none"
    (tmp_path / DEFAULT).mkdir()
    assert find_model(DEFAULT).resolve() == (tmp_path / DEFAULT).resolve()
