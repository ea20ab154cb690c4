"""Rows of any number and length, worked on in blocks of similar length.

Memory is bounded by the block, and little of it is padding.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

_MAX_ROWS = 64


def map_by_length(
    function: Callable[[tf.Tensor], Any], lengths: tf.Tensor, max_tokens: int, empty: Any
) -> Any:
    """Apply a function to blocks of R rows of similar length, out of B rows.

    Shorter rows go first. A block has at least one row, at most 64, and with padding at most
    `max_tokens` tokens, unless it is a single longer row. `lengths`, int [B], are the tokens of
    each row.

    The function maps the indices of a block's rows, int32 [R], to a nest of tensors [R, ...] or
    ragged tensors [R, None, ...], for no rows `empty`; the result for a row must not depend on the
    block. Returns a nest like `empty`, [B, ...], in the order of `lengths`.
    """
    order = tf.argsort(lengths, stable=True)
    rising = tf.cast(tf.gather(lengths, order), tf.int32)

    def add_block(done: tf.Tensor, results: Any) -> tuple[tf.Tensor, Any]:
        # Lengths rise: a block that ends with row i is as wide as that row.
        widths = rising[done : done + _MAX_ROWS]
        fits = (tf.range(tf.size(widths)) + 1) * widths <= max_tokens
        rows = order[done : done + tf.maximum(tf.math.count_nonzero(fits, dtype=tf.int32), 1)]
        added = function(rows)
        return done + tf.size(rows), tf.nest.map_structure(
            lambda *parts: tf.concat(parts, axis=0), results, added
        )

    # The loop must be told that the results grow; one block at a time keeps memory bounded.
    invariants = (tf.TensorSpec([], tf.int32), tf.nest.map_structure(_of_any_length, empty))
    _, results = tf.while_loop(
        lambda done, _: done < tf.size(order),
        add_block,
        (tf.constant(0), empty),
        invariants,
        parallel_iterations=1,
    )
    indices = tf.math.invert_permutation(order)
    return tf.nest.map_structure(lambda rows: tf.gather(rows, indices), results)


def _of_any_length(empty: Any) -> tf.TypeSpec:
    if isinstance(empty, tf.RaggedTensor):
        return tf.RaggedTensorSpec([None] * empty.shape.rank, empty.dtype, 1, tf.int64)
    return tf.TensorSpec([None] * empty.shape.rank, empty.dtype)
