"""Training of the hidden Markov model of word alignment, in both directions at once."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.aligner.hmm import WINDOW, Direction, expectations_of_words
from rnnsearch_tf.progress import say
from rnnsearch_tf.tf_functions import graph_function

_WITHOUT_JUMPS = 4  # iterations of IBM model 1, whose jumps are equal
_WITH_JUMPS = 5
_PRIOR = 0.01  # of each p(f | e): the parameter of a Dirichlet distribution
_COUNT = 0.01  # added to each word's expected count of being unlinked
_LIKELY = 1e-4  # expectations below count as zero
_BATCH_CELLS = 400_000

_expect = graph_function(expectations_of_words, reduce_retracing=True)


class Cells(NamedTuple):
    """The pairs of words that occur together in some sentence pair, in order of their keys."""

    keys: Any  # int64 [C], source id · K_y + target id
    target_words: int  # K_y, with 0 for padding

    def rows(self, source: Any, target: Any) -> tf.Tensor:
        """Return rows of `Direction.lexicon`, int32 [B, I, J], for ids [B, J] and [B, I].

        C where a pair of words is not a cell.
        """
        keys = keys_of(source, target, self.target_words)
        flat, size = tf.reshape(keys, [-1]), tf.size(self.keys)
        rows = tf.searchsorted(self.keys, flat)
        is_cell = tf.gather(self.keys, tf.minimum(rows, size - 1)) == flat
        return tf.reshape(tf.where(is_cell, rows, size), tf.shape(keys))


def train_directions(
    source: Sequence[np.ndarray],  # ids from 1, int32 [J], of each sentence
    target: Sequence[np.ndarray],  # int32 [I]
) -> tuple[Cells, tuple[Direction, Direction]]:
    """Train by expectation–maximization: the cells, and the parameters of both directions.

    The lexicon has a sparse Dirichlet prior (variational Bayes). Without it, rare words become
    garbage collectors: they align to words that have no counterpart (Mermer & Saraçlar 2011; Riley
    & Gildea 2012).
    """
    sizes = [1 + max(int(row.max(initial=0)) for row in side) for side in (source, target)]
    cells, batches = _batches(source, target, sizes[1])
    emitting = np.divmod(cells.keys, cells.target_words)  # the source ids and the target ids
    directions = [_untrained(len(cells.keys), size) for size in reversed(sizes)]
    for iteration in range(1, _WITHOUT_JUMPS + _WITH_JUMPS + 1):
        counts = [_Counts(direction) for direction in directions]
        for x, y, rows in batches:
            counts[0].add(x, y, rows)
            counts[1].add(y, x, rows.transpose(0, 2, 1))
        directions = [
            one.maximized(e, with_jumps=iteration > _WITHOUT_JUMPS)
            for one, e in zip(counts, emitting, strict=True)
        ]
        say(f"iteration {iteration} of {_WITHOUT_JUMPS + _WITH_JUMPS}")
    return cells, (directions[0], directions[1])


def _untrained(cells: int, words: int) -> Direction:
    lexicon = np.append(np.full(cells, 1 / words), 0)
    values = lexicon, np.full(words, 1 / words), np.ones(2 * WINDOW + 1)
    return Direction(*(tf.constant(value, tf.float32) for value in values))


class _Counts:
    """Expected counts of one direction in one iteration."""

    def __init__(self, direction: Direction):
        self._direction = direction
        self._cells, self._unlinked, self._jumps = (np.zeros(len(x)) for x in direction)
        self._chances = np.zeros(len(direction.jumps))

    def add(self, e: np.ndarray, f: np.ndarray, cells: np.ndarray) -> None:
        """Add the expectations of sentence pairs; arguments as in `expectations_of_words`."""
        expected = _expect(e, f, cells, self._direction)
        links = expected.links.numpy()
        likely = links > _LIKELY
        np.add.at(self._cells, cells[likely], links[likely])
        np.add.at(self._unlinked, f, 1 - links.sum(axis=2))
        self._jumps += expected.jumps.numpy()
        self._chances += expected.chances.numpy()

    def maximized(self, e: np.ndarray, with_jumps: bool) -> Direction:
        """Return the next parameters; e has the emitting word of each cell."""
        counts = self._cells[:-1] + _PRIOR
        totals = np.bincount(e, counts)
        lexicon = tf.exp(tf.math.digamma(counts) - tf.gather(tf.math.digamma(totals), e))
        self._unlinked[0] = 0  # padding
        unlinked = self._unlinked.clip(0) + _COUNT
        # One more jump at the mean rate, for a distance that no sentence has room for.
        mean = tf.reduce_mean(self._direction.jumps).numpy()
        jumps = (self._jumps + 1) / (self._chances + 1 / mean)
        return Direction(
            tf.cast(tf.concat([lexicon, [0.0]], axis=0), tf.float32),
            tf.constant(unlinked / unlinked.sum(), tf.float32),
            tf.constant(jumps / jumps.sum(), tf.float32) if with_jumps else self._direction.jumps,
        )


def _batches(
    source: Sequence[np.ndarray], target: Sequence[np.ndarray], target_words: int
) -> tuple[Cells, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Return the cells, and batches: padded ids of both sides, and the cells of their pairs."""
    padded = functools.partial(keras.utils.pad_sequences, padding="post")
    pairs = [
        (padded([source[k] for k in group]), padded([target[k] for k in group]))
        for group in _groups([(len(x), len(y)) for x, y in zip(source, target, strict=True)])
    ]
    keys = [np.unique(keys_of(*pair, target_words)) for pair in pairs]
    together = np.unique(np.concatenate(keys))
    cells = Cells(together[together >= 0], target_words)
    in_graph = Cells(tf.constant(cells.keys), target_words)
    return cells, [(*pair, in_graph.rows(*pair).numpy()) for pair in pairs]


def _groups(lengths: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Group pairs of similar lengths, so that each group has at most `_BATCH_CELLS` cells."""
    groups: list[list[int]] = [[]]
    longest = (0, 0)
    for index in sorted(range(len(lengths)), key=lambda k: (max(lengths[k]), lengths[k])):
        if not all(lengths[index]):
            continue  # a blank sentence
        longest = max(longest[0], lengths[index][0]), max(longest[1], lengths[index][1])
        if (len(groups[-1]) + 1) * longest[0] * longest[1] > _BATCH_CELLS:
            groups.append([])
            longest = lengths[index]
        groups[-1].append(index)
    return [group for group in groups if group]


def keys_of(source: Any, target: Any, target_words: int) -> tf.Tensor:
    """Return the keys of all pairs of words, int64 [B, I, J]; -1 at padding and unknown words."""
    source, target = (tf.cast(ids, tf.int64) for ids in (source, target))
    source, target = source[:, tf.newaxis, :], target[:, :, tf.newaxis]
    return tf.where((source > 0) & (target > 0), source * target_words + target, -1)
