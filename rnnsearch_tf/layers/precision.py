"""The dtype a model computes in, and what stays in float32."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import keras
from keras import ops

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Float, Tensor


def at_least_float32(x: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """Widen bfloat16 and float16 for a softmax or a loss; wider dtypes stay what they are."""
    return ops.cast(x, wide(x.dtype))


def wide(dtype: str) -> str:
    """Return the dtype that `at_least_float32` makes of `dtype`."""
    return keras.backend.result_type(keras.backend.standardize_dtype(dtype), "float32")


@contextlib.contextmanager
def dtype_policy(name: str) -> Iterator[None]:
    """Build layers inside under a Keras dtype policy: "float32" or "mixed_bfloat16".

    Keras casts weights inside `call` only; methods that are used by themselves do so by hand.
    Under "mixed_bfloat16" weights, softmaxes and losses are float32; products and states are
    bfloat16, and so are the sums over positions that a weight's gradient is made of.
    """
    earlier = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(earlier)
