"""The optimizers against Keras's own and against the equations, and the gradient's norm."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.training.optimizers import Adadelta, Adam, build_optimizer, clip_to_norm

SHAPES = [(2, 3), (5,)]


def updated(optimizer: keras.optimizers.Optimizer, updates: int = 20) -> list[np.ndarray]:
    """Return two weights after some updates with random gradients."""
    rng = np.random.default_rng(1)
    weights = [keras.Variable(rng.normal(size=shape), dtype="float32") for shape in SHAPES]
    optimizer.build(weights)
    update = getattr(optimizer, "update", optimizer.apply)  # ours, as `TrainStep` makes it
    for _ in range(updates):
        update([tf.constant(rng.normal(size=shape), tf.float32) for shape in SHAPES], weights)
    return [weight.numpy() for weight in weights]


@pytest.mark.parametrize(
    ("ours", "keras_own", "settings"),
    [
        (Adadelta, keras.optimizers.Adadelta, {"learning_rate": 1.0, "epsilon": 1e-6}),
        (Adadelta, keras.optimizers.Adadelta, {"learning_rate": 0.5, "rho": 0.9}),
        (Adam, keras.optimizers.Adam, {"learning_rate": 0.01}),
        (Adam, keras.optimizers.Adam, {"learning_rate": 0.01, "beta_1": 0.7, "epsilon": 1e-3}),
        (Adam, keras.optimizers.Adam, {"learning_rate": 0.01, "amsgrad": True}),
        (Adam, keras.optimizers.Adam, {"learning_rate": 0.01, "weight_decay": 0.5}),
    ],
)
def test_updates_are_those_of_keras(ours, keras_own, settings):
    weights, expected = updated(ours(**settings)), updated(keras_own(**settings))
    for a, b in zip(weights, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert np.abs(weights[0] - updated(ours(**settings), 0)[0]).max() > 1e-3


def test_two_steps_of_adadelta_by_hand():
    weight = keras.Variable([1.0, -2.0])
    optimizer = build_optimizer(TrainingConfig(clip_norm=99.0), total_updates=2)
    gradients = np.array([[0.5, 2.0], [-1.0, 0.25]])
    expected, squares, steps = np.array([1.0, -2.0]), 0.0, 0.0  # E[g²], E[Δ²]
    for g in gradients:
        squares = 0.95 * squares + 0.05 * g**2
        step = np.sqrt(steps + 1e-6) / np.sqrt(squares + 1e-6) * g
        steps = 0.95 * steps + 0.05 * step**2
        expected = expected - step
        optimizer.apply([tf.constant(g)], [weight])  # float64, of a weight in float32
        np.testing.assert_allclose(weight.numpy(), expected, atol=1e-7)
    # The first step hardly depends on the gradient: √1e-6 / √0.05 = 0.00447.
    first = updated_once = keras.Variable([0.0])
    build_optimizer(TrainingConfig(clip_norm=99.0), 1).apply([tf.constant([7.0])], [updated_once])
    assert first.numpy()[0] == pytest.approx(-0.00447, abs=1e-5)


def test_averages_of_the_weights_by_hand():
    weight = keras.Variable([1.0, -2.0])
    optimizer = build_optimizer(TrainingConfig(weight_average=0.6), total_updates=40)
    optimizer.build([weight])
    expected = 0.0  # no trace of the initial weights is left
    for t in range(40):
        optimizer.update([tf.constant([0.5 * t, 2.0])], [weight])
        decay = min(0.6, t / (t + 10))
        expected = decay * expected + (1 - decay) * weight.numpy()
        np.testing.assert_allclose(optimizer.weight_averages[0], expected, rtol=1e-5)
    assert np.abs(expected - weight.numpy()).max() > 1e-3


# --- what a training run gets ---------------------------------------------------------------------


def test_paper_preset_gives_the_papers_adadelta():
    optimizer = build_optimizer(PRESETS["rnnsearch-50"].training, total_updates=100)
    assert isinstance(optimizer, Adadelta)
    constants = float(optimizer.learning_rate), optimizer.rho, optimizer.epsilon
    assert constants == (1.0, 0.95, 1e-6)
    # Clipping is done once, after the sum over replicas, and not by Keras before it.
    assert optimizer.clip_norm == 1.0
    assert (optimizer.clipnorm, optimizer.global_clipnorm, optimizer.clipvalue) == (None,) * 3


def test_a_whole_number_is_a_learning_rate():
    assert float(build_optimizer(TrainingConfig(learning_rate=1), 100).learning_rate) == 1.0


@pytest.mark.parametrize("name", ["adadelta", "adam"])
def test_linear_decay_ends_at_zero(name):
    config = TrainingConfig(optimizer=name, learning_rate=0.5, learning_rate_schedule="linear")
    optimizer = build_optimizer(config, total_updates=4)
    weight = keras.Variable([1.0])
    rates, places = [], []
    for _ in range(6):
        rates.append(float(optimizer.learning_rate))
        places.append(float(weight.numpy()[0]))
        optimizer.apply([tf.constant([1.0])], [weight])
    np.testing.assert_allclose(rates, [0.5, 0.375, 0.25, 0.125, 0, 0], atol=1e-7)
    assert places[3] > places[4] == places[5]


def test_decay_over_no_updates_is_no_error():
    config = TrainingConfig(learning_rate_schedule="linear")
    assert float(build_optimizer(config, total_updates=0).learning_rate) == 1.0


# --- the gradient's norm --------------------------------------------------------------------------


def repeated_words() -> tf.IndexedSlices:
    """Word 1 twice: its row is (1, 2) + (2, 2) = (3, 4), of norm 5; row by row it would be √13."""
    rows = tf.constant([[1.0, 2.0], [2.0, 2.0]])
    return tf.IndexedSlices(rows, tf.constant([1, 1]), tf.constant([3, 2]))


def test_norm_of_an_embedding_gradient_is_that_of_its_summed_rows():
    (gradient,), norm = clip_to_norm([repeated_words()], clip_norm=5.5)
    assert float(norm) == pytest.approx(5)
    np.testing.assert_allclose(gradient, [[0, 0], [3, 4], [0, 0]])


def test_large_gradient_is_scaled_to_the_limit_over_all_weights():
    gradients, norm = clip_to_norm([repeated_words(), tf.constant([12.0])], clip_norm=1.0)
    assert float(norm) == pytest.approx(13)  # √(5² + 12²)
    np.testing.assert_allclose(gradients[0], [[0, 0], [3 / 13, 4 / 13], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(gradients[1], [12 / 13], rtol=1e-6)


def test_small_gradient_stays_as_it_is():
    small = [np.array([0.3, 0.1], "float32"), np.array([[0.7]], "float32")]
    gradients, norm = clip_to_norm([tf.constant(g) for g in small], clip_norm=1.0)
    assert float(norm) == pytest.approx(np.sqrt(0.09 + 0.01 + 0.49))
    for gradient, expected in zip(gradients, small, strict=True):
        np.testing.assert_array_equal(gradient, expected)


def test_gradient_of_zero_stays_zero():
    (gradient,), norm = clip_to_norm([tf.zeros(3)], clip_norm=1.0)
    assert float(norm) == 0
    np.testing.assert_array_equal(gradient, np.zeros(3))


# --- updates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adadelta", "adam"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(name, bad):
    optimizer = build_optimizer(TrainingConfig(optimizer=name, learning_rate=0.1), 10)
    weights = [keras.Variable([1.0, -2.0]), keras.Variable([[3.0]])]
    optimizer.build(weights)
    good = [tf.constant([0.3, 0.1]), tf.constant([[0.2]])]
    optimizer.update(good, weights)
    before = [v.numpy() for v in [*weights, *optimizer.variables]]
    norm = optimizer.update([tf.constant([0.3, bad]), tf.constant([[0.2]])], weights)
    assert not np.isfinite(norm)
    after = [v.numpy() for v in [*weights, *optimizer.variables]]
    changed = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    variables = [*weights, *optimizer.variables]
    assert changed == ["iteration" in variable.path for variable in variables]
    optimizer.update(good, weights)
    assert np.isfinite(weights[0].numpy()).all()
    assert not np.array_equal(weights[0].numpy(), before[0])


def test_update_and_apply_are_one():
    """`TrainStep` calls one, `fit` the other; both clip."""
    results = []
    for step in ("update", "apply"):
        optimizer = build_optimizer(TrainingConfig(clip_norm=0.5), 10)
        weight = keras.Variable([1.0, -2.0])
        optimizer.build([weight])
        for scale in (1.0, 100.0):
            getattr(optimizer, step)([tf.constant([3.0, 4.0]) * scale], [weight])
        results.append(weight.numpy())
        assert int(optimizer.iterations.numpy()) == 2
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("clip_norm", [0, -1.0, math.nan, "1"])
def test_a_norm_that_is_no_maximum_is_refused(clip_norm):
    for kind in (Adam, Adadelta):
        with pytest.raises(ValueError, match="must be a number above 0, or None"):
            kind(clip_norm=clip_norm)
