"""An export appears whole, beside the older ones, and says what it is."""

import errno
import hashlib
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import one_signature
import pytest
import tensorflow as tf
from tfserving.contract import SIGNATURES, TEXTS

from rnnsearch_tf import demo
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.inference.exported import versions
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import export as script
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.serving.model_card import model_card
from rnnsearch_tf.serving.warmup import WARMUP_REQUESTS

pytestmark = pytest.mark.serving

SEARCH = DecodingConfig(beam_size=2, length_penalty=0.5)


def save_nothing(_: Any, path: str, *__: Any) -> None:
    """In place of `tf.saved_model.save`, which takes most of an export's time."""
    (Path(path) / "saved_model.pb").touch()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model_dir, other_dir, export_dir):
    """Two versions; the second is an ensemble, of which the graph is left out."""
    path = tmp_path_factory.mktemp("versions")
    shutil.copytree(export_dir / "1", path / "1")
    (path / "10").mkdir()
    (path / "not-a-version").mkdir()
    flags = [f"--model_dir={model_dir},{other_dir}", f"--export_dir={path}", "--beam_size=3"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf.saved_model, "save", save_nothing)
        patch.setattr("rnnsearch_tf.serving.export._remove_gradients", lambda _: None)
        assert script.run(flags) == 0
    return path


def test_versions_count_up_and_stay(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["1", "10", "11", "not-a-version"]
    assert sorted(versions(folder)) == [1, 10, 11]


def test_a_version_gets_no_version_of_its_own(folder, model_dir, capsys):
    assert script.run([f"--model_dir={model_dir}", f"--export_dir={folder / '1'}"]) == 1
    assert f"{folder / '1'} is an export; name the folder of versions" in capsys.readouterr().err


def test_the_card_says_what_was_exported(folder, model_dir):
    card = json.loads((folder / "1" / "model.json").read_text("utf-8"))
    config = json.loads((model_dir / "config.json").read_text("utf-8"))
    (model,) = card["models"]
    assert model["model"] == config["model"]
    assert model["training_text"] == config["training_text"]
    vocabulary = (folder / "1" / "assets" / "source.vocab").read_bytes()
    assert model["source_vocabulary"] == hashlib.sha256(vocabulary).hexdigest()
    with h5py.File(model_dir / "best.weights.h5") as weights:
        assert model["weights_sha256"].encode() == weights.attrs["sha256"]
    lines = (model_dir / "training.jsonl").read_text("utf-8").splitlines()
    assert model["evaluation"] in map(json.loads, lines)
    assert model["evaluation"]["bleu_signature"] == bleu(["a"], ["a"]).signature
    assert card["decoding"] == {**config["decoding"], "beam_size": 3}
    assert card["normalized_score"] == "log p(y|x) / |y|^0.6, |y| counting </s>"
    both = json.loads((folder / "11" / "model.json").read_text("utf-8"))
    first, second = both["models"]
    assert first == model and second["model"] == model["model"]
    assert second["weights_sha256"] != model["weights_sha256"]
    assert "mean over the models" in both["score"]
    assert "mean over the models" not in card["score"]


def test_the_better_evaluation_is_told(model_dir, tmp_path):
    """Of weights that were kept because they did best, not of the last ones."""

    def told(weights: str) -> dict | None:
        return model_card([tmp_path], weights, "float32", SEARCH)["models"][0]["evaluation"]

    records = [
        {"updates": 1, "bleu": 3.0, "nll_per_token": 2.0},
        {"updates": 2, "bleu": 2.0, "nll_per_token": 1.0},
    ]
    for file in ("config.json", "best.weights.h5", "last.weights.h5"):
        (tmp_path / file).write_bytes((model_dir / file).read_bytes())
    for path in tmp_path.glob("*.weights.h5"):
        with h5py.File(path, "r+") as weights:
            del weights.attrs["updates"]  # which earlier versions did not write
    directory = ModelDirectory(tmp_path)
    assert told("best") is None
    directory.write_log(records)
    assert told("best") == records[0]
    assert told("last") == records[1]
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    config["training"]["early_stopping"] = "nll"
    del config["sha256"]  # of the config before the change
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert told("best") == records[1]
    directory.write_log([{"updates": 3, "bleu": 0.0, "nll_per_token": math.nan}])
    assert told("last") == {"updates": 3, "bleu": 0.0, "nll_per_token": None}


def test_an_export_carries_its_vocabularies(export_dir, model_dir):
    for name in ("source.vocab", "target.vocab"):
        assert (export_dir / "1" / "assets" / name).read_bytes() == (model_dir / name).read_bytes()


def test_python_has_no_gradients_to_warn_of(export_dir):
    assert b"_gradient_op_type" not in (export_dir / "1" / "saved_model.pb").read_bytes()


def test_the_server_is_warmed_up_with_every_signature(export_dir, c_session):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    seen = set()
    for record in tf.data.TFRecordDataset(str(export_dir / "1" / WARMUP_REQUESTS)):
        request = PredictionLog.FromString(record.numpy()).predict_log.request
        name = request.model_spec.signature_name
        inputs = {key: tf.make_ndarray(tensor) for key, tensor in request.inputs.items()}
        shape = (len(inputs["text"]), len(inputs["text"][0].split()))
        seen.add((name, *shape))
        if shape[0] * shape[1] < 50:
            c_session.run(name, inputs)
    assert {name for name, _, _ in seen} == set(SIGNATURES) - {"complete"}
    assert {count for name, count, _ in seen if name == "serving_default"} == {1, 8, 32}
    assert len(seen) > 12


def test_models_of_one_vocabulary_translate_together(model_dir, other_dir, tmp_path):
    """Scores of the search that is saved are those of given translations."""
    both = load_text_model([model_dir, other_dir])
    found = one_signature.saved(both, "align", tmp_path)(text=tf.constant(TEXTS[:4]))
    source, target = (
        tf.RaggedTensor.from_tensor(found[f"{side}_tokens"], padding="")[:, :-1].to_tensor("")
        for side in ("source", "target")
    )
    given = both.score_tokens.python_function(source, target)["score"]  # once: without a trace
    np.testing.assert_allclose(found["score"], given, atol=1e-4)


def test_a_fresh_process_with_tensorflow_alone_translates_alike(export_dir, c_session):
    """The process is a demonstration's, in which this package is not imported."""
    texts = [*map(bytes.decode, TEXTS[:3]), "Élodie's 1,000 words — and more?"]
    expected = c_session.run("serving_default", {"text": [text.encode() for text in texts]})
    told = demo._serve(export_dir / "1", texts)
    assert [text.encode() for text, _ in told] == expected["translation"].tolist()
    assert [float(score) for _, score in told] == pytest.approx(expected["score"], abs=2e-3)


def test_weights_of_half_the_size(model_dir, export_dir, c_session, tmp_path):
    half = load_text_model(model_dir, weights_dtype="float16")
    small = one_signature.saved(half, "score", tmp_path / "half")
    half_size, whole_size = (
        (path / "variables" / "variables.data-00000-of-00001").stat().st_size
        for path in (tmp_path / "half", export_dir / "1")
    )
    assert half_size < 0.6 * whole_size
    pair = {"text": [b"The man is here."], "translation": [b"L'homme."]}
    half_score = float(small(**{key: tf.constant(x) for key, x in pair.items()})["score"][0])
    whole_score = float(c_session.run("score", pair)["score"][0])
    assert half_score == pytest.approx(whole_score, rel=0.02)
    assert half_score != whole_score


def test_a_disk_that_refuses_leaves_nothing(model_dir, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("rnnsearch_tf.serving.export._check_finite", lambda *_: None)
    monkeypatch.setattr(tf.saved_model, "save", full)
    with pytest.raises(InputError, match=r"1: cannot be written: .*No space left on device"):
        export([model_dir], tmp_path / "exports", decoding=SEARCH)
    assert list((tmp_path / "exports").iterdir()) == []


@pytest.mark.parametrize("has_kit", [False, True])
def test_what_to_run_next(model_dir, tmp_path, monkeypatch, capsys, has_kit):
    """A kit has a README that says it."""
    monkeypatch.setattr("rnnsearch_tf.serving.export.export", lambda *_: tmp_path / "exports" / "1")
    flags = [f"--model_dir={model_dir}", f"--export_dir={tmp_path / 'exports'}"]
    assert script.run(flags + [f"--kit={tmp_path / 'kit'}"] * has_kit) == 0
    written = capsys.readouterr()
    assert written.out.splitlines()[-1] == str(tmp_path / "exports" / "1")
    assert ("Serve: rnnsearch-export --kit=FOLDER" in written.err) != has_kit


def test_no_kit_is_written_where_nothing_is_exported(model_dir, tmp_path):
    (tmp_path / "exports" / "1").mkdir(parents=True)
    flags = [f"--model_dir={model_dir}", f"--export_dir={tmp_path / 'exports'}", "--version=1"]
    assert script.run([*flags, f"--kit={tmp_path / 'kit'}"]) == 1
    assert not (tmp_path / "kit").exists()


def test_a_version_that_appears_meanwhile_is_not_overwritten(model_dir, tmp_path, monkeypatch):
    def another_export(*_):
        (tmp_path / "1").mkdir()
        (tmp_path / "1" / "saved_model.pb").write_bytes(b"theirs")

    monkeypatch.setattr("rnnsearch_tf.serving.export._check_finite", lambda *_: None)
    monkeypatch.setattr(tf.saved_model, "save", another_export)
    monkeypatch.setattr("rnnsearch_tf.serving.export._remove_gradients", lambda _: None)
    with pytest.raises(InputError, match="1: another process has just written it"):
        export([model_dir], tmp_path, decoding=SEARCH)
    assert [p.name for p in tmp_path.iterdir()] == ["1"]
    assert (tmp_path / "1" / "saved_model.pb").read_bytes() == b"theirs"


def test_weights_that_change_meanwhile_are_not_exported(tmp_path, model_dir, monkeypatch):
    def card(*arguments: Any) -> dict[str, Any]:
        made = model_card(*arguments)
        made["models"][0]["weights_sha256"] = "of other weights"
        return made

    monkeypatch.setattr("rnnsearch_tf.serving.export._check_finite", lambda *_: None)
    monkeypatch.setattr("rnnsearch_tf.serving.export.model_card", card)
    with pytest.raises(InputError, match="model: the weights have just changed; export again"):
        export(model_dir, tmp_path / "export")
    assert list(tmp_path.rglob("*.pb")) == []
