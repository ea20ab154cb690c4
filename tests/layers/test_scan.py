"""The loop of encoder and decoder against a plain Python loop."""

import numpy as np
import pytest
from keras import ops, tree

from rnnsearch_tf.layers.scan import scan

# Sentences, positions, units.
B, TX, N = 2, 5, 13


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).normal(0, 0.5, shape)


def plain_loop(step, state, inputs, like, reverse):
    """Return what `scan` must, position by position."""
    places = range(len(inputs[0]))
    outputs = {}
    for t in reversed(places) if reverse else places:
        state, output = step(state, tuple(x[t] for x in inputs))
        outputs[t] = output
    return state, tuple(
        ops.stack(parts) for parts in zip(*(outputs[t] for t in places), strict=True)
    )


def two_states(state, inputs):
    first, second = state
    x, y = inputs
    first = 0.5 * first + x
    state = first, second * y + first
    return state, state


@pytest.mark.parametrize(("reverse", "sums"), [(False, [1, 3, 7]), (True, [7, 6, 4])])
def test_scan_keeps_every_state_at_its_position(reverse, sums):
    inputs = ops.array([[1.0] * 2, [2] * 2, [4] * 2])
    last, states = scan(lambda s, x: (s + x, s + x), ops.zeros(2), inputs, inputs[0], reverse)
    np.testing.assert_array_equal(states, [[total] * 2 for total in sums])
    np.testing.assert_array_equal(last, [7, 7])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_scan_and_its_gradient_are_those_of_a_plain_loop(reverse, compiled):
    tf = pytest.importorskip("tensorflow")
    values = [tf.constant(normal(*shape)) for shape in [(B, N), (B, N), (TX, B, N), (TX, B, N)]]
    weights = tf.constant(normal(TX, B, N))

    def run(loop):
        with tf.GradientTape() as tape:
            tape.watch(values)
            like = tuple(values[:2])
            last, states = loop(two_states, like, tuple(values[2:]), like, reverse)
            total = tf.reduce_sum(weights * states[0] * states[1]) + tf.reduce_sum(last[1])
        return [*last, *states], tape.gradient(total, values)

    scanned = (tf.function(run) if compiled else run)(scan)
    for a, b in zip(tree.flatten(scanned), tree.flatten(run(plain_loop)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
