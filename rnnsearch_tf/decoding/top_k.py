"""The k largest of many values: the best few words of a whole vocabulary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Float, Int, Tensor

# With fewer columns than this per value wanted, one plain top_k is as quick as two small ones.
_BLOCKS_PAY_FROM = 64


def top_k(
    values: Float[Tensor, "*rows K"], k: int
) -> tuple[Float[Tensor, "*rows k"], Int[Tensor, "*rows k"]]:
    """Return what `tf.math.top_k` does, in less time when the last axis is long.

    The last axis is cut into blocks. The k largest values lie in the k blocks with the largest
    maxima: a value in any other block has k maxima ahead of it. Taking blocks and values in the
    order of their index keeps this true of ties, where the lower index goes first.

    Args:
        values: without NaN, or the choice is arbitrary.
        k: how many, at most K.

    Returns:
        The k largest values, largest first, and their indices, int32.
    """
    columns = values.shape[-1]
    if columns is None or columns <= _BLOCKS_PAY_FROM * k:
        return tuple(tf.math.top_k(values, k))
    size = _block_size(columns, k)
    count = -(-columns // size)
    rows = tf.reshape(values, [-1, columns])  # [N, K]
    if count * size > columns:
        # -inf at the end never wins: even against -inf, the lower index goes first.
        rows = tf.pad(rows, [[0, 0], [0, count * size - columns]], constant_values=-math.inf)
    blocks = tf.reshape(rows, [-1, count, size])  # [N, blocks, size]
    chosen = tf.sort(tf.math.top_k(tf.reduce_max(blocks, axis=-1), k).indices)  # [N, k]
    short = tf.gather(blocks, chosen, batch_dims=1)  # [N, k, size]
    best, places = tf.math.top_k(tf.reshape(short, [-1, k * size]), k)  # [N, k]
    indices = tf.gather(chosen, places // size, batch_dims=1) * size + places % size
    # The reshapes lost the static shape, which the loop of the search needs.
    shape = tf.concat([tf.shape(values)[:-1], [k]], axis=0)
    static = [*values.shape[:-1], k]
    return tf.ensure_shape(tf.reshape(best, shape), static), tf.ensure_shape(
        tf.reshape(indices, shape), static
    )


def _block_size(columns: int, k: int) -> int:
    """About sqrt(2 K / k), the fastest as measured; a divisor of K near it saves a padded copy."""
    best = 8 * max(1, round(math.sqrt(2 * columns / k) / 8))
    divisors = (size for size in range(best // 2 + 1, 2 * best) if columns % size == 0)
    return min(divisors, key=lambda size: abs(size - best), default=best)
