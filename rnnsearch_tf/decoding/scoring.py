"""Scoring rules, which rank the finished hypotheses of a beam search.

At each step the search keeps the most probable continuations; a rule ranks complete translations
and says when a sentence is decided. It may keep tensors along each hypothesis (a coverage penalty
keeps the sum of its alignments), which the search carries from step to step.
"""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow as tf

from rnnsearch_tf.tensor_types import Float, Int, Tensor

State = Any  # a nest of tensors [B, Q, ...]
Kept = Any  # a nest of tensors [B, Q, ...]; empty if a rule needs log p and the length only


class ScoringRule(Protocol):
    """A score of finished hypotheses; a rule that keeps nothing needs only `score` and `bound`."""

    def start(self, state: State) -> Kept:
        """Return what hypotheses without words keep, from the search's first state: Q = 1."""
        return ()

    def extend(self, kept: Kept, state: State, words: Int[Tensor, "B k"]) -> Kept:
        """Return what hypotheses keep after another word, in shapes that stay the same.

        The word was predicted from the state. The state of a model has its `alignment` [B, k, Tx],
        which is 0 at padding. The state of an ensemble is a tuple of its models' states. In a
        search with prefixes, `model_state` holds this state. What finished hypotheses keep is
        frozen: the search ignores the result for them. Sentences leave the batch during the search:
        what a rule knows of each, such as its mask, must be in what it keeps.
        """
        return ()

    @abc.abstractmethod
    def score(
        self, log_probs: Float[Tensor, "B Q"], lengths: Int[Tensor, "B Q"], kept: Kept
    ) -> Float[Tensor, "B Q"]:
        """Return the scores of finished hypotheses; `lengths` in tokens; higher is better."""

    @abc.abstractmethod
    def bound(
        self, log_probs: Float[Tensor, "B Q"], max_lengths: Int[Tensor, "B 1"], kept: Kept
    ) -> Float[Tensor, "B Q"]:
        """Return upper bounds of the scores that live hypotheses can still reach.

        Further words can only lower log p. `max_lengths` are the lengths that hypotheses can still
        reach, in tokens, eos included.
        """


@dataclass(frozen=True)
class LengthNormalization(ScoringRule):
    """score(y) = log p(y|x) / |y|^exponent, in nats.

    Args:
        exponent: 0 for log p, 1 for its mean per token; `DecodingConfig.length_penalty`.

    Raises:
        ValueError: the exponent is negative or not finite.
    """

    exponent: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.exponent < math.inf:
            raise ValueError(
                f"the length penalty must be at least 0 and finite, not {self.exponent}"
            )

    def score(
        self, log_probs: Float[Tensor, "B Q"], lengths: Int[Tensor, "B Q"], kept: Kept
    ) -> Float[Tensor, "B Q"]:
        """Divide log p by |y|^exponent."""
        return log_probs / tf.cast(lengths, tf.float32) ** self.exponent

    def bound(
        self, log_probs: Float[Tensor, "B Q"], max_lengths: Int[Tensor, "B 1"], kept: Kept
    ) -> Float[Tensor, "B Q"]:
        """Divide log p, which can only fall, by the greatest divisor."""
        return log_probs / tf.cast(max_lengths, tf.float32) ** self.exponent


LOG_PROBABILITY = LengthNormalization(0.0)
