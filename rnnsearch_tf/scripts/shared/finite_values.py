"""Results as JSON, in which what is not finite is null."""

import json
import math
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.json_files import finite_or_none
from rnnsearch_tf.results import Hypothesis, Translation

if TYPE_CHECKING:
    import numpy as np  # the client does without

_DIGITS = 6  # of a weight in JSON


def json_line(result: Translation) -> str:
    """Format a JSON object with tokens, scores and α of all hypotheses, in one line.

    What is not finite, or not known, is null.
    """
    return json.dumps(
        {
            "source": result.source,
            "source_tokens": result.source_tokens,
            "unknown": result.unknown,
            "hypotheses": [_hypothesis(hypothesis) for hypothesis in result.hypotheses],
        },
        ensure_ascii=False,
    )


def _hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    weights = hypothesis.alignment
    return {
        "translation": hypothesis.text,
        "score": finite_or_none(hypothesis.score),
        "normalized_score": finite_or_none(hypothesis.normalized_score),
        "target_tokens": hypothesis.tokens,
        "word_scores": [*map(finite_or_none, hypothesis.word_scores)],
        "alignment": None if weights is None else json_weights(weights),
    }


def json_weights(weights: "np.ndarray") -> list[list[float]] | None:
    """Return α with six decimals as lists; None, null in JSON, where a weight is not finite."""
    return weights.astype(float).round(_DIGITS).tolist() if are_finite(weights) else None


def are_finite(weights: "np.ndarray") -> bool:
    """Return whether all weights are finite."""
    return math.isfinite(weights.sum())
