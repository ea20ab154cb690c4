"""The hidden Markov model of word alignment (Vogel, Ney & Tillmann 1996), and its posteriors.

Each word f_i of one side was emitted by a word e_j of the other side, or by none. The positions
a_i are the hidden states:

    p(f, a | e) = Π_i p(a_i | a_{i-1}) p(f_i | e_{a_i})

The aligner has read f_i when it aligns it; attention computes α_i before y_i is known.
"""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.layers.scan import scan

WINDOW = 7  # words; longer jumps have the weight of a jump of this length
UNLINKED = 0.08  # p(a_i = no word)
_UNKNOWN = 1e-6  # p of a word that the training text lacks: its neighbors decide where it belongs


class Direction(NamedTuple):
    """Parameters of one direction, float32."""

    lexicon: tf.Tensor  # [C + 1], p(f | e) of each cell (pair of words); the last is of no cell, 0
    unlinked: tf.Tensor  # [K], p(f | no word)
    jumps: tf.Tensor  # [2 WINDOW + 1], s(d), d = -WINDOW … WINDOW


class Expectations(NamedTuple):
    """Expected values of the hidden positions, given both sentences."""

    links: tf.Tensor  # [B, I, J], p(a_i = j | e, f)
    jumps: tf.Tensor  # [2 WINDOW + 1], the number of jumps by d words
    chances: tf.Tensor  # [2 WINDOW + 1], the divisor of `jumps` that gives the next s(d)


def expectations_of_words(
    e: tf.Tensor,  # ids of the words that emit, int [B, J], -1 for unknown words, 0 for padding
    f: tf.Tensor,  # likewise of those emitted, int [B, I]
    cells: tf.Tensor,  # rows of `Direction.lexicon`, int32 [B, I, J]
    direction: Direction,
) -> Expectations:
    """Return the expectations of sentence pairs."""
    is_unknown = (e[:, tf.newaxis] < 0) | (f[:, :, tf.newaxis] < 0)
    emissions = tf.where(is_unknown, _UNKNOWN, tf.gather(direction.lexicon, cells))
    alone = tf.where(f < 0, _UNKNOWN, tf.gather(direction.unlinked, tf.maximum(f, 0)))
    lengths = tuple(tf.math.count_nonzero(ids, axis=1, dtype=tf.int32) for ids in (f, e))
    return expectations(emissions, alone, direction.jumps, lengths)


def expectations(
    emissions: tf.Tensor,  # p(f_i | e_j), float32 [B, I, J]
    unlinked: tf.Tensor,  # p(f_i | no word), float32 [B, I], above 0
    jumps: tf.Tensor,  # s, float32 [2 WINDOW + 1], above 0
    lengths: tuple[tf.Tensor, ...],  # I and J of each sentence, int [B]
) -> Expectations:
    """Run the forward–backward algorithm.

        p(a_i = j | a_{i-1} = j') = (1 − p_0) s(j − j') / Σ_k s(k − j')

    A word aligned to no word keeps the position before it. The initial position is left of the
    sentence. With s = 1 everywhere, this is IBM model 1.
    """
    trellis = _trellis(emissions, unlinked, jumps, lengths)
    sentences, positions = tf.unstack(tf.shape(trellis.is_position))
    start = tf.one_hot(tf.zeros(sentences, tf.int32), positions)
    leaving, linked, totals = _forward(trellis, start)
    arriving, links = _backward(trellis, tf.ones_like(start), linked, totals)
    return Expectations(
        tf.transpose(links, (1, 0, 2))[:, :-1, 1:], *_jump_counts(trellis, leaving, arriving)
    )


class _Trellis(NamedTuple):
    """Factors of p(f, a | e) for I + 1 words, the last of padding, and J + 1 positions.

    Position 0 is left of the sentence. Words at padding are emitted by no word, with p = 1.
    """

    emitted: tf.Tensor  # (1 − p_0) p(f_i | e_j), 0 at padding, [I + 1, B, J + 1]
    skipped: tf.Tensor  # p_0 p(f_i | no word), 1 at padding, [I + 1, B, 1]
    is_word: tf.Tensor  # 1 where there is a word f_i, 0 at padding, [I + 1, B, 1]
    is_position: tf.Tensor  # 1 at the words of a sentence, 0 at padding and position 0, [B, J + 1]
    distances: tf.Tensor  # j − j', clipped, in rows of `jumps`: int32 [J + 1, J + 1]
    weights: tf.Tensor  # s(j − j'), [J + 1, J + 1]
    normalizer: tf.Tensor  # Σ_k s(k − j'), [B, J + 1]


def _trellis(
    emissions: tf.Tensor, unlinked: tf.Tensor, jumps: tf.Tensor, lengths: tuple[tf.Tensor, ...]
) -> _Trellis:
    # One row of padding more: without any, the scans would have no step and no shape.
    emissions = tf.pad(emissions, [[0, 0], [0, 1], [0, 0]])
    unlinked = tf.pad(unlinked, [[0, 0], [0, 1]])
    of_f, of_e = (
        tf.sequence_mask(length, size, tf.float32)
        for length, size in zip(lengths, tf.unstack(tf.shape(emissions)[1:]), strict=True)
    )
    is_position = tf.pad(of_e, [[0, 0], [1, 0]])
    emitted = (1 - UNLINKED) * emissions * of_f[:, :, tf.newaxis] * of_e[:, tf.newaxis]
    emitted = tf.pad(emitted, [[0, 0], [0, 0], [1, 0]])
    skipped = tf.where(of_f > 0, UNLINKED * unlinked, 1.0)
    position = tf.range(tf.shape(is_position)[1])
    distances = tf.clip_by_value(position - position[:, tf.newaxis], -WINDOW, WINDOW) + WINDOW
    weights = tf.gather(jumps, distances)
    return _Trellis(
        tf.transpose(emitted, (1, 0, 2)),
        tf.transpose(skipped)[:, :, tf.newaxis],
        tf.transpose(of_f)[:, :, tf.newaxis],
        is_position,
        distances,
        weights,
        tf.matmul(is_position, weights, transpose_b=True),
    )


def _forward(trellis: _Trellis, start: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return, for each word, what leaves a position before it, what is linked to it, and totals.

    With α_i(j) = p(a_i = j | f_1 … f_i): α_{i-1}(j') / Σ_k s(k − j'), the part of α_i that is
    linked to word j, and p(f_i | f_1 … f_{i-1}).
    """

    def step(before: tf.Tensor, inputs: tuple) -> tuple:
        emitted, skipped = inputs
        leaving = tf.math.divide_no_nan(before, trellis.normalizer)  # of a blank sentence
        linked = tf.matmul(leaving, trellis.weights) * trellis.is_position * emitted
        both = linked + skipped * before
        total = tf.reduce_sum(both, axis=1, keepdims=True)
        return both / total, (leaving, linked / total, total)

    like = start, start, start[:, :1]
    return scan(step, start, (trellis.emitted, trellis.skipped), like)[1]


def _backward(
    trellis: _Trellis, end: tf.Tensor, linked: tf.Tensor, totals: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return, for each word, what arrives at a position with it, and p(a_i = j | e, f).

    With β_i(j) = p(f_{i+1} … | a_i = j) / p(f_{i+1} … | f_1 … f_i), what arrives is
    p(f_i | e_j) β_i(j), scaled likewise.
    """

    def step(after: tf.Tensor, inputs: tuple) -> tuple:
        emitted, skipped, linked, total = inputs
        arriving = trellis.is_position * emitted * after / total
        moved = tf.matmul(arriving, trellis.weights, transpose_b=True)
        before = tf.math.divide_no_nan(moved, trellis.normalizer) + skipped / total * after
        return before, (arriving, linked * after)

    inputs = trellis.emitted, trellis.skipped, linked, totals
    return scan(step, end, inputs, (end, end), reverse=True)[1]


def _jump_counts(
    trellis: _Trellis, leaving: tf.Tensor, arriving: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return `jumps` and `chances` of the expectations."""
    leaving *= trellis.is_word
    jumped = trellis.weights * tf.einsum("ibj,ibk->jk", leaving, arriving)
    # −log Σ_k s(k − j') is replaced by its tangent, a lower bound that s(d) maximizes.
    left = leaving * tf.einsum("jk,ibk->ibj", trellis.weights, arriving)
    left = tf.math.divide_no_nan(left, trellis.normalizer)
    chances = tf.einsum("ibj,bk->jk", left, trellis.is_position)
    rows = 2 * WINDOW + 1
    return (
        tf.math.unsorted_segment_sum(jumped, trellis.distances, rows),
        tf.math.unsorted_segment_sum(chances, trellis.distances, rows),
    )
