"""The losses: of the output layer with its own gradient, of links, and their table."""

import contextlib
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.layers.precision import executed_graph
from rnnsearch_tf.models.losses import LOSSES, alignment_cross_entropy, output_cross_entropy

N, L, K = 5, 3, 7
TARGETS = np.array([2, 0, 6, 2, 5], "int32")  # one word twice
UPSTREAM = np.array([1.0, -2.0, 0.5, 3.0, 0.0])  # the weight of each word in the total


def drawn(readings: int = 1) -> list[np.ndarray]:
    """Hidden [N, l], weights [l, K], bias [K]."""
    rng = np.random.default_rng(1)
    return [rng.normal(size=shape) for shape in [(readings * N, L), (L, K), (K,)]]


def expected_losses(hidden: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """−log p of each target."""
    logits = hidden @ weights + bias
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(N), TARGETS]


def smoothed(hidden: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Cross-entropy of 0.7 times the one-hot distribution plus 0.3 times the uniform one."""
    logits = hidden @ weights + bias
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -0.7 * log_p[np.arange(N), TARGETS] - 0.3 * log_p.mean(axis=1)


def twice_read(hidden: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """The mean of two smoothed cross-entropies and of both divergences, times 0.9 (α = 1.8)."""
    log_p = [
        z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        for z in np.split(hidden @ weights + bias, 2)
    ]
    divergences = [np.sum(np.exp(a) * (a - b), axis=1) for a, b in (log_p, log_p[::-1])]
    losses = [smoothed(rows, weights, bias) for rows in np.split(hidden, 2)]
    return np.mean(losses, axis=0) + 0.9 * np.mean(divergences, axis=0)


CASES = pytest.mark.parametrize(
    ("smoothing", "r_drop", "expected"),
    [(0.0, 0.0, expected_losses), (0.3, 0.0, smoothed), (0.3, 1.8, twice_read)],
)


def losses_and_gradients(
    arrays, targets=TARGETS, upstream=UPSTREAM, dtype=None, smoothing=0.0, r_drop=0.0, of="float32"
):
    hidden, weights, bias = (tf.constant(array, of) for array in arrays)
    with tf.GradientTape() as tape:
        tape.watch([hidden, weights, bias])
        losses = output_cross_entropy(
            hidden, weights, bias, tf.constant(targets), dtype, smoothing, r_drop
        )
        total = tf.reduce_sum(losses * tf.cast(upstream, losses.dtype))
    return losses, tape.gradient(total, [hidden, weights, bias])


@CASES
def test_losses_are_the_log_probabilities(smoothing, r_drop, expected):
    arrays = drawn(2 if r_drop else 1)
    losses, _ = losses_and_gradients(arrays, smoothing=smoothing, r_drop=r_drop)
    assert losses.shape == (N,)
    np.testing.assert_allclose(losses, expected(*arrays), rtol=1e-5)


@CASES
@pytest.mark.parametrize("is_executed", [False, True])
def test_gradients_are_the_automatic_ones(smoothing, r_drop, expected, is_executed):
    arrays = drawn(2 if r_drop else 1)
    options: dict[str, Any] = {"smoothing": smoothing, "r_drop": r_drop, "of": "float64"}
    with executed_graph() if is_executed else contextlib.nullcontext():
        _, gradients = tf.function(lambda: losses_and_gradients(arrays, **options))()
    tensors = [tf.constant(array) for array in arrays]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        readings = tf.split(tensors[0] @ tensors[1] + tensors[2], 2 if r_drop else 1)
        log_p = [tf.nn.log_softmax(reading) for reading in readings]
        labels = (1 - smoothing) * tf.one_hot(TARGETS, K, dtype=tf.float64) + smoothing / K
        losses = sum(-tf.reduce_sum(labels * one, axis=1) for one in log_p) / len(log_p)
        for one, other in zip(log_p, log_p[::-1], strict=True):
            losses += r_drop / 4 * tf.reduce_sum(tf.exp(one) * (one - other), axis=1)
        total = tf.reduce_sum(losses * UPSTREAM)
    np.testing.assert_allclose(losses, expected(*arrays), rtol=1e-12)
    for gradient, automatic in zip(gradients, tape.gradient(total, tensors), strict=True):
        np.testing.assert_allclose(gradient, automatic, atol=1e-12)


def test_equal_logits_cost_log_k():
    zeros = [np.zeros(shape) for shape in [(N, L), (L, K), (K,)]]
    losses, (_, _, bias) = losses_and_gradients(zeros, upstream=np.ones(N))
    np.testing.assert_allclose(losses, [np.log(7)] * N, rtol=1e-6)
    counts = np.bincount(TARGETS, minlength=K)
    np.testing.assert_allclose(bias, N / K - counts, atol=1e-6)


def test_large_logits_do_not_overflow():
    hidden, weights = np.eye(3), np.array([[1e4, 0, -1e4]] * 3)
    losses, (_, _, bias) = losses_and_gradients(
        [hidden, weights, np.zeros(3)], targets=np.array([0, 1, 2]), upstream=np.ones(3)
    )
    np.testing.assert_array_equal(losses, [0, 1e4, 2e4])
    np.testing.assert_array_equal(bias, [2, -1, -1])


@CASES
def test_products_in_low_precision_give_float32_losses(smoothing, r_drop, expected):
    arrays = drawn(2 if r_drop else 1)
    options: dict[str, Any] = {"smoothing": smoothing, "r_drop": r_drop}
    losses, gradients = losses_and_gradients(arrays, dtype="bfloat16", **options)
    assert {x.dtype.name for x in [losses, *gradients]} == {"float32"}
    np.testing.assert_allclose(losses, expected(*arrays), atol=0.05)
    assert np.abs(losses - expected(*arrays)).max() > 1e-4
    _, exact = losses_and_gradients(arrays, **options)
    for gradient, of_float32 in zip(gradients, exact, strict=True):
        np.testing.assert_allclose(gradient, of_float32, atol=0.1)


def test_weights_may_be_variables_and_sizes_unknown():
    arrays = [array.astype("float32") for array in drawn()]
    expected = losses_and_gradients(drawn())[1]
    weights, bias = (tf.Variable(array) for array in arrays[1:])

    @tf.function(
        input_signature=[tf.TensorSpec([None, L]), tf.TensorSpec([None], tf.int32)],
        autograph=False,
    )
    def gradients(hidden, targets):
        with tf.GradientTape() as tape:
            losses = output_cross_entropy(hidden, weights, bias, targets)
            total = tf.reduce_sum(losses * tf.cast(UPSTREAM, tf.float32))
        return tape.gradient(total, [weights, bias])

    for gradient, right in zip(gradients(arrays[0], TARGETS), expected[1:], strict=True):
        np.testing.assert_allclose(gradient, right, atol=1e-6)


# --- alignment ------------------------------------------------------------------------------------


def test_links_cost_the_mean_log_of_their_weights():
    """Two links: (log 2 + log 8) / 2 = log 4; one: log 8; none: nothing."""
    alignment = np.array([[[1 / 2, 1 / 8, 3 / 8]] * 3], "float32")
    guide = np.array([[[1 / 2, 1 / 2, 0], [0, 1, 0], [0, 0, 0]]], "float32")
    losses = alignment_cross_entropy(tf.constant(alignment), tf.constant(guide))
    assert losses.dtype == "float32"
    np.testing.assert_allclose(losses, [[np.log(4), np.log(8), 0]], rtol=1e-6)


def test_the_energies_gradient_is_attention_minus_guide_even_where_attention_is_nothing():
    """d H(A, softmax(e)) / de = α − A; e^−60 is no more than 1e−26, and e^−200 is 0 in float32."""
    energies = tf.constant([[[0.0, 1.0, -60.0]], [[0.0, 0.0, -200.0]]])
    guide = tf.constant([[[0.5, 0.0, 0.5]], [[0.0, 0.0, 1.0]]])
    with tf.GradientTape() as tape:
        tape.watch(energies)
        alignment = tf.nn.softmax(energies)
        losses = alignment_cross_entropy(alignment, guide)
    gradient = tape.gradient(losses, energies)
    np.testing.assert_allclose(gradient[0], (alignment - guide)[0], atol=1e-6)
    assert np.isfinite(losses).all() and np.isfinite(gradient).all()
    assert losses.numpy()[1, 0] == pytest.approx(30 * np.log(10))  # the bound, not infinity


# --- the table ------------------------------------------------------------------------------------


def test_every_loss_has_a_weight_in_the_settings():
    weights: dict[str, Any] = {f"{name}_weight": 0.5 for name in LOSSES if name != "nll"}
    assert list(TrainingConfig(**weights).loss_weights) == list(LOSSES)
    assert TrainingConfig().loss_weights == {"nll": 1.0}
