"""Beam search over a batch of sentences: a step function in, hypotheses out.

The search knows neither model nor text. It asks ``predict`` for the logits of the next word, picks
words, tells ``advance`` which, and does so in one ``tf.while_loop``, so that it can stand in a
``tf.function`` and in a SavedModel, with batch size and lengths unknown until it runs.

Axes: B sentences, k beam slots, K words of the vocabulary, T steps run, t steps so far.
Q is the number of hypotheses a sentence has so far: 1 before the first word, k from then on.
C is the number of best words looked at per hypothesis.

What is searched for, with y the words of a hypothesis, eos included, and |y| their number:

    log p(y|x) = sum_i log p(y_i | y_<i, x)                   nats
    score(y)   = log p(y|x) / |y| ** length_penalty           0: log p; 1: its mean per token

Rules of the beam:

* At each step the most probable continuations of all live hypotheses of a sentence are kept.
  They are equally long, so log p and score rank them alike.
* A hypothesis that takes eos is finished: it is never extended, its score never changes, and it
  keeps its slot. With f of the k slots finished, k - f hypotheses go on: the beam shrinks.
* Banned words are left out of the choice; the probabilities of the others are not rescaled.
* Ties go to the continuation of the higher ranked hypothesis, within one hypothesis to the lower
  word id, and to eos last. At the end they go to the hypothesis that was finished first.
* A hypothesis whose logits hold a NaN or +inf ends there and is not returned.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

State = Any  # a nest of tensors [B, Q, ...]

# Below this many columns per value wanted, one plain top_k is as quick as two small ones.
_BLOCKS_PAY_FROM = 64


class Hypotheses(NamedTuple):
    """The hypotheses of each sentence, best first.

    A slot for which no hypothesis was found comes last: score and log p are -inf, length is 0.
    """

    tokens: tf.Tensor  # int32 [B, k, T]  each ends in eos, then 0
    lengths: tf.Tensor  # int32 [B, k]  tokens, eos included
    log_probs: tf.Tensor  # float32 [B, k]  log p(y|x), nats
    scores: tf.Tensor  # float32 [B, k]  log p(y|x) / length ** length_penalty


class _Beam(NamedTuple):
    """The hypotheses while they grow.

    A slot is finished (length > 0), live (length 0, log p finite) or empty (length 0, log p -inf).
    """

    tokens: tf.Tensor  # int32 [B, Q, t]  0 after eos and in empty slots
    lengths: tf.Tensor  # int32 [B, Q]  tokens, eos included; 0 if not finished
    log_probs: tf.Tensor  # float32 [B, Q]


class _Candidates(NamedTuple):
    """Live hypotheses extended by one word; log p is -inf where that is not allowed."""

    log_probs: tf.Tensor  # float32 [B, Q, C + 1]  of the whole hypothesis
    words: tf.Tensor  # int32 [B, Q, C + 1]  the last one is eos


@dataclass(frozen=True)
class _Rules:
    """The options of one search."""

    beam_size: int
    max_lengths: tf.Tensor  # int32 [B]
    min_lengths: tf.Tensor  # int32 [B]
    eos_id: int
    banned_ids: tuple[int, ...]
    length_penalty: float
    n_best: int


def beam_search(
    predict: Callable[[State], tf.Tensor],
    advance: Callable[[State, tf.Tensor], State],
    state: State,
    *,
    beam_size: int,
    max_lengths: tf.Tensor,
    min_lengths: tf.Tensor | None = None,
    eos_id: int,
    banned_ids: Sequence[int] = (),
    length_penalty: float = 0.0,
    n_best: int = 1,
) -> Hypotheses:
    """Searches for the hypotheses with the highest score; the module's docstring has the rules.

    ``predict`` and ``advance`` are called with Q = 1 for the first word and Q = k afterwards.
    What both need (a context vector, say) belongs in ``state``. What all hypotheses of a sentence
    share (its annotations) does not: the functions capture it as [B, ...] and broadcast it over Q,
    and the search copies nothing but ``state``. Slots that are finished or empty go through both
    functions as well, with word 0; what comes of them is ignored.

    Args:
        predict: maps a state to the logits of the next word, float [B, Q, K], K static.
        advance: maps a state and the words chosen for it, int32 [B, Q], to the next state.
        state: a nest of tensors [B, 1, ...], the state before the first word.
        beam_size: k.
        max_lengths: int [B], the most tokens a hypothesis may have, eos included; below 1 is 1.
            A hypothesis that gets there takes eos as its last token, at the price of that eos: all
            hypotheses returned are complete, and their log p is the model's.
        min_lengths: int [B], the fewest words before eos, not counting it: eos may be the word at
            (0-based) position ``min_lengths`` at the earliest. ``max_lengths`` overrules it.
        eos_id: the word that ends a hypothesis.
        banned_ids: words never chosen, such as padding and the unknown word; meant to be few.
        length_penalty: the exponent of the length in the score.
        n_best: how many of the best must be final. A sentence stops once its ``n_best``-th best
            finished score is at least what a live hypothesis can still reach; later ranks hold
            what else was finished by then. ``beam_size`` fills all the slots.

    Returns:
        The hypotheses of each sentence, k of them, best score first.

    Raises:
        ValueError: an option is out of range, or a shape is not as described.
    """
    _check_options(beam_size, eos_id, banned_ids, length_penalty, n_best)
    _check_state(state)
    max_lengths = tf.cast(max_lengths, tf.int32)
    min_lengths = tf.zeros_like(max_lengths) if min_lengths is None else min_lengths
    rules = _Rules(
        beam_size=beam_size,
        max_lengths=max_lengths,
        min_lengths=tf.cast(min_lengths, tf.int32),
        eos_id=eos_id,
        banned_ids=tuple(banned_ids),
        length_penalty=length_penalty,
        n_best=n_best,
    )

    def any_live(state: State, beam: _Beam) -> tf.Tensor:
        del state
        return tf.reduce_any(_is_live(beam))

    def step(state: State, beam: _Beam) -> tuple[State, _Beam]:
        state = advance(state, beam.tokens[:, :, -1])
        return _add_word(predict, state, beam, rules)

    # The first word comes before the loop: there, one hypothesis per sentence becomes k.
    state, beam = _add_word(predict, state, _empty_beam(max_lengths), rules)
    _, beam = tf.while_loop(
        any_live, step, (state, beam), shape_invariants=_loop_shapes(state, beam_size)
    )
    return _rank(beam, rules)


def top_k(values: tf.Tensor, k: int) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.math.top_k`` in less time when the last axis is long; the result is the same.

    The last axis is cut into blocks. The k largest values lie in the k blocks with the largest
    maxima: a value in any other block has k maxima ahead of it. Taking blocks and values in the
    order of their index keeps this true of ties, where the lower index goes first.

    Args:
        values: float [..., K]; without NaN, or the choice is arbitrary.
        k: how many, at most K.

    Returns:
        The k largest values, largest first, and their indices, int32; both [..., k].
    """
    columns = values.shape[-1]
    if columns is None or columns <= _BLOCKS_PAY_FROM * k:
        return tuple(tf.math.top_k(values, k))
    size = _block_size(columns, k)
    count = -(-columns // size)
    rows = tf.reshape(values, [-1, columns])  # [N, K]
    if count * size > columns:
        # -inf at the end never wins: even against -inf, the lower index goes first.
        rows = tf.pad(rows, [[0, 0], [0, count * size - columns]], constant_values=-math.inf)
    blocks = tf.reshape(rows, [-1, count, size])  # [N, blocks, size]
    chosen = tf.sort(tf.math.top_k(tf.reduce_max(blocks, axis=-1), k).indices)  # [N, k]
    short = tf.gather(blocks, chosen, batch_dims=1)  # [N, k, size]
    best, places = tf.math.top_k(tf.reshape(short, [-1, k * size]), k)  # [N, k]
    indices = tf.gather(chosen, places // size, batch_dims=1) * size + places % size
    shape = tf.concat([tf.shape(values)[:-1], [k]], axis=0)
    static = [*values.shape[:-1], k]
    return tf.ensure_shape(tf.reshape(best, shape), static), tf.ensure_shape(
        tf.reshape(indices, shape), static
    )  # [..., k]


def _block_size(columns: int, k: int) -> int:
    """About sqrt(2 K / k), as measured; a divisor of K near it saves a padded copy."""
    best = 8 * max(1, round(math.sqrt(2 * columns / k) / 8))
    divisors = (size for size in range(best // 2 + 1, 2 * best) if columns % size == 0)
    return min(divisors, key=lambda size: abs(size - best), default=best)


def _add_word(
    predict: Callable[[State], tf.Tensor], state: State, beam: _Beam, rules: _Rules
) -> tuple[State, _Beam]:
    """Adds a word to the live hypotheses; the state returned is that of their parents."""
    candidates = _extend(predict(state), beam, rules)
    beam, parents = _select(candidates, beam, rules)
    beam = _stop_decided(beam, rules)
    state = tf.nest.map_structure(lambda part: tf.gather(part, parents, batch_dims=1), state)
    return state, beam


def _extend(logits: tf.Tensor, beam: _Beam, rules: _Rules) -> _Candidates:
    """Extends each live hypothesis by its best words and, in a column of its own, by eos."""
    size = _vocabulary_size(logits, rules)
    logits = tf.cast(logits, tf.float32)
    # Some of the best may not be chosen (banned words, eos): that many more are taken.
    best, words = top_k(logits, min(rules.beam_size + len(rules.banned_ids) + 1, size))
    normaliser = _log_normaliser(logits, best[:, :, :1], words[:, :, :1])  # [B, Q, 1]
    eos = logits[:, :, rules.eos_id, tf.newaxis]  # [B, Q, 1]
    eos_words = tf.fill(tf.shape(eos), rules.eos_id)

    step = tf.shape(beam.tokens)[2]
    is_last = (step + 1 >= rules.max_lengths)[:, tf.newaxis, tf.newaxis]  # [B, 1, 1]
    too_early = (step < rules.min_lengths)[:, tf.newaxis, tf.newaxis]  # [B, 1, 1]
    forbidden = is_last | (words == rules.eos_id)  # [B, Q, C]
    for banned in rules.banned_ids:
        forbidden |= words == banned
    forbidden = tf.concat([forbidden, (too_early & ~is_last) | tf.zeros_like(eos, tf.bool)], axis=2)

    hypotheses = tf.where(beam.lengths > 0, -math.inf, beam.log_probs)[:, :, tf.newaxis]
    log_probs = hypotheses + (tf.concat([best, eos], axis=2) - normaliser)  # [B, Q, C + 1]
    # NaN is not greater than -inf: it ends here, and no later comparison meets one.
    allowed = ~forbidden & (log_probs > -math.inf)
    return _Candidates(
        log_probs=tf.where(allowed, log_probs, -math.inf),
        words=tf.concat([words, eos_words], axis=2),
    )


def _log_normaliser(logits: tf.Tensor, best: tf.Tensor, best_word: tf.Tensor) -> tf.Tensor:
    """The logsumexp of ``logits`` over K, from the best logit and its word, both [B, Q, 1].

    log p(best) = best - logsumexp. The fused softmax gives p(best), which is at least 1/K, in
    about half the time of exp and sum as separate passes on a CPU.
    """
    return best - tf.math.log(tf.gather(tf.nn.softmax(logits), best_word, batch_dims=2))


def _select(candidates: _Candidates, beam: _Beam, rules: _Rules) -> tuple[_Beam, tf.Tensor]:
    """Fills the k slots: first the finished hypotheses, then the best candidates.

    Returns the new beam, and the slots its hypotheses were in before, int32 [B, k].
    """
    slots, per_slot = beam.lengths.shape[1], candidates.words.shape[2]  # Q, C + 1
    finished = beam.lengths > 0
    # One row of options per sentence: Q slots to keep as they are, Q (C + 1) candidates, and
    # nothing, should there be fewer than k of them.
    missing = [[0, 0], [0, max(0, rules.beam_size - slots * (1 + per_slot))]]
    flat_log_probs = tf.reshape(candidates.log_probs, [-1, slots * per_slot])
    flat_words = tf.reshape(candidates.words, [-1, slots * per_slot])
    rank_by = tf.concat([tf.where(finished, math.inf, -math.inf), flat_log_probs], axis=1)
    log_probs = tf.concat([tf.where(finished, beam.log_probs, -math.inf), flat_log_probs], axis=1)
    words = tf.concat([tf.zeros_like(beam.lengths), flat_words], axis=1)

    _, picks = tf.math.top_k(
        tf.pad(rank_by, missing, constant_values=-math.inf), rules.beam_size
    )  # [B, k]
    log_probs = tf.gather(
        tf.pad(log_probs, missing, constant_values=-math.inf), picks, batch_dims=1
    )
    words = tf.gather(tf.pad(words, missing), picks, batch_dims=1)  # [B, k]
    words = tf.where(log_probs > -math.inf, words, 0)

    parents = tf.where(picks < slots, picks, tf.minimum((picks - slots) // per_slot, slots - 1))
    is_kept = (picks < slots) & (log_probs > -math.inf)
    is_new_end = ~is_kept & (words == rules.eos_id) & (log_probs > -math.inf)
    tokens = tf.gather(beam.tokens, parents, batch_dims=1)  # [B, k, t]
    tokens = tf.concat([tokens, words[:, :, tf.newaxis]], axis=2)  # [B, k, t + 1]
    lengths = tf.where(is_kept, tf.gather(beam.lengths, parents, batch_dims=1), 0)
    lengths = tf.where(is_new_end, tf.shape(tokens)[2], lengths)
    return _Beam(tokens, lengths, log_probs), parents


def _stop_decided(beam: _Beam, rules: _Rules) -> _Beam:
    """Empties the live slots of the sentences in which no live hypothesis can win any more.

    log p only falls, and a score is divided by at most max_lengths ** length_penalty.
    """
    to_beat = tf.math.top_k(_scores(beam, rules), rules.n_best).values[:, -1:]  # [B, 1]
    longest = tf.cast(tf.maximum(rules.max_lengths, 1), tf.float32)[:, tf.newaxis]  # [B, 1]
    within_reach = beam.log_probs / longest**rules.length_penalty
    within_reach = tf.where(_is_live(beam), within_reach, -math.inf)  # [B, k]
    decided = tf.reduce_max(within_reach, axis=1, keepdims=True) <= to_beat  # [B, 1]
    return beam._replace(
        log_probs=tf.where(decided & (beam.lengths == 0), -math.inf, beam.log_probs)
    )


def _rank(beam: _Beam, rules: _Rules) -> Hypotheses:
    """Sorts the finished hypotheses by their score and clears the other slots."""
    finished = (beam.lengths > 0)[:, :, tf.newaxis]
    scores, order = tf.math.top_k(_scores(beam, rules), rules.beam_size)
    return Hypotheses(
        tokens=tf.gather(tf.where(finished, beam.tokens, 0), order, batch_dims=1),
        lengths=tf.gather(beam.lengths, order, batch_dims=1),
        log_probs=tf.gather(beam.log_probs, order, batch_dims=1),
        scores=scores,
    )


def _scores(beam: _Beam, rules: _Rules) -> tf.Tensor:
    """The scores of finished hypotheses, -inf for the others; float32 [B, k]."""
    lengths = tf.cast(tf.maximum(beam.lengths, 1), tf.float32)
    return tf.where(beam.lengths > 0, beam.log_probs / lengths**rules.length_penalty, -math.inf)


def _is_live(beam: _Beam) -> tf.Tensor:
    """Which slots hold a hypothesis that is still growing; bool [B, k]."""
    return (beam.lengths == 0) & (beam.log_probs > -math.inf)


def _empty_beam(max_lengths: tf.Tensor) -> _Beam:
    """One hypothesis per sentence, without words: Q = 1, t = 0."""
    batch = tf.shape(max_lengths)[0]
    return _Beam(
        tokens=tf.zeros([batch, 1, 0], tf.int32),
        lengths=tf.zeros([batch, 1], tf.int32),
        log_probs=tf.zeros([batch, 1], tf.float32),
    )


def _loop_shapes(state: State, k: int) -> tuple[State, _Beam]:
    """The shapes that hold all through the loop: the batch size may be unknown, tokens grow."""
    return (
        tf.nest.map_structure(lambda part: tf.TensorShape([None, k, *part.shape[2:]]), state),
        _Beam(
            tokens=tf.TensorShape([None, k, None]),
            lengths=tf.TensorShape([None, k]),
            log_probs=tf.TensorShape([None, k]),
        ),
    )


def _vocabulary_size(logits: tf.Tensor, rules: _Rules) -> int:
    if logits.shape.rank != 3 or logits.shape[-1] is None:
        raise ValueError(f"predict must return logits [B, Q, K] with K static, not {logits.shape}")
    size: int = logits.shape[-1]
    if rules.eos_id >= size:
        raise ValueError(f"eos_id {rules.eos_id} is outside the vocabulary of {size}")
    return size


def _check_state(state: State) -> None:
    for part in tf.nest.flatten(state):
        shape = tf.convert_to_tensor(part).shape
        if shape.rank is None or shape.rank < 2 or shape[1] not in (1, None):
            raise ValueError(f"state must hold tensors of shape [B, 1, ...], not {shape}")


def _check_options(
    beam_size: int, eos_id: int, banned_ids: Sequence[int], length_penalty: float, n_best: int
) -> None:
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1, not {beam_size}")
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be in 1 .. beam_size = {beam_size}, not {n_best}")
    if eos_id < 0:
        raise ValueError(f"eos_id must be at least 0, not {eos_id}")
    if eos_id in banned_ids:
        raise ValueError(f"eos_id {eos_id} cannot be banned: no hypothesis would end")
    if not 0 <= length_penalty < math.inf:
        raise ValueError(f"length_penalty must be at least 0 and finite, not {length_penalty}")
