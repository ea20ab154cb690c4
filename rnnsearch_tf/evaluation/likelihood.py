"""Negative log-likelihood of given sentence pairs (Table 2 of the paper)."""

import math
from typing import NamedTuple

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
    """Return e^(nats per token); infinity if that overflows."""
    return math.inf if nats_per_token > _MAX_EXPONENT else math.exp(nats_per_token)
