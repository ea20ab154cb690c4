"""Translations as lines of text, in the formats that other tools read."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.results import Hypothesis, Translation

SEPARATOR = " ||| "
_DIGITS = 6  # of a weight in JSON


def plain_lines(
    found: Translation, number: int, *, n_best: int, with_score: bool, with_links: bool
) -> Iterator[str]:
    """One line, or Moses' n-best list: `NUMBER ||| TEXT ||| SCORE ||| NORMALIZED SCORE`.

    Args:
        found: a sentence.
        number: of its line, from 0.
        n_best: whether it is a list, when above 1.
        with_score: whether log p, nats, comes after the one text.
        with_links: whether the links of the hard alignment, Pharaoh's `i-j`, come last.
    """
    for hypothesis in found.hypotheses:
        fields = [hypothesis.text]
        if n_best > 1:
            scores = f"{hypothesis.score:.4f}", f"{hypothesis.normalized_score:.4f}"
            fields = [str(number), *fields, *scores]
        elif with_score:
            fields.append(f"{hypothesis.score:.4f}")
        if with_links:
            fields.append(pharaoh(LinkRule().links(_weights(hypothesis))))
        yield SEPARATOR.join(fields)


def json_line(found: Translation) -> str:
    """One JSON object with all that is known; text holds no line end."""
    return json.dumps(
        {
            "source": found.source,
            "source_tokens": found.source_tokens,
            "hypotheses": [_hypothesis(hypothesis) for hypothesis in found.hypotheses],
        },
        ensure_ascii=False,
    )


def _hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    return {
        "translation": hypothesis.text,
        "score": hypothesis.score,
        "normalized_score": hypothesis.normalized_score,
        "target_tokens": hypothesis.tokens,
        "alignment": _weights(hypothesis).astype(float).round(_DIGITS).tolist(),
    }


def _weights(hypothesis: Hypothesis) -> np.ndarray:
    assert hypothesis.alignment is not None  # it was asked for
    return hypothesis.alignment
