"""One set of weights on TensorFlow and on JAX, where TensorFlow cannot be imported.

Run as a script with a folder, this file is the JAX process.
"""

import dataclasses
import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ARCHITECTURES = ("rnnsearch", "rnnencdec")
ORDERS = ("look_generate_update", "look_update_generate")
MODELS = list(itertools.product(ARCHITECTURES, ORDERS))
SOURCE = np.array([[4, 9, 6, 1, 0], [3, 10, 2, 8, 1], [7, 1, 0, 0, 0]], "int32")
TARGET = np.array([[5, 12, 3, 7, 1, 0, 0], [11, 1, 0, 0, 0, 0, 0], [2, 9, 4, 4, 6, 8, 1]], "int32")
GUIDE = np.zeros((3, 7, 5), "float32")  # [B, Ty, Tx], links of most real target words
GUIDE[0, [0, 1, 2, 3], [1, 0, 2, 2]] = 1
GUIDE[1, 0, [0, 3]] = 1 / 2
GUIDE[2, [1, 4, 5], [0, 0, 1]] = 1
PER_WORD = np.linspace(-1, 2, 14).astype("float32")  # weights of the 14 real words' losses


def build(architecture: Any, order: Any):
    from rnnsearch_tf.config import ModelConfig
    from rnnsearch_tf.models.translation_model import TranslationModel

    sizes = ModelConfig(
        source_vocabulary_size=11,
        target_vocabulary_size=13,
        embedding_size=3,
        hidden_size=5,
        attention_size=7,
        maxout_size=2,
    )
    return TranslationModel(dataclasses.replace(sizes, architecture=architecture, step_order=order))


def losses_of(model) -> tuple:
    """Return the losses of the 14 tokens, and of each word's links, [B, Ty]."""
    from rnnsearch_tf.models.losses import alignment_cross_entropy

    alignment = model.alignment(SOURCE, TARGET)
    return model.token_losses(SOURCE, TARGET), alignment_cross_entropy(alignment, GUIDE)


def results(model, losses: tuple, gradients: list) -> dict[str, np.ndarray]:
    from keras import ops

    inputs = {"source": SOURCE, "target": TARGET}
    totals = model.compute_losses({**inputs, "guide": GUIDE}, ["nll", "guided_alignment"])
    values = {
        "logits": model(inputs),
        "alignment": model.decoder_outputs(inputs).alignment,
        "token_losses": losses[0],
        "distances": losses[1],
        **{f"total of {name}": ops.stack(total) for name, total in totals.items()},
        **{f"gradient of {w.path}": g for w, g in zip(model.weights, gradients, strict=True)},
    }
    return {name: np.asarray(ops.convert_to_numpy(value)) for name, value in values.items()}


def tensorflow_results(model) -> dict[str, np.ndarray]:
    import tensorflow as tf

    with tf.GradientTape() as tape:
        losses = losses_of(model)
        total = tf.reduce_sum(losses[0] * PER_WORD) + tf.reduce_sum(losses[1])
    gradients = tape.gradient(total, [w.value for w in model.weights])
    return results(model, losses, [tf.convert_to_tensor(g) for g in gradients])


def jax_results(model) -> dict[str, np.ndarray]:
    import jax
    import keras

    def total(weights: list) -> tuple:
        with keras.StatelessScope(list(zip(model.weights, weights, strict=True))):
            losses = losses_of(model)
        return (losses[0] * PER_WORD).sum() + losses[1].sum(), losses

    gradients, losses = jax.grad(total, has_aux=True)([w.value for w in model.weights])
    return results(model, losses, gradients)


class NoTensorFlow:
    """An import finder on whose machine TensorFlow is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == "tensorflow":
            raise ImportError("TensorFlow is not installed here")


def jax_process(folder: Path) -> None:
    sys.meta_path.insert(0, NoTensorFlow())
    for module in (
        "layers",
        "models.translation_model",
        "models.losses",
        "config",
        "text.vocabulary",
        "files",
    ):
        importlib.import_module(f"rnnsearch_tf.{module}")
    assert "tensorflow" not in sys.modules
    for architecture, order in MODELS:
        model = build(architecture, order)
        model.load_weights(folder / f"{architecture}-{order}.weights.h5")
        np.savez(folder / f"{architecture}-{order}.npz", **jax_results(model))
    from rnnsearch_tf.text.vocabulary import Vocabulary

    assert Vocabulary.load(folder / "words.vocab").encode(["b", "c"]) == [4, 2, 1]


@pytest.fixture(scope="module")
def on_both(tmp_path_factory) -> dict:
    """For each model, what TensorFlow and JAX computed from the same weights file."""
    for package in ("tensorflow", "jax"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

    folder = tmp_path_factory.mktemp("backends")
    Vocabulary([*SPECIAL_TOKENS, "a", "b"]).save(folder / "words.vocab")
    on_tensorflow = {}
    rng = np.random.default_rng(1)
    for architecture, order in MODELS:
        model = build(architecture, order)
        model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
        model.save_weights(folder / f"{architecture}-{order}.weights.h5")
        on_tensorflow[architecture, order] = tensorflow_results(model)
    process = subprocess.run(
        [sys.executable, __file__, str(folder)],
        env={
            **os.environ,
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # it compiles sooner
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return {
        (architecture, order): (values, dict(np.load(folder / f"{architecture}-{order}.npz")))
        for (architecture, order), values in on_tensorflow.items()
    }


@pytest.mark.parametrize(("architecture", "order"), MODELS)
def test_jax_computes_what_tensorflow_does(on_both, architecture, order):
    ours, theirs = on_both[architecture, order]
    assert list(ours) == list(theirs)
    for name, value in ours.items():
        np.testing.assert_allclose(theirs[name], value, atol=1e-5, err_msg=name)
        assert np.abs(value).max() > 1e-3, name  # no comparison of zeros


if __name__ == "__main__":
    jax_process(Path(sys.argv[1]))
