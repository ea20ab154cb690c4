"""N-best lists: every text once, best first, then empty slots."""

import tensorflow as tf

from rnnsearch_tf.inference.n_best import LOWEST, without_repeats


def test_equal_texts_are_listed_once():
    texts = tf.constant([["a", "b", "a", "c"], ["", "", "d", "d"], ["e", "f", "", ""]])
    scores = tf.constant([[-1.0, -2, -3, -4]] * 3)
    tokens = tf.constant([[[7, 8, 1], [9, 1, 0], [6, 1, 0], [5, 4, 1]]] * 3)
    lengths = tf.constant([[3, 2, 2, 3], [3, 2, 2, 3], [3, 2, 0, 0]])
    token_scores = -tf.cast(tokens, tf.float32)
    n_best = without_repeats(texts, scores, 2 * scores, tokens, lengths, token_scores)
    assert n_best.text.numpy().astype(str).tolist() == [
        ["a", "b", "c", ""], ["", "d", "", ""], ["e", "f", "", ""],
    ]  # fmt: skip
    assert n_best.score.numpy().tolist() == [
        [-1, -2, -4, LOWEST], [-1, -3, LOWEST, LOWEST], [-1, -2, LOWEST, LOWEST],
    ]  # fmt: skip
    assert n_best.normalized_score.numpy()[0].tolist() == [-2, -4, -8, LOWEST]
    assert n_best.length.numpy().tolist() == [[3, 2, 3, 0], [3, 2, 0, 0], [3, 2, 0, 0]]
    assert n_best.target_tokens.to_list() == [
        [7, 8, 1, 9, 1, 5, 4, 1],
        [7, 8, 1, 6, 1],
        [7, 8, 1, 9, 1],
    ]
    assert n_best.token_scores.to_list() == [
        [-float(i) for i in row] for row in n_best.target_tokens.to_list()
    ]
