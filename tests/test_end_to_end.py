"""The whole path: train, export, load in a fresh process, text out."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import scripted_train_step

from rnnsearch_tf import demo
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import demo as demo_script
from rnnsearch_tf.scripts import translate
from rnnsearch_tf.synthetic.grammar import generate

pytestmark = pytest.mark.slow

SENTENCES = ["The man will eat.", "", "She has seen the cat.", "Élodie's 1,000 words — and more?"]

# Fails if the package can be reached: TensorFlow alone must do.
SERVER = """
import json, sys
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "rnnsearch_tf":
            raise ImportError(name)
sys.meta_path.insert(0, Bar())
import tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1])
text = tf.constant(json.loads(sys.argv[2]))
answers = {}
for name in ("serving_default", "align"):
    outputs = loaded.signatures[name](text=text)
    answers[name] = {key: [x.decode() for x in value.numpy()] if key == "translation"
                     else value.numpy().tolist() if value.dtype != tf.string
                     else [[x.decode() for x in row] for row in value.numpy()]
                     for key, value in outputs.items()}
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def exported(export_dir):
    assert [folder.name for folder in export_dir.iterdir()] == ["1"]
    return export_dir / "1"


def test_a_fresh_process_gives_what_translate_gives(exported, model_dir, tmp_path):
    served = subprocess.run(
        [sys.executable, "-c", SERVER, str(exported), json.dumps(SENTENCES)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert served.returncode == 0, served.stderr.decode()
    answers = json.loads(served.stdout)
    (tmp_path / "in").write_text("\n".join(SENTENCES) + "\n", "utf-8")
    flags = [f"--model_dir={model_dir}", "--beam_size=3", f"--input={tmp_path / 'in'}"]
    assert translate.run([*flags, f"--output={tmp_path / 'out'}"]) == 0
    expected = (tmp_path / "out").read_text("utf-8").split("\n")[:-1]
    assert answers["serving_default"]["translation"] == expected
    assert answers["align"]["translation"] == expected
    assert answers["align"]["score"] == pytest.approx(answers["serving_default"]["score"], abs=1e-5)
    assert answers["align"]["source_tokens"][0][:5] == ["The", "man", "will", "eat", "."]


def test_an_export_carries_its_vocabularies(exported, model_dir):
    assets = {file.name: file.read_bytes() for file in (exported / "assets").iterdir()}
    for name in ("source.vocab", "target.vocab"):
        assert assets[name] == (model_dir / name).read_bytes()


def test_a_stopped_demonstration_says_so_by_its_status(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "train", lambda *_: signal.SIGTERM)
    monkeypatch.setattr(
        demo, "generate", lambda n, *rest, **named: generate(min(n, 50), *rest, **named)
    )
    assert demo_script.run([f"--output={tmp_path / 'demo'}"]) == 128 + signal.SIGTERM


def test_a_demonstration_of_seconds(export_dir, tmp_path, monkeypatch, capsys):
    """Its export is one of the model that other tests share; updates are a script's."""
    scripted_train_step.use(monkeypatch)

    def export(models: list[Path], folder: Path, version: int, alignment: str) -> Path:
        assert alignment == "attention"
        assert models == [tmp_path / "demo" / "rnnsearch"]
        return shutil.copytree(export_dir / "1", folder / str(version))

    monkeypatch.setattr(demo, "export", export)
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
