"""Dropout masks of updates, recorded as they are drawn, and what must hold of them."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.models.translation_model import TranslationModel

RATE, UPDATES, ROWS, LENGTH = 0.3, 3, 40, 16
LAYERS = 4  # embeddings of both sides, annotations and maxout units
MODEL = ModelConfig("rnnsearch", 11, 13, 31, 31, 7, 31, dropout=RATE)
TRAINING = TrainingConfig(batch_size=ROWS, max_length=LENGTH - 1)


def record(masks: list[np.ndarray], factors: Any) -> None:
    """Have a running update add its factors to the list."""

    def add(x: Any) -> None:
        masks.append(np.array(x))

    if keras.config.backend() == "jax":
        import jax

        jax.debug.callback(add, factors)
    else:
        import tensorflow as tf

        tf.numpy_function(add, [factors], [])


@contextlib.contextmanager
def recorded() -> Iterator[list[np.ndarray]]:
    """Record what every dropout layer multiplies its inputs with."""
    masks: list[np.ndarray] = []
    original = keras.layers.Dropout.call

    def call(self: Any, inputs: Any, training: bool = False) -> Any:
        if not (training and self.rate):
            return original(self, inputs, training=training)
        factors = original(self, ops.ones_like(inputs), training=True)
        record(masks, factors)
        return inputs * factors

    keras.layers.Dropout.call = call
    try:
        yield masks
    finally:
        keras.layers.Dropout.call = original


def masks_of_updates() -> list[np.ndarray]:
    """Make updates from sentences without padding; on TensorFlow, a batch in two halves."""
    keras.utils.set_random_seed(1)
    model = TranslationModel(MODEL)
    step: Any
    if keras.config.backend() == "jax":
        from rnnsearch_tf.training.jax_train_step import JaxTrainStep

        step = JaxTrainStep(model, TRAINING, UPDATES)
    else:
        from rnnsearch_tf.training.train_step import TrainStep

        step = TrainStep(model, TRAINING, UPDATES, shares=2)
    ids = np.full([ROWS, LENGTH], 2, "int32")
    with recorded() as masks:
        for _ in range(UPDATES):
            float(step({"source": ids, "target": ids}, 0).gradient_norm)
        if keras.config.backend() == "jax":
            import jax

            jax.effects_barrier()
    return masks


def assert_independent(one: np.ndarray, other: np.ndarray) -> None:
    """Check that two masks are no more alike than chance: five deviations."""
    size = min(one.size, other.size)
    correlation = np.corrcoef(one.ravel()[:size], other.ravel()[:size])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(size)


def check(masks: Sequence[np.ndarray], shares: int) -> None:
    """Check that the rate says how many are kept, and that no mask is like another."""
    assert len(masks) == LAYERS * shares * UPDATES
    for mask in masks:
        np.testing.assert_allclose(np.unique(mask), [0, 1 / (1 - RATE)], rtol=1e-6)
        assert abs(mask.mean() - 1) < 5 * np.sqrt(RATE / (1 - RATE) / mask.size)
        for axis in range(mask.ndim):  # steps, sentences, units
            length = mask.shape[axis]
            assert_independent(
                mask.take(range(1, length), axis), mask.take(range(length - 1), axis)
            )
    for one, other in itertools.combinations(masks, 2):  # halves, layers, updates
        assert_independent(one, other)
