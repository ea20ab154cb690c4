"""The best continuations of a sentence's hypotheses by one word, out of K for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.tensor_types import Float, Int, Tensor

BLOCK = 32  # words in a block of a vocabulary whose size is not known before the graph runs


class Continuations(NamedTuple):
    """Hypotheses of a sentence with another word, best first, then empty slots.

    Ties go to the hypothesis with the lower index, then to the lower word, and to eos last.
    """

    log_probs: Float[Tensor, "B k"]  # of the whole hypothesis, nats; -inf in an empty slot
    parents: Int[Tensor, "B k"]  # the hypothesis that is continued, 0 .. Q - 1
    words: Int[Tensor, "B k"]


def best_continuations(
    logits: Float[Tensor, "B Q K"],  # of the next word, float32
    before_words: Float[Tensor, "B Q"],  # log p; -inf where no word but eos may follow
    before_eos: Float[Tensor, "B Q"],  # log p; -inf where eos may not follow
    k: int,
    eos_id: int,
    banned_ids: Sequence[int] = (),  # words that never follow; meant to be few
) -> Continuations:
    """Find the k most probable continuations of each sentence.

    These are the k greatest, over all Q hypotheses and K words together, of

        before_words + log softmax(logits)    for any word but eos
        before_eos + log softmax(logits)      for eos

    without sorting Q·K numbers: the vocabulary is cut into N blocks of S words, followed by a block
    for eos alone. The k best continuations lie in the k blocks with the greatest maxima: a word in
    any other block has k maxima ahead of it. Taking blocks and words in the order of their index
    keeps this true for ties.

    A hypothesis whose logits hold a NaN or +inf has no continuation. Where `before_eos` is inf, eos
    follows with a log p of inf, whatever the logits: the search uses this to keep a finished
    hypothesis. If K is not static, it must be a multiple of `BLOCK`, and at least k · BLOCK.
    """
    if k == before_words.shape[1] == 1:
        return _best_continuation(logits, before_words, before_eos, eos_id, banned_ids)
    slots, columns = before_words.shape[1], logits.shape[2]  # Q, K
    size = BLOCK if columns is None else _block_size(columns)  # S
    if columns is not None and columns % size:
        rest = size - columns % size
        logits = tf.pad(logits, [[0, 0], [0, 0], [0, rest]], constant_values=-math.inf)
    count = _size(logits, 2) // size  # N
    blocks = tf.reshape(logits, [-1, slots, count, size])  # [B, Q, N, S]
    maxima = tf.reduce_max(blocks, axis=3)  # [B, Q, N]
    normalizer = _log_normalizer(logits, blocks, maxima)  # [B, Q]
    banned = _ban_mask([eos_id, *banned_ids], count, size)  # [N + 1, S]

    base = before_words - normalizer
    affected = sorted({word // size for word in [eos_id, *banned_ids]})
    words = tf.expand_dims(base, 2) + _without(banned, affected, blocks, maxima)
    eos = _eos(logits, before_eos, normalizer, eos_id)
    scores = _nan_to_neg_inf(tf.concat([words, tf.expand_dims(eos, 2)], axis=2))  # [B, Q, N + 1]
    scores = tf.reshape(scores, [-1, slots * (count + 1)])
    chosen = tf.math.top_k(scores, min(k, scores.shape[1] or k)).indices
    chosen = -tf.math.top_k(-chosen, chosen.shape[1]).values  # [B, m], rising

    parents, block = chosen // (count + 1), chosen % (count + 1)  # [B, m]
    # The row of a block is parents · N + block. The block of eos has none: what is read is unused.
    rows = tf.minimum(chosen - parents, slots * count - 1)
    rows = tf.gather(tf.reshape(blocks, [-1, slots * count, size]), rows, batch_dims=1)
    rows += tf.gather(banned, block)  # [B, m, S]
    log_probs = _nan_to_neg_inf(tf.expand_dims(tf.gather(base, parents, batch_dims=1), 2) + rows)
    # The block of eos has it as its first word, and nothing else.
    is_eos = tf.expand_dims(block == count, 2) & (tf.range(size) == 0)
    eos = tf.expand_dims(tf.gather(scores, chosen, batch_dims=1), 2)
    log_probs = tf.reshape(tf.where(is_eos, eos, log_probs), [-1, chosen.shape[1] * size])

    best, picks = tf.math.top_k(log_probs, min(k, log_probs.shape[1]))
    first_words = tf.where(block == count, eos_id, block * size)
    words = tf.gather(first_words, picks // size, batch_dims=1) + picks % size
    missing = [[0, 0], [0, k - best.shape[1]]]
    return Continuations(
        tf.pad(best, missing, constant_values=-math.inf),
        tf.pad(tf.gather(parents, picks // size, batch_dims=1), missing),
        tf.pad(words, missing),
    )


def _best_continuation(
    logits: Float[Tensor, "B 1 K"],
    before_words: Float[Tensor, "B 1"],
    before_eos: Float[Tensor, "B 1"],
    eos_id: int,
    banned_ids: Sequence[int],
) -> Continuations:
    """The greedy case of `best_continuations`, which needs no blocks."""
    normalizer = tf.reduce_max(logits, axis=2) - tf.math.log(
        tf.reduce_max(tf.nn.softmax(logits), axis=2)
    )
    allowed = logits + _ban_mask([eos_id, *banned_ids], 1, _size(logits, 2))[0]
    log_probs = _nan_to_neg_inf(before_words - normalizer + tf.reduce_max(allowed, axis=2))
    eos = _nan_to_neg_inf(_eos(logits, before_eos, normalizer, eos_id))
    words = tf.argmax(allowed, axis=2, output_type=tf.int32)
    words = tf.where(eos > log_probs, eos_id, words)
    return Continuations(tf.maximum(log_probs, eos), tf.zeros_like(words), words)


def _block_size(columns: int) -> int:
    """About sqrt(K), for as many blocks as words in one; a divisor of K near it saves a copy."""
    best = round(math.sqrt(columns))
    divisors = (size for size in range(best // 2 + 1, 2 * best) if columns % size == 0)
    return min(divisors, key=lambda size: abs(size - best), default=best)


def _log_normalizer(
    logits: Float[Tensor, "B Q K"],
    blocks: Float[Tensor, "B Q N S"],
    maxima: Float[Tensor, "B Q N"],
) -> Float[Tensor, "B Q"]:
    """The logsumexp of `logits` over K.

    log p(best) = best - logsumexp. The fused softmax gives p(best), which is at least 1/K, in
    about half the time of exp and sum as separate passes on a CPU.
    """
    best, block = tf.math.top_k(maxima, 1)  # [B, Q, 1]
    slots, size = blocks.shape[1], blocks.shape[3]
    p = tf.reshape(tf.nn.softmax(logits), [-1, slots, _size(blocks, 2), size])
    p = tf.reduce_max(tf.gather(p, block, batch_dims=2), axis=3)  # [B, Q, 1]
    return tf.squeeze(best - tf.math.log(p), axis=2)


def _size(x: tf.Tensor, axis: int) -> Any:
    """The size of an axis, a tensor only if it is not known before the graph runs."""
    return x.shape[axis] or tf.shape(x)[axis]


def _ban_mask(words: Sequence[int], count: int | Int[Tensor, ""], size: int) -> Any:
    """-inf at some words and in the block of eos, 0 elsewhere: float32 [N + 1, S]."""
    positions = tf.range((count + 1) * size)
    is_banned = tf.reduce_any(tf.expand_dims(positions, 1) == list(words), axis=1)
    is_banned |= positions >= count * size
    return tf.reshape(tf.where(is_banned, -math.inf, 0.0), [-1, size])


def _without(
    banned: Float[Tensor, "N_1 S"],
    affected: list[int],
    blocks: Float[Tensor, "B Q N S"],
    maxima: Float[Tensor, "B Q N"],
) -> Float[Tensor, "B Q N"]:
    """The maxima without the words that are banned; only the blocks with these are read again."""
    again = tf.gather(blocks, affected, axis=2) + tf.gather(banned, affected)
    again = tf.reduce_max(again, axis=3)  # [B, Q, A]
    is_place = tf.expand_dims(tf.range(_size(maxima, 2)), 1) == affected  # [N, A]
    # The affected block's place in `again`; as floats, since GPUs have no argmax of integers.
    position = tf.argmax(tf.cast(is_place, tf.float32), axis=1)
    return tf.where(tf.reduce_any(is_place, 1), tf.gather(again, position, axis=2), maxima)


def _eos(
    logits: Float[Tensor, "B Q K"],
    before_eos: Float[Tensor, "B Q"],
    normalizer: Float[Tensor, "B Q"],
    eos_id: int,
) -> Float[Tensor, "B Q"]:
    """The log p of each hypothesis with eos."""
    log_probs = before_eos - normalizer + logits[:, :, eos_id]
    return tf.where(before_eos == math.inf, math.inf, log_probs)


def _nan_to_neg_inf(log_probs: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """Replace NaN, which is not greater than -inf, by -inf: no later comparison meets one."""
    return tf.where(log_probs > -math.inf, log_probs, -math.inf)
