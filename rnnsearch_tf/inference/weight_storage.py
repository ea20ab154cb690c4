"""Weights kept in fewer bytes than they are used with."""

import contextlib
from collections.abc import Iterable

import keras
import tensorflow as tf

FULL = "float32"
WEIGHT_DTYPES = (FULL, "float16", "bfloat16")


class WeightStorage(tf.Module):
    """Copies of a model's weights in a narrower type, on disk and in memory.

    Each run of a graph that was traced inside `in_use` widens them once, before it begins.

    Args:
        weights: of a built model.
        dtype: "float16" or "bfloat16".
    """

    def __init__(self, weights: Iterable[keras.Variable], dtype: str):
        super().__init__()
        # Behind a function, where the module does not find them: the copies alone are saved.
        weights = tuple(weights)
        self._weights = lambda: weights
        self._copies = [
            tf.Variable(tf.cast(weight.value, dtype), trainable=False) for weight in weights
        ]

    def in_use(self) -> contextlib.AbstractContextManager:
        """While it lasts, the model computes with the copies."""
        pairs = zip(self._weights(), self._copies, strict=True)
        return keras.StatelessScope(
            [(weight, tf.cast(copy, weight.dtype)) for weight, copy in pairs]
        )
