"""The demonstration: train, evaluate, draw, export; and `make demo`."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import scripted_train_step

from rnnsearch_tf import demo
from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import demo as demo_script
from rnnsearch_tf.synthetic.grammar import generate
from rnnsearch_tf.training.run import train

pytestmark = pytest.mark.slow


def test_a_stopped_demonstration_says_so_by_its_status(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "train", lambda *_: signal.SIGTERM)
    monkeypatch.setattr(
        demo, "generate", lambda n, *rest, **named: generate(min(n, 50), *rest, **named)
    )
    assert demo_script.run([f"--output={tmp_path / 'demo'}"]) == 128 + signal.SIGTERM


def test_a_demonstration_of_seconds(export_dir, tmp_path, monkeypatch, capsys):
    """Its export is one of the model that other tests share; updates are a script's.

    Nothing is evaluated meanwhile, and what the fresh process gives is another test's.
    """
    scripted_train_step.use(monkeypatch)

    def train_alone(config: Config, path: Path, text: ParallelText, *rest: Any) -> int | None:
        validation, cache = rest
        assert len(validation.source) == 5
        return train(config, path, text, cache_dir=cache)

    def export(models: list[Path], folder: Path, version: int, alignment: str) -> Path:
        assert alignment == "attention"
        assert models == [tmp_path / "demo" / "rnnsearch"]
        return shutil.copytree(export_dir / "1", folder / str(version))

    monkeypatch.setattr(demo, "train", train_alone)
    monkeypatch.setattr(demo, "export", export)
    monkeypatch.setattr(demo, "_serve", lambda _, texts: [(text, "-1") for text in texts])
    kept = [tmp_path / "demo" / name for name in ("own.txt", "rnnsearch/lexicon.tsv", "export/2/x")]
    left = [tmp_path / "demo" / name for name in ("export/1/old", "rnnencdec/config.json")]
    marker = tmp_path / "demo" / ".demonstration"
    for path in (*kept, *left, marker):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("of an earlier demonstration, or someone's own")
    demo.run(tmp_path / "demo", training_pairs=200, validation_pairs=5, pairs_per_length_bin=2)
    assert all(path.read_text().endswith("someone's own") for path in kept)
    assert not left[0].exists()
    made = {str(path.relative_to(tmp_path / "demo")) for path in (tmp_path / "demo").rglob("*")}
    assert {
        "rnnsearch/best.weights.h5",
        "rnnencdec/best.weights.h5",
        "export/1/saved_model.pb",
        "figures/alignment.svg",
        "figures/bleu_by_length.svg",
    } <= made
    assert "Alignment error rate" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["text", "rnnsearch", "export"])
def test_a_demonstration_leaves_what_others_made(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"{name} was not written by this version"):
        demo.run(tmp_path)
    assert [*tmp_path.iterdir()] == [tmp_path / name]


def test_make_removes_nothing_unasked():
    """The examples of the README work in the folder of the demonstration."""
    root = Path(__file__).parents[1]
    for target in ("demo", "--assume-new=setup.py"):
        command = ["make", "--dry-run", target]
        printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        assert "rnnsearch-demo --output demo" in printed.stdout
        assert "rm " not in printed.stdout


def test_make_takes_the_python_that_is_named(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "bin" / "rnnsearch-demo").symlink_to(shutil.which("true") or "")
    (tmp_path / "installed").touch()
    command = ["make", "demo", f"VENV={tmp_path}", f"PYTHON={sys.executable}"]
    root = Path(__file__).parents[1]
    assert subprocess.run(command, cwd=root, capture_output=True, check=True).stderr == b""
