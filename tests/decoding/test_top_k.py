"""The k largest values and their indices, as `tf.math.top_k` has them."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.decoding.top_k import top_k


def assert_same_top_k(values: np.ndarray, k: int) -> None:
    best, indices = top_k(tf.constant(values), k)
    expected_best, expected_indices = tf.math.top_k(values, k)
    np.testing.assert_array_equal(best, expected_best)
    np.testing.assert_array_equal(indices, expected_indices)
    assert indices.dtype == tf.int32


@pytest.mark.parametrize("columns", [3, 13, 1000, 1009, 2048, 4999])  # 1009, 4999: prime
@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_top_k_is_exact(columns, k, dtype):
    random = np.random.default_rng(columns)
    values = random.normal(size=[2, 5, columns]).astype(dtype)
    assert_same_top_k(values, min(k, columns))


@pytest.mark.parametrize("columns", [1000, 1009, 4999])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_top_k_breaks_ties_by_the_lower_index(columns, levels):
    random = np.random.default_rng(levels)
    assert_same_top_k(random.integers(levels, size=[11, columns]).astype("float32"), 7)


@pytest.mark.parametrize("columns", [1000, 1009, 4999])
@pytest.mark.parametrize("finite", [0, 1, 3, 11])
def test_top_k_of_mostly_minus_infinity(columns, finite):
    random = np.random.default_rng(finite)
    values = np.full([5, columns], -np.inf, "float32")
    for row in values:
        row[random.choice(columns, finite, replace=False)] = random.normal(size=finite)
    assert_same_top_k(values, 7)


def test_top_k_with_unknown_axes():
    for shape in ([None, None, 1009], [None, None, None]):
        graph = tf.function(lambda values: top_k(values, 5), autograph=False)
        graph = graph.get_concrete_function(tf.TensorSpec(shape))
        values = tf.random.stateless_normal([2, 3, 1009], seed=(5, 7))
        best, indices = graph(values)
        np.testing.assert_array_equal(best, tf.math.top_k(values, 5).values)
        np.testing.assert_array_equal(indices, tf.math.top_k(values, 5).indices)
