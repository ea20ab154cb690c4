"""Layers, model and `fit` on TensorFlow, and with the same weights on JAX and on PyTorch.

Run as a script with a folder, this file is the process of another backend, in which TensorFlow
cannot be imported.
"""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quick_jax

pytestmark = pytest.mark.slow

MODELS: dict[str, dict[str, Any]] = {
    "rnnsearch": {},
    "rnnencdec": {"architecture": "rnnencdec", "step_order": "look_update_generate"},
    "regularized": {
        "maxout_size": 3, "label_smoothing": 0.2, "tied_embeddings": True, "lexical_model": True,
    },
}  # fmt: skip
SOURCE = np.array([[4, 9, 6, 1, 0], [3, 10, 2, 8, 1], [7, 1, 0, 0, 0]], "int32")
TARGET = np.array([[5, 12, 3, 7, 1, 0, 0], [11, 1, 0, 0, 0, 0, 0], [2, 9, 4, 4, 6, 8, 1]], "int32")
BATCH = {"source": SOURCE, "target": TARGET}
GUIDE = np.zeros((3, 7, 5), "float32")  # [B, Ty, Tx], links of most real target words
GUIDE[0, [0, 1, 2, 3], [1, 0, 2, 2]] = 1
GUIDE[1, 0, [0, 3]] = 1 / 2
GUIDE[2, [1, 4, 5], [0, 0, 1]] = 1


def build(name: str):
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
    return TranslationModel(dataclasses.replace(sizes, **MODELS[name]))


def build_keras_model():
    """Layers of the paper in a Keras model, with its masks: α and logits of each target word."""
    import keras

    from rnnsearch_tf.layers import BahdanauAttention, GRUCell

    source, target = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    words = keras.layers.Embedding(11, 3, mask_zero=True)(source)
    encoder = keras.layers.RNN(GRUCell(5), return_sequences=True)
    annotations = keras.layers.Bidirectional(encoder)(words)
    queries = keras.layers.Embedding(13, 3, mask_zero=True)(target)
    states = keras.layers.RNN(GRUCell(5), return_sequences=True)(queries)
    context, alignment = BahdanauAttention(7)(states, annotations)
    return keras.Model([source, target], [alignment, keras.layers.Dense(13)(context)])


def losses_and_gradients(model) -> tuple[dict, list]:
    """Return the totals of all losses, and the gradient of their sum for each weight."""
    import keras

    from rnnsearch_tf.models.losses import LOSSES

    def total() -> tuple:
        totals = model.compute_losses({**BATCH, "guide": GUIDE}, LOSSES, training=True)
        return sum(loss.sum for loss in totals.values()), totals

    backend, values = keras.config.backend(), [weight.value for weight in model.weights]
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss, totals = total()
        return totals, [tf.convert_to_tensor(g) for g in tape.gradient(loss, values)]
    if backend == "jax":
        import jax

        def of_weights(weights: list) -> tuple:
            with keras.StatelessScope(list(zip(model.weights, weights, strict=True))):
                return total()

        gradients, totals = jax.jit(jax.grad(of_weights, has_aux=True))(values)
        return totals, gradients
    loss, totals = total()
    loss.backward()
    return totals, [value.grad for value in values]


def model_results(model) -> dict[str, np.ndarray]:
    from keras import ops

    totals, gradients = losses_and_gradients(model)
    named = zip(model.weights, gradients, strict=True)
    return {
        "logits": model(BATCH),
        **{f"total of {name}": ops.stack(total) for name, total in totals.items()},
        **{f"gradient of {weight.path}": gradient for weight, gradient in named},
    }


def fit_results(model, path: Path) -> dict[str, np.ndarray]:
    """Train on batches without a y, save, and return results of what is loaded."""
    import keras

    from rnnsearch_tf.models.losses import SentenceLoss

    accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    optimizer = keras.optimizers.SGD(0.1, momentum=0.5)
    model.compile(optimizer, SentenceLoss(), metrics=[accuracy])
    model.fit(BATCH, epochs=2, verbose=0)
    model.save(path)
    again = keras.models.load_model(path)
    metrics = again.evaluate(BATCH, verbose=0, return_dict=True)
    weights = {f"fitted {weight.path}": weight for weight in again.weights}
    return {"updates": again.optimizer.iterations, **metrics, **weights}


def results(folder: Path) -> dict[str, np.ndarray]:
    """Compute all that the backends are compared by, with the weights in the folder."""
    import keras
    from keras import ops

    layers = keras.models.load_model(folder / "layers.keras")
    alignment, logits = layers([SOURCE, TARGET])
    values = {"layers: alignment": alignment, "layers: logits": logits}
    for name in MODELS:
        model = build(name)
        model.load_weights(folder / f"{name}.weights.h5")
        if name == "rnnsearch":
            made = fit_results(model, folder / f"{keras.config.backend()}.keras")
        else:
            made = model_results(model)
        values |= {f"{name}: {k}": v for k, v in made.items()}
    return {name: np.asarray(ops.convert_to_numpy(value)) for name, value in values.items()}


class NoTensorFlow:
    """An import finder on whose machine TensorFlow is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] == "tensorflow":
            raise ImportError("TensorFlow is not installed here")


def other_process(folder: Path) -> None:
    import keras  # PyTorch looks for TensorFlow when it is imported

    sys.meta_path.insert(0, NoTensorFlow())
    for module in ("layers", "models.translation_model", "text.vocabulary", "files"):
        importlib.import_module(f"rnnsearch_tf.{module}")
    np.savez(folder / f"{keras.config.backend()}.npz", **results(folder))
    assert "tensorflow" not in sys.modules
    from rnnsearch_tf.text.vocabulary import Vocabulary

    assert Vocabulary.load(folder / "words.vocab").encode(["b", "c"]) == [4, 2, 1]


def start(backend: str, folder: Path) -> subprocess.Popen:
    environment = {
        **os.environ,
        **(quick_jax.environment() if backend == "jax" else {"KERAS_BACKEND": backend}),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, __file__, str(folder)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def save_weights(model, path: Path) -> None:
    rng = np.random.default_rng(1)
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
    (model.save if path.suffix == ".keras" else model.save_weights)(path)


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """What each backend computed, by its name; a process that failed is an error."""
    from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

    folder = tmp_path_factory.mktemp("backends")
    Vocabulary([*SPECIAL_TOKENS, "a", "b"]).save(folder / "words.vocab")
    for name in MODELS:
        save_weights(build(name), folder / f"{name}.weights.h5")
    save_weights(build_keras_model(), folder / "layers.keras")
    installed = [name for name in ("jax", "torch") if importlib.util.find_spec(name)]
    processes = {name: start(name, folder) for name in installed}
    values = {"tensorflow": results(folder)}
    for name, process in processes.items():
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        values[name] = dict(np.load(folder / f"{name}.npz"))
    return values


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_backend_computes_what_tensorflow_does(computed, backend):
    if backend not in computed:
        pytest.skip(f"{backend} is not installed")
    ours, theirs = computed["tensorflow"], computed[backend]
    assert set(ours) == set(theirs)
    for name, value in ours.items():
        np.testing.assert_allclose(theirs[name], value, atol=1e-5, err_msg=name)
        assert np.abs(value).max() > 1e-3, name  # no comparison of zeros


def test_padding_is_not_attended_in_a_keras_model(computed):
    alignment = computed["tensorflow"]["layers: alignment"]
    assert (alignment[:, 0] > 0).tolist() == (SOURCE > 0).tolist()
    np.testing.assert_allclose(alignment.sum(axis=-1), np.ones([3, 7]), rtol=1e-5)


if __name__ == "__main__":
    other_process(Path(sys.argv[1]))
