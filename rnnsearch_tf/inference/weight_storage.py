"""Weights stored in a narrower dtype than they are used in."""

import contextlib
import typing
from collections.abc import Iterable

import keras
import tensorflow as tf

from rnnsearch_tf.config import WeightsDtype

WEIGHT_DTYPES: tuple[WeightsDtype, ...] = typing.get_args(WeightsDtype)
FULL = WEIGHT_DTYPES[0]


class WeightStorage(tf.Module):
    """Copies of a built model's weights in a narrower dtype, on disk and in memory.

    A graph that was traced inside `in_use` casts them to the weights' dtype once in each run.
    """

    def __init__(self, weights: Iterable[keras.Variable], dtype: str):
        super().__init__()
        # Behind a function, where the module does not find them, so that only the copies are saved.
        weights = tuple(weights)
        self._weights = lambda: weights
        self._copies = [
            tf.Variable(tf.cast(weight.value, dtype), trainable=False) for weight in weights
        ]

    def in_use(self) -> contextlib.AbstractContextManager:
        """Return a context in which the model computes with the copies."""
        pairs = zip(self._weights(), self._copies, strict=True)
        return keras.StatelessScope(
            [(weight, tf.cast(copy, weight.dtype)) for weight, copy in pairs]
        )
