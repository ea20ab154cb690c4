"""Rows of any number and length, worked on a block at a time: bounded memory, little padding."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

_MOST_ROWS = 64


def map_by_length(
    function: Callable[[tf.Tensor], Any], lengths: tf.Tensor, most_tokens: int, empty: Any
) -> Any:
    """Apply a function to blocks of rows of similar length.

    Shorter rows go first. A block has as many rows as make `most_tokens` tokens with the padding,
    64 at most and one at least.

    Args:
        function: maps the indices of a block's rows, int32 [R], to a nest of tensors [R, ...] or
            ragged tensors [R, None]; what it gives a row must not depend on the block.
        lengths: int [B], tokens of each row.
        most_tokens: in a block.
        empty: what `function` gives for no rows.

    Returns:
        A nest like `empty`, [B, ...], in the order of `lengths`.
    """
    order = tf.argsort(lengths, stable=True)
    rising = tf.cast(tf.gather(lengths, order), tf.int32)

    def is_left(done: tf.Tensor, found: Any) -> tf.Tensor:
        del found
        return done < tf.size(order)

    def add_block(done: tf.Tensor, found: Any) -> tuple[tf.Tensor, Any]:
        near = rising[done : done + _MOST_ROWS]
        fits = (tf.range(tf.size(near)) + 1) * near <= most_tokens
        rows = order[done : done + tf.maximum(tf.math.count_nonzero(fits, dtype=tf.int32), 1)]
        added = function(rows)
        return done + tf.size(rows), tf.nest.map_structure(
            lambda *parts: tf.concat(parts, axis=0), found, added
        )

    invariants = (tf.TensorSpec([], tf.int32), tf.nest.map_structure(_any_rows, empty))
    _, found = tf.while_loop(
        is_left, add_block, (tf.constant(0), empty), invariants, parallel_iterations=1
    )
    back = tf.math.invert_permutation(order)
    return tf.nest.map_structure(lambda rows: tf.gather(rows, back), found)


def _any_rows(empty: Any) -> Any:
    if isinstance(empty, tf.RaggedTensor):
        return tf.RaggedTensorSpec([None, None], empty.dtype, row_splits_dtype=tf.int64)
    return tf.TensorSpec([None] * empty.shape.rank, empty.dtype)
