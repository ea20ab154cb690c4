"""Beam search over a batch of sentences, with a step function and a scoring rule.

The search depends on neither model nor text. A `SearchStep` computes the logits of the next word
and takes the words that the search chooses. The search loops by `tf.while_loop`, so it works inside
a `tf.function` and a SavedModel, with batch size and lengths unknown until it runs.

Axes: B sentences, k beam slots, K words of the vocabulary, T steps in all, t steps so far.
Q is the number of hypotheses of a sentence: 1 before the first word, k from then on.

With y the words of a hypothesis, eos included, and |y| their number:

    log p(y|x) = Σ_i log p(y_i | y_<i, x)                     nats
    score(y)   = scoring.score(log p(y|x), |y|, kept)

Rules of the beam:

* At each step the most probable continuations of all live hypotheses of a sentence are kept.
* A hypothesis that takes eos is finished: it is never extended, its score never changes, and it
  keeps its slot. With f of the k slots finished, k - f hypotheses are extended: the beam shrinks.
* Banned words are never chosen; the probabilities of the others are not rescaled.
* Ties go to the continuation of the higher ranked hypothesis, within one hypothesis to the lower
  word id, and to eos last. In the final ranking they go to the hypothesis finished first.
* A log p that is not finite counts as -inf, and such a continuation is never chosen: a hypothesis
  whose logits hold a NaN or +inf ends there. A sentence with no hypothesis left still gets one: eos
  alone, with a log p and a score of -inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.decoding.continuations import best_continuations
from rnnsearch_tf.decoding.scoring import LOG_PROBABILITY, Kept, ScoringRule, State
from rnnsearch_tf.tensor_types import Bool, Float, Int, Tensor

# Finished sentences leave the batch when no more than this part of it is live.
_LEAVE_AT = 0.75


@dataclass(frozen=True)
class SearchStep:
    """The functions of a step, for the B sentences that are searched.

    A state is a nest of tensors [B, Q, ...] that differ between the hypotheses of a sentence. What
    does not, such as its annotations, is captured by the functions as [B, ...] and broadcast over
    Q: the search copies states only.

    `predict` is called with Q = 1 for the first word and with Q = k afterward, `advance` only with
    Q = k. Finished and empty slots pass through both with word 0, and the results are ignored.

    Attributes:
        predict: logits of the next word, [B, Q, K], from a state. If K is not static, it must be a
            multiple of `continuations.BLOCK`, and at least k · BLOCK.
        advance: the next state, from what is carried and words, int32 [B, Q].
        carried: the part of a state that the next `advance` reads; the rest is dropped.
        select: the step for some sentences, given their indices, int32 [b]. With it, finished
            sentences leave the batch, which saves time and changes no result.
    """

    predict: Callable[[State], Any]
    advance: Callable[[State, Any], State]
    carried: Callable[[State], State] = lambda state: state
    select: Callable[[Any], SearchStep] | None = None


class Hypotheses(NamedTuple):
    """The hypotheses of each sentence, best first, at least one.

    The first has a score of -inf if none has a finite one. A slot without a hypothesis comes last:
    score and log p are -inf, length is 0.
    """

    tokens: Int[Tensor, "B k T"]  # int32; each ends in eos, then 0
    lengths: Int[Tensor, "B k"]  # int32; tokens, eos included
    log_probs: Float[Tensor, "B k"]  # float32; log p(y|x), nats
    scores: Float[Tensor, "B k"]  # float32; by the scoring rule
    token_log_probs: Float[Tensor, "B k T"]  # float32; log p(y_i|y_<i, x), nats; 0 after eos


class _Beam(NamedTuple):
    """The hypotheses while they grow.

    A slot is finished (length > 0), live (length 0, log p finite) or empty (length 0, log p -inf).
    """

    tokens: Int[Tensor, "B Q t"]  # 0 after eos and in empty slots
    lengths: Int[Tensor, "B Q"]  # tokens, eos included; 0 if not finished
    log_probs: Float[Tensor, "B Q"]
    steps: Float[Tensor, "B Q t"]  # log p up to each token
    kept: Kept  # by the scoring rule


@dataclass(frozen=True)
class _Rules:
    """The options of one search."""

    beam_size: int
    max_lengths: Int[Tensor, "B"]  # at least 1
    min_lengths: Int[Tensor, "B"] | None
    eos_id: int
    banned_ids: tuple[int, ...]
    scoring: ScoringRule
    n_best: int

    def of(self, sentences: Int[Tensor, "b"]) -> _Rules:
        """The options for some sentences of the batch."""
        shortest = self.min_lengths
        return replace(
            self,
            max_lengths=tf.gather(self.max_lengths, sentences),
            min_lengths=None if shortest is None else tf.gather(shortest, sentences),
        )


def beam_search(
    step: SearchStep,
    state: State,  # a nest of tensors [B, 1, ...], which the first word is predicted from
    *,
    beam_size: int,  # k
    max_lengths: Int[Tensor, "B"],  # tokens, eos included; values below 1 count as 1
    min_lengths: Int[Tensor, "B"] | None = None,  # words before eos; `max_lengths` has precedence
    eos_id: int,
    banned_ids: Sequence[int] = (),  # words never chosen; meant to be few
    scoring: ScoringRule = LOG_PROBABILITY,
    n_best: int = 1,  # ranks that must be final
) -> Hypotheses:
    """Search for the hypotheses with the highest score; the module's docstring has the rules.

    The last token of a hypothesis of maximum length is eos, whose log p counts: all hypotheses are
    complete, and their log p is the model's. A sentence stops once its `n_best`-th best finished
    score is at least what a live hypothesis can still reach; later ranks hold what else was
    finished by then. With `n_best` = k, all slots are filled, if there are as many hypotheses.

    Raises:
        ValueError: an option is out of range, or a shape is not as described.

    Examples:
        A Markov chain of three words, 0 being eos. Greedy search would begin with 1, which has 0.6:

        >>> logits = tf.math.log([[0.0, 0.6, 0.4], [0.5, 0.5, 0.0], [0.9, 0.0, 0.1]])
        >>> step = SearchStep(
        ...     predict=lambda last_words: tf.gather(logits, last_words),
        ...     advance=lambda last_words, words: words,
        ... )
        >>> hypotheses = beam_search(
        ...     step, state=tf.zeros([1, 1], tf.int32),
        ...     beam_size=2, max_lengths=tf.constant([4]), eos_id=0,
        ... )
        >>> print(hypotheses.tokens[0, 0].numpy(), f"{tf.exp(hypotheses.log_probs[0, 0]):.2f}")
        [2 0] 0.36
    """
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1, not {beam_size}")
    if not 1 <= n_best <= beam_size:
        raise ValueError(f"n_best must be in 1 .. beam_size = {beam_size}, not {n_best}")
    if eos_id in banned_ids:
        raise ValueError(f"eos_id {eos_id} cannot be banned: no hypothesis would end")
    _check_state("state", state)
    max_lengths = tf.maximum(_lengths("max_lengths", max_lengths), 1)
    if min_lengths is not None:
        min_lengths = _lengths("min_lengths", min_lengths)
    rules = _Rules(beam_size, max_lengths, min_lengths, eos_id, tuple(banned_ids), scoring, n_best)

    # Shapes must not change inside a loop, but the first word turns a sentence's one hypothesis
    # into k: it is added before the loops.
    state, beam = _add_word(step, state, _empty_beam(max_lengths, scoring.start(state)), rules)
    if step.select is None:
        _, beam = _search_until(0.0, step, state, beam, rules)
    else:
        beam = _search_with_shrinking_batch(step.select, state, beam, rules)
    return _rank(beam, rules)


def _search_until(
    part: float, step: SearchStep, state: State, beam: _Beam, rules: _Rules
) -> tuple[State, _Beam]:
    """Search until no more than `part` of the sentences is live."""
    enough = part * tf.cast(tf.shape(beam.lengths)[0], tf.float32)

    def too_many_live(_: State, beam: _Beam) -> tf.Tensor:
        live = tf.reduce_any(_is_live(beam), axis=1)
        return tf.reduce_sum(tf.cast(live, tf.float32)) > enough

    def add_word(state: State, beam: _Beam) -> tuple[State, _Beam]:
        return _add_word(step, step.advance(state, beam.tokens[:, :, -1]), beam, rules)

    shapes = _loop_shapes(state, beam, rules.beam_size)
    return tf.while_loop(too_many_live, add_word, (state, beam), shapes)


def _search_with_shrinking_batch(
    select: Callable[[Any], SearchStep], state: State, beam: _Beam, rules: _Rules
) -> _Beam:
    """Search until no sentence is live; finished ones leave the batch from time to time."""

    def any_live(_: State, beam: _Beam) -> tf.Tensor:
        return tf.reduce_any(_is_live(beam))

    def search_some(state: State, beam: _Beam) -> tuple[State, _Beam]:
        live = tf.where(tf.reduce_any(_is_live(beam), axis=1))  # [b, 1]
        sentences = tf.cast(live[:, 0], tf.int32)
        some_state, some_beam = tf.nest.map_structure(
            lambda x: tf.gather(x, sentences), (state, beam)
        )
        some_rules = rules.of(sentences)
        after = _search_until(_LEAVE_AT, select(sentences), some_state, some_beam, some_rules)
        new_words = tf.shape(after[1].tokens)[2] - tf.shape(beam.tokens)[2]
        missing = [[0, 0], [0, 0], [0, new_words]]
        beam = beam._replace(tokens=tf.pad(beam.tokens, missing), steps=tf.pad(beam.steps, missing))
        return tf.nest.map_structure(
            lambda whole, some: tf.tensor_scatter_nd_update(whole, live, some), (state, beam), after
        )

    shapes = _loop_shapes(state, beam, rules.beam_size)
    _, beam = tf.while_loop(any_live, search_some, (state, beam), shapes)
    return beam


def _add_word(step: SearchStep, state: State, beam: _Beam, rules: _Rules) -> tuple[State, _Beam]:
    """Add a word to the live hypotheses, and return the carried part of their parents' states."""
    logits = step.predict(state)
    _check_logits(logits, rules)
    beam, parents = _extend(tf.cast(logits, tf.float32), beam, rules)
    state = _gather(state, parents)
    beam = beam._replace(kept=_extend_kept(beam, state, rules))
    if rules.beam_size > 1:  # with one slot, a live hypothesis has no rival
        beam = _stop_decided(beam, rules)
    return step.carried(state), beam


def _extend(
    logits: Float[Tensor, "B Q K"], beam: _Beam, rules: _Rules
) -> tuple[_Beam, Int[Tensor, "B k"]]:
    """Fill the k slots: first the finished hypotheses, then the best continuations.

    Returns:
        The new beam, with what the scoring rule kept of the parents, and the slots of the parents.
    """
    step = tf.shape(beam.tokens)[2]
    is_last = tf.expand_dims(step + 1 >= rules.max_lengths, 1)  # [B, 1]
    finished = beam.lengths > 0
    before_eos = beam.log_probs
    if rules.min_lengths is not None:
        too_early = tf.expand_dims(step < rules.min_lengths, 1) & ~is_last  # [B, 1]
        before_eos = tf.where(too_early, -math.inf, before_eos)
    # A finished hypothesis takes a slot before all others, as a continuation by eos.
    log_probs, parents, words = best_continuations(
        logits,
        tf.where(finished | is_last, -math.inf, beam.log_probs),
        tf.where(finished, math.inf, before_eos),
        rules.beam_size,
        rules.eos_id,
        rules.banned_ids,
    )
    is_kept = log_probs == math.inf  # [B, k]
    is_new = tf.math.is_finite(log_probs)
    is_new_end = is_new & (words == rules.eos_id)
    words = tf.where(is_new, words, 0)
    before = _gather(beam, parents)
    log_probs = tf.where(is_kept, before.log_probs, log_probs)
    return (
        _Beam(
            tokens=tf.concat([before.tokens, tf.expand_dims(words, 2)], axis=2),
            lengths=tf.where(is_new_end, step + 1, tf.where(is_kept, before.lengths, 0)),
            log_probs=log_probs,
            steps=tf.concat([before.steps, tf.expand_dims(log_probs, 2)], axis=2),
            kept=before.kept,
        ),
        parents,
    )


def _gather(nest: Any, parents: Int[Tensor, "B k"]) -> Any:
    """The parts of chosen hypotheses, such as parents: [B, Q, ...] to [B, k, ...]."""
    if parents.shape[1] == 1:  # a beam of one: each slot's parent is itself
        return nest
    return tf.nest.map_structure(lambda part: tf.gather(part, parents, batch_dims=1), nest)


def _extend_kept(beam: _Beam, state: State, rules: _Rules) -> Kept:
    """Extend what is kept for live and just finished hypotheses; freeze it for earlier ones."""
    extended = rules.scoring.extend(beam.kept, state, beam.tokens[:, :, -1])
    frozen = (beam.lengths > 0) & (beam.lengths < tf.shape(beam.tokens)[2])  # [B, k]

    def choose(before: tf.Tensor, after: tf.Tensor) -> tf.Tensor:
        shape = tf.concat([tf.shape(frozen), tf.ones([before.shape.rank - 2], tf.int32)], axis=0)
        return tf.where(tf.reshape(frozen, shape), before, after)

    return tf.nest.map_structure(choose, beam.kept, extended)


def _stop_decided(beam: _Beam, rules: _Rules) -> _Beam:
    """Empty the live slots of sentences whose `n_best` ranks can no longer change."""
    to_beat = tf.math.top_k(_scores(beam, rules), rules.n_best).values[:, -1:]  # [B, 1]
    within_reach = rules.scoring.bound(
        beam.log_probs, tf.expand_dims(rules.max_lengths, 1), beam.kept
    )  # [B, k]
    within_reach = tf.cast(within_reach, tf.float32)
    unfinished = beam.lengths == 0  # live or empty
    within_reach = tf.where(unfinished, within_reach, -math.inf)
    decided = tf.reduce_max(within_reach, axis=1, keepdims=True) <= to_beat  # [B, 1]
    return beam._replace(log_probs=tf.where(decided & unfinished, -math.inf, beam.log_probs))


def _rank(beam: _Beam, rules: _Rules) -> Hypotheses:
    """Sort the finished hypotheses by their score and clear the other slots."""
    scores, order = tf.math.top_k(_scores(beam, rules), rules.beam_size)
    beam = _gather(beam, order)
    tokens = tf.where(tf.expand_dims(beam.lengths > 0, 2), beam.tokens, 0)
    # The first slot of a sentence without a finished hypothesis, [B, k].
    is_missing = (beam.lengths == 0) & (tf.range(rules.beam_size) == 0)
    lengths = tf.where(is_missing, 1, beam.lengths)
    is_missing = tf.expand_dims(is_missing, 2)
    positions = tf.range(tf.shape(tokens)[2])  # [T]
    before = tf.pad(beam.steps[:, :, :-1], [[0, 0], [0, 0], [1, 0]])
    own = tf.minimum(beam.steps - before, 0.0)  # rounding may lift the log of a p of 1
    own = tf.where(is_missing, -math.inf, own)
    return Hypotheses(
        tokens=tf.where(is_missing & (positions == 0), rules.eos_id, tokens),
        lengths=lengths,
        log_probs=beam.log_probs,
        scores=scores,
        token_log_probs=tf.where(positions < tf.expand_dims(lengths, 2), own, 0.0),
    )


def _scores(beam: _Beam, rules: _Rules) -> Float[Tensor, "B Q"]:
    """Scores of the finished hypotheses, -inf for the others."""
    scores = rules.scoring.score(beam.log_probs, tf.maximum(beam.lengths, 1), beam.kept)
    scores = tf.cast(scores, tf.float32)
    return tf.where((beam.lengths > 0) & (scores > -math.inf), scores, -math.inf)  # also for NaN


def _is_live(beam: _Beam) -> Bool[Tensor, "B Q"]:
    """Whether a slot holds a hypothesis that is still growing."""
    return (beam.lengths == 0) & (beam.log_probs > -math.inf)


def _empty_beam(max_lengths: Int[Tensor, "B"], kept: Kept) -> _Beam:
    """One hypothesis per sentence, without words: Q = 1, t = 0."""
    _check_state("what a scoring rule keeps", kept)
    batch = tf.shape(max_lengths)[0]
    return _Beam(
        tokens=tf.zeros([batch, 1, 0], tf.int32),
        lengths=tf.zeros([batch, 1], tf.int32),
        log_probs=tf.zeros([batch, 1], tf.float32),
        steps=tf.zeros([batch, 1, 0], tf.float32),
        kept=kept,
    )


def _loop_shapes(state: State, beam: _Beam, k: int) -> tuple[Any, Any]:
    """Shapes of state and beam all through the loop: B may be unknown, and the tokens grow."""

    def shapes(nest: Any) -> Any:
        return tf.nest.map_structure(lambda x: tf.TensorShape([None, k, *x.shape[2:]]), nest)

    grows = tf.TensorShape([None, k, None])
    return shapes(state), shapes(beam)._replace(tokens=grows, steps=grows)


def _check_logits(logits: tf.Tensor, rules: _Rules) -> None:
    if not tf.is_tensor(logits):
        raise ValueError(f"predict must return a TensorFlow tensor, not {type(logits).__name__}")
    if logits.shape.rank != 3:
        raise ValueError(f"predict must return logits [B, Q, K], not {logits.shape}")
    words = logits.shape[-1]
    for name, i in [("eos_id", rules.eos_id), *(("banned id", i) for i in rules.banned_ids)]:
        if i < 0 or (words is not None and i >= words):
            raise ValueError(f"{name} {i} is outside the vocabulary of {words}")


def _lengths(name: str, lengths: Any) -> tf.Tensor:
    lengths = tf.convert_to_tensor(lengths)
    if not lengths.dtype.is_integer:
        raise ValueError(f"{name} must be integers, not {lengths.dtype.name}")
    lengths = tf.cast(lengths, tf.int32)
    if lengths.shape.rank != 1:
        raise ValueError(f"{name} must be [B], one for each sentence, not {lengths.shape}")
    return lengths


def _check_state(name: str, state: State) -> None:
    for part in tf.nest.flatten(state):
        shape = tf.convert_to_tensor(part).shape
        if shape.rank is None or shape.rank < 2 or shape[1] not in (1, None):
            raise ValueError(f"{name} must hold tensors of shape [B, 1, ...], not {shape}")
