"""An export keeps its contract in TensorFlow's C runtime; the check of it sees what breaks it."""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel
from tfserving.c_session import CSession
from tfserving.contract import LOWEST, check_contract

from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel

pytestmark = pytest.mark.serving


@pytest.fixture(scope="module")
def reference(model_dir) -> TextModel:
    """With the decoding options of `export_dir`."""
    decoding = ModelDirectory(model_dir).load_config().decoding
    return load_text_model(model_dir, dataclasses.replace(decoding, beam_size=3))


@pytest.fixture(scope="module")
def opened(c_session) -> Callable[[Any], Any]:
    """In place of `CSession`: the session of the export, which stays open."""
    return lambda path: contextlib.nullcontext(c_session)


def test_an_export_keeps_the_contract(export_dir, reference, opened):
    check_contract(export_dir / "1", reference, opened)


# --- Files that are not as they should be ---


def edited(export_dir: Path, folder: Path, edit: Callable[[Any], None]) -> Path:
    """A copy of the export with its MetaGraphDef changed."""
    path = shutil.copytree(export_dir / "1", folder / "1")
    file = path / "saved_model.pb"
    model = SavedModel.FromString(file.read_bytes())
    edit(model.meta_graphs[0])
    file.write_bytes(model.SerializeToString())
    return path


class NotLoaded:
    """What an export says of itself, in place of a session."""

    def __init__(self, path: str | Path):
        content = (Path(path) / "saved_model.pb").read_bytes()
        self.meta_graph = SavedModel.FromString(content).meta_graphs[0]
        self.signatures = self.meta_graph.signature_def

    def __enter__(self) -> "NotLoaded":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def drop_signature(graph: Any) -> None:
    del graph.signature_def["score"]


def rename_output(graph: Any) -> None:
    outputs = graph.signature_def["serving_default"].outputs
    outputs["log_prob"].CopyFrom(outputs.pop("score"))


def change_type(graph: Any) -> None:
    graph.signature_def["nbest"].outputs["scores"].dtype = 2  # DT_DOUBLE


def fix_batch_size(graph: Any) -> None:
    graph.signature_def["score"].inputs["text"].tensor_shape.dim[0].size = 1


def add_python_op(graph: Any) -> None:
    graph.graph_def.library.function[0].node_def.add(name="python", op="EagerPyFunc")


def restore_nothing(graph: Any) -> None:
    graph.saver_def.Clear()


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (drop_signature, "the signatures are"),
        (rename_output, "serving_default has"),
        (change_type, "nbest has"),
        (fix_batch_size, "the batch comes first"),
        (add_python_op, "a model server lacks"),
    ],
)
def test_an_edited_graph_is_caught(export_dir, reference, tmp_path, edit, message):
    """Before anything runs, and so without a session."""
    path = edited(export_dir, tmp_path, edit)
    with pytest.raises(AssertionError, match=message):
        check_contract(path, reference, NotLoaded)


def test_a_graph_without_its_weights_is_caught(export_dir, reference, tmp_path):
    path = edited(export_dir, tmp_path, restore_nothing)
    with pytest.raises(AssertionError, match="C runtime refuses it"):
        check_contract(path, reference)


@pytest.mark.parametrize("name", ["source.vocab", "target.vocab"])
def test_a_dropped_asset_is_caught(export_dir, reference, tmp_path, name):
    path = shutil.copytree(export_dir / "1", tmp_path / "1")
    (path / "assets" / name).unlink()
    with pytest.raises(AssertionError, match="is no asset"):
        check_contract(path, reference)


def test_weights_of_another_model_are_caught(export_dir, reference, opened):
    """The model itself with its weights changed, as an export of another checkpoint would have."""
    assert isinstance(reference.model, TranslationModel)
    own = reference.model.get_weights()
    reference.model.set_weights([0.9 * weights for weights in own])
    try:
        with pytest.raises(AssertionError, match="not the model's"):
            check_contract(export_dir / "1", reference, opened)
    finally:
        reference.model.set_weights(own)


# --- Answers that are not as they should be ---


class Tampered:
    """A session whose answers to one signature are changed."""

    def __init__(self, session: CSession, signature: str, change: Callable[[dict], None]):
        self._session = session
        self._signature = signature
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def __enter__(self) -> "Tampered":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, signature: str, inputs: dict) -> dict[str, np.ndarray]:
        outputs = self._session.run(signature, inputs)
        if signature == self._signature:
            outputs = {name: array.copy() for name, array in outputs.items()}
            self._change(outputs)
        return outputs


def swap_tokens(outputs: dict) -> None:
    outputs["source_tokens"], outputs["target_tokens"] = (
        outputs["target_tokens"],
        outputs["source_tokens"],
    )


def shift_columns(outputs: dict) -> None:
    outputs["alignment"] = np.roll(outputs["alignment"], 1, axis=2)


def shift_columns_inside(outputs: dict) -> None:
    """Of each sentence's own tokens, so that nothing is at padding and rows still sum to 1."""
    for weights, tokens in zip(outputs["alignment"], outputs["source_tokens"], strict=True):
        size = sum(token != b"" for token in tokens)
        weights[:, :size] = np.roll(weights[:, :size], 1, axis=1)


def drop_end(outputs: dict) -> None:
    outputs["source_tokens"][outputs["source_tokens"] == b"</s>"] = b""


def fill_padding(outputs: dict) -> None:
    outputs["target_tokens"][outputs["target_tokens"] == b""] = b"[PAD]"


def turn(outputs: dict) -> None:
    for name in outputs:
        outputs[name] = outputs[name][::-1].copy()


def double(outputs: dict) -> None:
    outputs["score"] *= 2


def use_bits(outputs: dict) -> None:
    outputs["score"] /= np.float32(np.log(2))


def widen(outputs: dict) -> None:
    outputs["scores"] = outputs["scores"].astype(np.float64)


def worst_first(outputs: dict) -> None:
    for name in outputs:
        outputs[name] = outputs[name][:, ::-1].copy()


def repeat_the_first(outputs: dict) -> None:
    outputs["translations"][:, 1] = outputs["translations"][:, 0]


def write_minus_infinity(outputs: dict) -> None:
    for name in ("scores", "normalized_scores"):
        outputs[name][outputs[name] == LOWEST] = -np.inf


def normalize_twice(outputs: dict) -> None:
    outputs["normalized_scores"] = outputs["normalized_scores"] * 0.9


def lower(outputs: dict) -> None:
    outputs["word_scores"] *= 1.01


def fill_a_slot(outputs: dict) -> None:
    outputs["words"][outputs["scores"] == LOWEST] = b"x"


def lose_a_slot(outputs: dict) -> None:
    for name in outputs:
        outputs[name] = outputs[name][:, :-1].copy()


@pytest.mark.parametrize(
    ("signature", "change", "message"),
    [
        ("align", swap_tokens, "tokens"),
        ("align", shift_columns, "not zero at padding"),
        ("align", shift_columns_inside, "not the model's attention"),
        ("align", drop_end, "no b'</s>'"),
        ("align", fill_padding, "more than padding"),
        ("align", turn, "differ in"),
        ("serving_default", turn, "the translations are not the model's"),
        ("serving_default", double, "the scores are not the model's"),
        ("score", use_bits, "score and serving_default differ"),
        ("nbest", widen, "is of float64"),
        ("nbest", worst_first, "no translation of text|not ranked"),
        ("nbest", repeat_the_first, "twice|several"),
        ("nbest", write_minus_infinity, "text 2"),
        ("nbest", normalize_twice, "scores / normalized"),
        ("nbest", lose_a_slot, "candidates"),
        ("nbest", fill_a_slot, "an empty slot with words"),
        *((name, lower, f"{name}: words do not sum") for name in ("align", "nbest", "score")),
    ],
)
def test_a_changed_answer_is_caught(export_dir, c_session, reference, signature, change, message):
    with pytest.raises(AssertionError, match=message):
        check_contract(
            export_dir / "1", reference, lambda path: Tampered(c_session, signature, change)
        )
