"""Rows in blocks: every row once, its own result, its own place."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.inference.length_batching import map_by_length

NO_WORDS = tf.RaggedTensor.from_row_splits(tf.zeros([0], tf.string), tf.zeros([1], tf.int64))


def blocks_of(lengths: list[int], max_tokens: int) -> list[list[int]]:
    """The blocks that were made, and a check that each row got what is its own."""
    lengths = tf.constant(lengths, tf.int64)
    made: list[list[int]] = []

    def function(rows: tf.Tensor) -> tuple[tf.Tensor, tf.RaggedTensor]:
        made.append(rows.numpy().tolist())
        chosen = tf.gather(lengths, rows)
        words = tf.RaggedTensor.from_row_lengths(
            tf.repeat(tf.strings.as_string(rows), chosen), chosen
        )
        return 10 * rows, words

    tens, words = map_by_length(function, lengths, max_tokens, (tf.zeros([0], tf.int32), NO_WORDS))
    assert tens.numpy().tolist() == [10 * i for i in range(len(lengths))]
    expected = [[str(i).encode()] * int(n) for i, n in enumerate(lengths)]
    assert words.to_list() == expected
    return made


def test_rows_of_similar_length_go_together():
    assert blocks_of([5, 1, 7, 2, 5, 3], max_tokens=10) == [[1, 3, 5], [0, 4], [2]]


def test_a_row_that_is_too_long_goes_alone():
    assert blocks_of([13, 2, 11], max_tokens=7) == [[1], [2], [0]]


def test_equal_rows_keep_their_order_and_64_are_the_maximum():
    made = blocks_of([1] * 150, max_tokens=1_000)
    assert made == [list(range(64)), list(range(64, 128)), list(range(128, 150))]


def test_no_rows():
    assert blocks_of([], max_tokens=5) == []


def test_in_a_graph_with_a_ragged_result_of_three_axes():
    lengths = np.array([3, 1, 2, 5, 4])

    @tf.function
    def ragged(lengths: tf.Tensor) -> tf.Tensor:
        def function(rows: tf.Tensor) -> tf.RaggedTensor:
            chosen = tf.gather(lengths, rows)
            values = tf.tile(tf.repeat(chosen, chosen)[:, None], [1, 7])
            return tf.RaggedTensor.from_row_lengths(values, chosen)

        splits = tf.zeros([1], tf.int64)
        empty = tf.RaggedTensor.from_row_splits(tf.zeros([0, 7], lengths.dtype), splits)
        return map_by_length(function, lengths, 6, empty).to_tensor()

    result = ragged(tf.constant(lengths)).numpy()
    assert result.shape == (5, 5, 7)
    np.testing.assert_array_equal(result[:, :, 6].sum(axis=1), lengths**2)


@pytest.mark.parametrize("seed", range(3))
def test_any_rows_come_back_in_order(seed):
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 30, random.integers(1, 70)).tolist()
    most = int(random.integers(1, 100))
    for block in blocks_of(lengths, most):
        assert len(block) == 1 or len(block) * max(lengths[i] for i in block) <= most
