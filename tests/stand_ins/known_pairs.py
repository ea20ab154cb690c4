"""Pairs with ids that a test chooses."""

import numpy as np

from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences


def sentences(rows: list[list[int]]) -> Sentences:
    """Make sentences with these ids, each without its `</s>`."""
    words = [word for row in rows for word in row]
    starts = np.cumsum([0, *map(len, rows)])
    return Sentences(np.array(words, np.int32), starts, np.arange(max(words, default=0) + 1))


def pairs_of(source: list[list[int]], target: list[list[int]]) -> Pairs:
    return Pairs(sentences(source), sentences(target))


def pairs_of_lengths(*lengths: tuple[int, int]) -> Pairs:
    """Make pairs of these lengths; all words of pair i are 3 + i, so that it is recognized."""
    return pairs_of(*([[3 + i] * pair[side] for i, pair in enumerate(lengths)] for side in (0, 1)))


def lists(batch: np.ndarray) -> list[list[int]]:
    """Return a batch's sentences without padding and `</s>`."""
    sentences = [row[row != 0].tolist() for row in np.asarray(batch)]
    assert all(row[-1] == 1 and 1 not in row[:-1] for row in sentences)
    return [row[:-1] for row in sentences]
