"""The hidden Markov model of word alignment (Vogel, Ney & Tillmann 1996), and its posteriors.

Each word f_i of one side was emitted by a word e_j of the other side, or by none. The places a_i
are the hidden states:

    p(f, a | e) = Π_i p(a_i | a_{i-1}) p(f_i | e_{a_i})

The aligner has read f_i when it aligns it; attention computes α_i before y_i is known.
"""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.layers.scan import scan

WINDOW = 7  # words; longer jumps than this have one weight
UNLINKED = 0.08  # p(a_i = no word)
_UNKNOWN = 1e-6  # p of a word that the training text lacks: its neighbors decide where it belongs


class Direction(NamedTuple):
    """Parameters of one direction, float32."""

    lexicon: tf.Tensor  # [C + 1], p(f | e) of each cell (pair of words); the last is of no cell, 0
    unlinked: tf.Tensor  # [K], p(f | no word)
    jumps: tf.Tensor  # [2 WINDOW + 1], s(d), d = -WINDOW … WINDOW


class Expectations(NamedTuple):
    """Expected values of the hidden places, given both sentences."""

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
    # One row of padding more: without any, the scans would have no step and no shape.
    emissions = tf.pad(emissions, [[0, 0], [0, 1], [0, 0]])
    unlinked = tf.pad(unlinked, [[0, 0], [0, 1]])
    of_f, of_e = (
        tf.sequence_mask(length, size, tf.float32)
        for length, size in zip(lengths, tf.unstack(tf.shape(emissions)[1:]), strict=True)
    )
    # Place 0 is left of the sentence. Words at padding are emitted by no word, with p = 1.
    places = tf.pad(of_e, [[0, 0], [1, 0]])
    emitted = (1 - UNLINKED) * emissions * of_f[:, :, tf.newaxis] * of_e[:, tf.newaxis]
    emitted = tf.transpose(tf.pad(emitted, [[0, 0], [0, 0], [1, 0]]), (1, 0, 2))
    skipped = tf.transpose(tf.where(of_f > 0, UNLINKED * unlinked, 1.0))[:, :, tf.newaxis]
    place = tf.range(tf.shape(places)[1])
    distances = tf.clip_by_value(place - place[:, tf.newaxis], -WINDOW, WINDOW) + WINDOW
    weights = tf.gather(jumps, distances)
    normalizer = tf.matmul(places, weights, transpose_b=True)

    def forward(before: tf.Tensor, inputs: tuple) -> tuple:
        emitted, skipped = inputs
        leaving = tf.math.divide_no_nan(before, normalizer)  # of a blank sentence
        linked = tf.matmul(leaving, weights) * places * emitted
        total = tf.reduce_sum(linked + skipped * before, axis=1, keepdims=True)
        return (linked + skipped * before) / total, (leaving, linked / total, total)

    def backward(after: tf.Tensor, inputs: tuple) -> tuple:
        emitted, skipped, linked, total = inputs
        arriving = places * emitted * after / total
        before = tf.math.divide_no_nan(tf.matmul(arriving, weights, transpose_b=True), normalizer)
        return before + skipped / total * after, (arriving, linked * after)

    start = tf.one_hot(tf.zeros_like(places[:, 0], tf.int32), tf.shape(places)[1])
    _, (leaving, linked, total) = scan(
        forward, start, (emitted, skipped), (start, start, start[:, :1])
    )
    _, (arriving, links) = scan(
        backward, tf.ones_like(start), (emitted, skipped, linked, total), (start, start),
        reverse=True,
    )  # fmt: skip
    leaving *= tf.transpose(of_f)[:, :, tf.newaxis]
    jumped = weights * tf.einsum("ibj,ibk->jk", leaving, arriving)
    # −log Σ_k s(k − j') is replaced by its tangent, a lower bound that s(d) maximizes.
    left = leaving * tf.einsum("jk,ibk->ibj", weights, arriving)
    chances = tf.einsum("ibj,bk->jk", tf.math.divide_no_nan(left, normalizer), places)
    by_distance = (
        tf.math.unsorted_segment_sum(counts, distances, 2 * WINDOW + 1)
        for counts in (jumped, chances)
    )
    return Expectations(tf.transpose(links, (1, 0, 2))[:, :-1, 1:], *by_distance)
