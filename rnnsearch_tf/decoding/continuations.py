"""The best continuations of a sentence's hypotheses by one word, out of K for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Float, Int, Tensor


BLOCK = 32  # words in a block of a vocabulary whose size is not known before the graph runs


class Continuations(NamedTuple):
    """Hypotheses of a sentence with another word, best first, then empty places.

    Ties go to the hypothesis with the lower index, then to the lower word, and to eos last.
    """

    log_probs: Float[Tensor, "B k"]  # of the whole hypothesis, nats; -inf in an empty place
    parents: Int[Tensor, "B k"]  # the hypothesis that is continued, 0 .. Q - 1
    words: Int[Tensor, "B k"]


def best_continuations(
    logits: Float[Tensor, "B Q K"],
    before_words: Float[Tensor, "B Q"],
    before_eos: Float[Tensor, "B Q"],
    k: int,
    eos_id: int,
    banned_ids: Sequence[int] = (),
) -> Continuations:
    """Find the k most probable continuations of each sentence.

    The vocabulary is cut into N blocks of S words, and eos is a block of its own behind them. The k
    best continuations lie in the k blocks with the greatest maxima, over all hypotheses together: a
    word in any other block has k maxima ahead of it. Taking blocks and words in the order of their
    index keeps this true of ties.

    Args:
        logits: of the next word, float32. A hypothesis whose logits hold a NaN or +inf has no
            continuation. Where K is not static, it is a multiple of `BLOCK`, at least k times that.
        before_words: log p of the hypotheses, nats; -inf where no word but eos may follow.
        before_eos: the same, -inf where eos may not follow. Where it is inf, eos follows with a
            log p of inf, whatever the logits.
        k: how many are wanted.
        eos_id: the word that ends a hypothesis.
        banned_ids: words that never follow; meant to be few.
    """
    slots, columns = before_words.shape[1], logits.shape[2]  # Q, K
    size = BLOCK if columns is None else _block_size(columns)  # S
    if columns is not None and (missing := -columns % size):
        logits = tf.pad(logits, [[0, 0], [0, 0], [0, missing]], constant_values=-math.inf)
    blocks = _cut(logits, size)  # [B, Q, N, S]
    count = blocks.shape[2] or tf.shape(blocks)[2]
    maxima = tf.reduce_max(blocks, axis=3)  # [B, Q, N]
    normalizer = _log_normalizer(logits, maxima, size)  # [B, Q]
    barred = _barred([eos_id, *banned_ids], count, size)  # [N + 1, S]

    base = before_words - normalizer
    affected = sorted({word // size for word in [eos_id, *banned_ids]})
    words = _sum(base[:, :, tf.newaxis], _without(barred, affected, blocks, maxima))
    eos = _sum(before_eos - normalizer, logits[:, :, eos_id])
    eos = tf.where(before_eos == math.inf, math.inf, eos)
    scores = tf.concat([words, eos[:, :, tf.newaxis]], axis=2)  # [B, Q, N + 1]
    scores = tf.reshape(scores, [-1, slots * (count + 1)])
    chosen = tf.math.top_k(scores, min(k, scores.shape[1] or k)).indices
    chosen = -tf.math.top_k(-chosen, chosen.shape[1]).values  # [B, m], rising

    parents, block = chosen // (count + 1), chosen % (count + 1)  # [B, m]
    rows = tf.minimum(parents * count + block, slots * count - 1)  # anywhere for eos
    rows = tf.gather(tf.reshape(blocks, [-1, slots * count, size]), rows, batch_dims=1)
    log_probs = _sum(  # [B, m, S]
        tf.gather(base, parents, batch_dims=1)[:, :, tf.newaxis], rows + tf.gather(barred, block)
    )
    is_eos = (block == count)[:, :, tf.newaxis] & (tf.range(size) == 0)
    eos = tf.gather(scores, chosen, batch_dims=1)[:, :, tf.newaxis]
    log_probs = tf.reshape(tf.where(is_eos, eos, log_probs), [-1, chosen.shape[1] * size])

    best, picks = tf.math.top_k(log_probs, min(k, log_probs.shape[1]))
    parents = tf.gather(parents, picks // size, batch_dims=1)
    block = tf.gather(block, picks // size, batch_dims=1)
    words = tf.where(block == count, eos_id, block * size + picks % size)
    missing = [[0, 0], [0, k - best.shape[1]]]
    return Continuations(
        tf.pad(best, missing, constant_values=-math.inf),
        tf.pad(parents, missing),
        tf.pad(words, missing),
    )


def _block_size(columns: int) -> int:
    """About sqrt(K), for as many blocks as words in one; a divisor of K near it saves a copy."""
    best = round(math.sqrt(columns))
    divisors = (size for size in range(best // 2 + 1, 2 * best) if columns % size == 0)
    return min(divisors, key=lambda size: abs(size - best), default=best)


def _cut(values: Float[Tensor, "B Q K"], size: int) -> Float[Tensor, "B Q N S"]:
    """Cut the last axis into blocks."""
    slots = values.shape[1] or tf.shape(values)[1]
    count = -1 if values.shape[2] is None else values.shape[2] // size
    return tf.reshape(values, [tf.shape(values)[0], slots, count, size])


def _log_normalizer(
    logits: Float[Tensor, "B Q K"], maxima: Float[Tensor, "B Q N"], size: int
) -> Float[Tensor, "B Q"]:
    """The logsumexp of `logits` over K.

    log p(best) = best - logsumexp. The fused softmax gives p(best), which is at least 1/K, in
    about half the time of exp and sum as separate passes on a CPU.
    """
    block = tf.argmax(maxima, axis=2, output_type=tf.int32)
    p = tf.gather(_cut(tf.nn.softmax(logits), size), block, batch_dims=2)  # [B, Q, S]
    return tf.reduce_max(maxima, axis=2) - tf.math.log(tf.reduce_max(p, axis=2))


def _barred(words: Sequence[int], count: int | Int[Tensor, ""], size: int) -> Any:
    """-inf at the places of some words and in the block of eos, 0 elsewhere: float32 [N + 1, S]."""
    places = tf.range((count + 1) * size)
    is_barred = tf.reduce_any(places[:, tf.newaxis] == list(words), axis=1)
    is_barred |= places >= count * size
    return tf.reshape(tf.where(is_barred, -math.inf, 0.0), [-1, size])


def _without(
    barred: Float[Tensor, "N_1 S"],
    affected: list[int],
    blocks: Float[Tensor, "B Q N S"],
    maxima: Float[Tensor, "B Q N"],
) -> Float[Tensor, "B Q N"]:
    """The maxima without the words that are barred; only the blocks with these are read again."""
    again = tf.gather(blocks, affected, axis=2) + tf.gather(barred, affected)
    again = tf.reduce_max(again, axis=3)  # [B, Q, A]
    is_place = tf.range(tf.shape(maxima)[2])[:, tf.newaxis] == affected  # [N, A]
    position = tf.argmax(tf.cast(is_place, tf.int32), axis=1)  # of an affected block in `again`
    return tf.where(tf.reduce_any(is_place, 1), tf.gather(again, position, axis=2), maxima)


def _sum(before: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """The sum, and -inf where it is not finite."""
    log_probs = before + logits
    # NaN is not greater than -inf: it ends here, and no later comparison meets one.
    return tf.where(log_probs > -math.inf, log_probs, -math.inf)
