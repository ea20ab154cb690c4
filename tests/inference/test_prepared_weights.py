"""Weights that are computed once, in each process that loads a SavedModel."""

import gc
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.inference.prepared_weights import PreparedWeights

SIZE = 300


class Product(tf.Module):
    """A SavedModel of a matrix, which multiplies by its transposed."""

    def __init__(self, seed: int):
        super().__init__()
        matrix = np.random.default_rng(seed).standard_normal((SIZE, 2)).astype("float32")
        self.matrix = tf.Variable(matrix)
        self.times = tf.Variable(0)
        bias = keras.Variable(np.ones(SIZE, "float32"))
        self.bias = bias.value
        self._bias = lambda: bias
        self.prepared = PreparedWeights(self._weights)

    def _weights(self) -> dict[str, Any]:
        with tf.control_dependencies([self.times.assign_add(1)]):
            return {"matrix": tf.transpose(self.matrix), "bias": self._bias(), "none": None}

    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        weights = self.prepared.read()
        assert weights["none"] is None
        assert weights["matrix"].shape == (2, SIZE)
        assert weights["bias"] is self._bias()
        return x @ weights["matrix"] + weights["bias"]


def test_weights_are_computed_when_a_saved_model_is_loaded_and_not_when_it_is_called(tmp_path):
    x = tf.random.stateless_normal([3, 2], (1, 2))
    modules = [Product(seed) for seed in (1, 2)]
    for module, name in zip(modules, "ab", strict=True):
        module.times.assign(0)
        signature = tf.function(lambda x, module=module: {"y": module(x)})
        concrete = signature.get_concrete_function(tf.TensorSpec([None, 2], name="x"))
        tf.saved_model.save(module, str(tmp_path / name), concrete)
        data = tmp_path / name / "variables" / "variables.data-00000-of-00001"
        assert data.stat().st_size < 1.5 * 4 * 3 * SIZE
    first, second, again = (tf.saved_model.load(str(tmp_path / name)) for name in "aba")
    for loaded, module in [(first, modules[0]), (second, modules[1]), (again, modules[0])]:
        for _ in range(2):
            expected = x.numpy() @ module.matrix.numpy().T + 1
            np.testing.assert_allclose(loaded(x), expected, rtol=1e-5)
    assert [int(module.times) for module in (first, second, again)] == [1, 1, 1]
    expected = first(x)
    signature = tf.saved_model.load(str(tmp_path / "a")).signatures["serving_default"]
    gc.collect()
    np.testing.assert_array_equal(signature(x=x)["y"], expected)


def test_what_is_read_later_is_what_was_computed(tmp_path):
    module = Product(3)
    before = module(tf.ones([1, 2])).numpy()
    module.matrix.assign(tf.zeros_like(module.matrix))
    assert module(tf.ones([1, 2])).numpy() == pytest.approx(before)
