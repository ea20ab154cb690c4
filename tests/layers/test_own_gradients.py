"""The gradients that the recurrences bring with them, against automatic differentiation."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.layers import attentive_recurrence, gated_recurrence
from rnnsearch_tf.layers.attentive_recurrence import Weights
from rnnsearch_tf.tf_functions import graph_function

# Sentences, source and target words, units, units of the alignment model.
B, TX, TY, N, NA = 3, 5, 4, 3, 2
REAL = np.arange(TX) < [[5], [1], [3]]


def drawn(*shapes: tuple[int, ...]) -> list[tf.Tensor]:
    random = np.random.default_rng(len(shapes))
    return [tf.constant(random.normal(0, 0.7, shape)) for shape in shapes]


def encoder_states(reverse: bool, *given: tf.Tensor) -> tuple[tf.Tensor, ...]:
    inputs, start, U_gates, U = given
    states = gated_recurrence.gated_recurrence(inputs, start, U_gates, U, "float64", reverse)
    return (states,)


def decoder_outputs(mask: np.ndarray | None, *given: tf.Tensor) -> tuple[tf.Tensor, ...]:
    inputs, start, annotations, keys, *weights = given
    last, outputs = attentive_recurrence.attentive_recurrence(
        inputs, start, annotations, keys, Weights(*weights), mask, "float64"
    )
    return last, *outputs


ENCODER = [(TX, B, 3 * N), (B, N), (N, 2 * N), (N, N)]
DECODER = [(TY, B, 3 * N), (B, N), (B, TX, 2 * N), (B, TX, NA)]
DECODER += [(N, NA + 2 * N), (2 * N, 3 * N), (N, N), (NA,)]
CASES = {
    "forward": (encoder_states, False, ENCODER),
    "backward": (encoder_states, True, ENCODER),
    "encoder of no word": (encoder_states, False, [(0, B, 3 * N), *ENCODER[1:]]),
    "decoder": (decoder_outputs, REAL, DECODER),
    "decoder of sentences without padding": (decoder_outputs, None, DECODER),
    "decoder of one word": (decoder_outputs, REAL, [(1, B, 3 * N), *DECODER[1:]]),
    "decoder of no word": (decoder_outputs, REAL, [(0, B, 3 * N), *DECODER[1:]]),
}


@pytest.fixture(params=CASES)
def case(request):
    function, option, shapes = CASES[request.param]
    given = drawn(*shapes)
    upstream = [tf.cos(tf.range(tf.size(x), dtype=x.dtype)) for x in function(option, *given)]

    def total(*given: tf.Tensor) -> tf.Tensor:
        """A sum of the outputs in which each number has another weight."""
        outputs = function(option, *given)
        parts = zip(outputs, upstream, strict=True)
        return tf.add_n([tf.reduce_sum(tf.reshape(x, [-1]) * u) for x, u in parts])

    return total, given


def gradients(total, given) -> list[np.ndarray]:
    @graph_function
    def compute(*given: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(given)
            result = total(*given)
        return tape.gradient(result, given)

    return [gradient.numpy() for gradient in compute(*given)]


def test_they_are_those_of_automatic_differentiation(case, monkeypatch):
    total, given = case
    own = [gradients(total, given)]
    with monkeypatch.context() as patches:
        for module in (gated_recurrence, attentive_recurrence):
            patches.setattr(module, "spaced", lambda matrix: tf.pad(matrix, ((0, 0), (0, 16))))
        own.append(gradients(total, given))
    for module in (gated_recurrence, attentive_recurrence):
        # Without a gradient of its own, what is left is the loop itself.
        monkeypatch.setattr(module.ops, "custom_gradient", lambda f: lambda *x: f(*x)[0])
    expected = gradients(total, given)
    for found in own:
        for gradient, automatic in zip(found, expected, strict=True):
            np.testing.assert_allclose(gradient, automatic, atol=1e-12)
