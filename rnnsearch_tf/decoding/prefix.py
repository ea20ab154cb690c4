"""Search among the translations that begin with given words.

`constrained` wraps the step of a search. The wrapped step predicts only the words that may follow.
The probability of all other words goes to padding, which is never chosen, so log p is still the
model's.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.decoding.beam_search import SearchStep
from rnnsearch_tf.tensor_types import Bool, Float, Int, Shaped, Tensor
from rnnsearch_tf.text.vocabulary import PAD, SPECIAL_TOKENS

# The search chooses this word in place of a forced one, which may be banned, as [UNK] is.
_STAND_IN = len(SPECIAL_TOKENS)


class Spelling(NamedTuple):
    """Written form of the words that are predicted, or of the pieces of words."""

    texts: Shaped[Tensor, "K"]  # string; that of a special token matches no text
    begins_word: Bool[Tensor, "K"]  # whether it can follow a whole word
    are_parts: bool  # whether several make a word


class Prefix(NamedTuple):
    """The prefixes of B translations, in the words that are predicted."""

    forced: Int[Tensor, "B P"]  # the first words, int32, then 0
    partial_word: Shaped[Tensor, "B"]  # string; what follows begins with it; "" for none
    needs_new_word: Bool[Tensor, "B"]  # whether a new word must begin after `forced`

    def lengths(self) -> Int[Tensor, "B"]:
        """The number of forced words."""
        return tf.math.count_nonzero(self.forced, axis=1, dtype=tf.int32)

    def max_tokens(self) -> Int[Tensor, "B"]:
        """The most tokens that the prefix can take, eos included; each has at least one byte."""
        return self.lengths() + tf.strings.length(self.partial_word) + 1


class PrefixConstraint(NamedTuple):
    """The prefixes of translations, and the written form of words."""

    prefix: Prefix
    spelling: Spelling

    def among(self, words: Int[Tensor, "C"] | None) -> PrefixConstraint:
        """The same with indices into `words`, special tokens first; None: into all words."""
        if words is None:
            return self
        texts, begins_word, are_parts = self.spelling
        indices = tf.scatter_nd(words[:, tf.newaxis], tf.range(tf.size(words)), tf.shape(texts))
        forced = tf.where(self.prefix.forced > 0, tf.gather(indices, self.prefix.forced), 0)
        return PrefixConstraint(
            self.prefix._replace(forced=forced),
            Spelling(tf.gather(texts, words), tf.gather(begins_word, words), are_parts),
        )


class _Progress(NamedTuple):
    """A state of the model, and what is left of the prefix."""

    model_state: Any
    count: Int[Tensor, "B Q"]  # words so far
    rest: Shaped[Tensor, "B Q"]


def start(state: Any, prefix: Prefix) -> _Progress:
    """Return the state [B, 1, ...] before the first word."""
    count = tf.zeros([tf.shape(prefix.forced)[0], 1], tf.int32)
    return _Progress(state, count, prefix.partial_word[:, tf.newaxis])


def constrained(step: SearchStep, prefix: Prefix, spelling: Spelling) -> SearchStep:
    """Return the step with `_Progress` states in place of the model's."""
    lengths = prefix.lengths()[:, tf.newaxis]
    forced_words = tf.pad(prefix.forced, [[0, 0], [0, 1]])

    def forced(count: tf.Tensor) -> tf.Tensor:
        """The words that must follow, [B, Q], 0 where the choice is free."""
        return tf.gather(forced_words, tf.minimum(count, lengths), batch_dims=1)

    def predict(state: _Progress) -> tf.Tensor:
        logits = tf.cast(step.predict(state.model_state), tf.float32)
        word = forced(state.count)
        is_next = (state.count == lengths) & prefix.needs_new_word[:, tf.newaxis]
        free = (word == 0) & tf.equal(state.rest, "") & ~is_next

        def let_through() -> tf.Tensor:
            unfinished = tf.where(word > 0, "", state.rest)
            allowed = tf.cond(
                tf.reduce_all(tf.equal(unfinished, "")),
                lambda: tf.fill(tf.shape(logits), True),
                lambda: fits(unfinished, spelling),
            )
            allowed &= spelling.begins_word | ~is_next[:, :, tf.newaxis]
            return _restricted(logits, allowed, word)

        return tf.cond(tf.reduce_all(free), lambda: logits, let_through)

    def advance(state: _Progress, words: tf.Tensor) -> _Progress:
        word = forced(state.count)
        is_forced = word > 0
        spelled = tf.strings.length(tf.gather(spelling.texts, words))
        length = tf.strings.length(state.rest)
        read = tf.where(is_forced, 0, tf.minimum(spelled, length))
        return _Progress(
            step.advance(state.model_state, tf.where(is_forced, word, words)),
            state.count + 1,
            tf.strings.substr(state.rest, read, length - read),
        )

    def carried(state: _Progress) -> _Progress:
        return state._replace(model_state=step.carried(state.model_state))

    def select(sentences: tf.Tensor) -> SearchStep:
        own = tf.nest.map_structure(lambda x: tf.gather(x, sentences), prefix)
        return constrained(some(sentences), own, spelling)

    some = step.select or (lambda sentences: step)
    return SearchStep(predict, advance, carried, step.select and select)


def _restricted(
    logits: Float[Tensor, "B Q K"], allowed: Bool[Tensor, "B Q K"], word: Int[Tensor, "B Q"]
) -> Float[Tensor, "B Q K"]:
    """Keep the logits of the allowed words; move that of a forced word to `_STAND_IN`."""
    columns = tf.range(tf.shape(logits)[2])
    is_forced = (word > 0)[:, :, tf.newaxis]
    allowed = tf.where(is_forced, columns == word[:, :, tf.newaxis], allowed & (columns != PAD))
    others = tf.reduce_logsumexp(tf.where(allowed, -math.inf, logits), axis=2)
    own = tf.gather(logits, word, batch_dims=2)[:, :, tf.newaxis]
    kept = tf.where(allowed, logits, -math.inf)
    kept = tf.where(is_forced, tf.where(columns == _STAND_IN, own, -math.inf), kept)
    return tf.where(columns == PAD, others[:, :, tf.newaxis], kept)


def restore_forced(tokens: Int[Tensor, "B k T"], prefix: Prefix) -> Int[Tensor, "B k T"]:
    """Put the forced words back into the tokens of hypotheses, in place of the stand-in."""
    missing = tf.maximum(tf.shape(tokens)[2] - tf.shape(prefix.forced)[1], 0)
    forced = tf.pad(prefix.forced, [[0, 0], [0, missing]])[:, tf.newaxis, : tf.shape(tokens)[2]]
    return tf.where((forced > 0) & (tokens == _STAND_IN), forced, tokens)


def fits(rest: Shaped[Tensor, "B Q"], spelling: Spelling) -> Bool[Tensor, "B Q K"]:
    """Whether a word begins with the rest or, if words are subwords, the rest begins with it."""
    # What goes beyond the longest word decides nothing, and is not repeated K times.
    longest = tf.reduce_max(tf.strings.length(spelling.texts)) + 1
    lengths = tf.strings.length(rest)
    rest = tf.strings.substr(rest, 0 * lengths, tf.minimum(lengths, longest))
    rests = tf.tile(rest[:, :, tf.newaxis], [1, 1, tf.size(spelling.texts)])
    texts = tf.tile(spelling.texts[tf.newaxis, tf.newaxis], [*tf.unstack(tf.shape(rest)), 1])
    shorter = tf.minimum(tf.strings.length(texts), tf.strings.length(rests))
    begin = (tf.strings.substr(strings, 0 * shorter, shorter) for strings in (texts, rests))
    is_fitting = tf.equal(*begin)
    return is_fitting if spelling.are_parts else is_fitting & (shorter == tf.strings.length(rests))
