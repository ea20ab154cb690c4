"""Beam search with a model: source ids to hypotheses."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.decoding.beam_search import Hypotheses, SearchStep, beam_search
from rnnsearch_tf.decoding.prefix import PrefixConstraint, constrained, restore_forced, start
from rnnsearch_tf.decoding.scoring import LengthNormalization
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import Candidates
from rnnsearch_tf.tensor_types import Int, Tensor
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK


def search(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "B Tx"],  # ids, each sentence ending in `</s>`, then padding 0
    options: DecodingConfig,
    n_best: int = 1,  # hypotheses that must be the best there are
    candidates: Candidates | None = None,  # the words to choose from, special tokens first
    constraint: PrefixConstraint | None = None,  # its words are among the candidates
    # Maximum tokens and minimum words of each translation, as in `beam_search`; by default those
    # of the options.
    bounds: tuple[Int[Tensor, "B"], Int[Tensor, "B"] | None] | None = None,
    weights: Any = None,  # from the model's `step_weights`; by default computed here
) -> Hypotheses:
    """Search for the best translations, best first.

    If there are candidates, p is over those of each sentence. Hypotheses after the first `n_best`
    are those that happen to be finished, not the next best. The maximum length is raised if a
    prefix needs it.
    """
    max_lengths, min_lengths = bounds or _bounds(source, options)
    if constraint is not None:
        max_lengths = tf.maximum(max_lengths, constraint.prefix.max_tokens())
    if weights is None:
        weights = model.step_weights(options.bfloat16, all_words=candidates is None)
    bound = model.bind(source, candidates, weights)
    words = None if candidates is None else candidates.words
    step = _search_step(bound, bound.memory, words)
    state = tf.nest.map_structure(lambda x: tf.expand_dims(x, 1), bound.start())
    if constraint is not None:
        constraint = constraint.among(words)
        step = constrained(step, constraint.prefix, constraint.spelling)
        state = start(state, constraint.prefix)
    hypotheses = beam_search(
        step,
        state,
        beam_size=options.beam_size,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        eos_id=EOS,
        banned_ids=(PAD,) if options.allow_unknown else (PAD, UNK),
        scoring=LengthNormalization(options.length_penalty),
        n_best=n_best,
    )
    tokens = hypotheses.tokens
    if constraint is not None:
        tokens = restore_forced(tokens, constraint.prefix)
    return hypotheses._replace(tokens=_ids(words, tokens))


def _search_step(bound: Any, memory: Any, words: tf.Tensor | None) -> SearchStep:
    """The step of a bound model, for the sentences of its memory or some of them."""

    def select(sentences: tf.Tensor) -> SearchStep:
        own = tf.nest.map_structure(lambda x: tf.gather(x, sentences), memory)
        return _search_step(bound, own, words)

    return SearchStep(
        predict=functools.partial(bound.predict_token, memory=memory),
        advance=lambda state, chosen: bound.advance(state, _ids(words, chosen), memory),
        carried=bound.carried,
        select=select,
    )


def _ids(words: tf.Tensor | None, indices: tf.Tensor) -> tf.Tensor:
    """The ids of words by their indices among the predicted ones."""
    return indices if words is None else tf.gather(words, indices)


def _bounds(
    source: Int[Tensor, "B Tx"], options: DecodingConfig
) -> tuple[Int[Tensor, "B"], Int[Tensor, "B"] | None]:
    """The most tokens of each translation, its `</s>` counted, and the fewest words before it."""
    lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
    longest = tf.minimum(_scaled(lengths, options.max_length_ratio), options.max_length + 1)
    shortest = options.min_length_ratio
    return longest, _scaled(lengths, shortest) if shortest else None


def _scaled(lengths: Int[Tensor, "B"], ratio: float) -> Int[Tensor, "B"]:
    # A product such as 0.28 · 25 is a little above 7, also in float64.
    return tf.cast(tf.math.ceil(tf.cast(lengths, tf.float64) * ratio - 1e-6), tf.int32)
