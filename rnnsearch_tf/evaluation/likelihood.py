"""Negative log-likelihood of given sentence pairs (Table 2 of the paper)."""

import math
from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.sentence_pairs import Pairs

_MAX_EXPONENT = 700.0  # e^x is finite in float64 up to about 709


class Nll(NamedTuple):
    """Mean of −log p(y|x), `</s>` counted."""

    per_token: float  # nats
    per_sentence: float  # nats

    @property
    def perplexity(self) -> float:
        """Perplexity per token, e^(nats per token)."""
        return perplexity(self.per_token)


def perplexity(nats_per_token: float) -> float:
    """Return e^(nats per token); infinity where that overflows."""
    return math.inf if nats_per_token > _MAX_EXPONENT else math.exp(nats_per_token)


def nll(token_losses: Callable[..., tf.Tensor], pairs: Pairs, batch_size: int = 80) -> Nll:
    """Compute −log p of given pairs by teacher forcing, without dropout.

    `token_losses` is a model's method of this name, as it is or as a `tf.function`.
    """
    total, tokens = 0.0, 0
    for batch in ordered_batches(pairs, batch_size, "scored batch"):
        losses = token_losses(batch["source"], batch["target"])
        total += float(tf.reduce_sum(losses))
        tokens += int(tf.size(losses))
    return Nll(total / tokens, total / len(pairs))
