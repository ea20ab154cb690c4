"""Comparison of methods of linking words on gold links."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.alignment.error_rate import AlignmentScores, GoldLinks, alignment_scores
from rnnsearch_tf.alignment.extraction import WEIGHTS, LinkMethod
from rnnsearch_tf.alignment.links import RULES
from rnnsearch_tf.alignment.symmetrization import SYMMETRIZATIONS

Weights = tuple[np.ndarray, np.ndarray | None]  # α [Ty, Tx] and perhaps β [Tx, Ty]


class MethodScores(NamedTuple):
    """Method with the scores of its links."""

    method: LinkMethod
    scores: AlignmentScores

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        rule = self.method.rule
        return {
            "weights": self.method.weights,
            "rule": rule.name,
            "threshold": None if rule.name == "argmax" else rule.threshold,
            "symmetrize": self.method.symmetrization,
            **self.scores.as_dict(),
        }


def evaluate_methods(
    pairs: Sequence[Weights], gold: Sequence[GoldLinks], methods: Iterable[LinkMethod]
) -> list[MethodScores]:
    """Score several methods on the same soft alignments, in their order."""
    return [
        MethodScores(method, alignment_scores((method.links(*pair) for pair in pairs), gold))
        for method in methods
    ]


def best_of(tried: Sequence[MethodScores]) -> MethodScores:
    """Return the method with the lowest AER; of equal ones the first."""
    return min(tried, key=lambda one: np.inf if one.scores.aer is None else one.scores.aer)


def scores_table(tried: Sequence[MethodScores]) -> str:
    """Return a table with a line for each method."""
    width = max(len(str(method)) for method, _ in tried)
    lines = [f"{'':{width}}  AER %  precision  recall   links"]
    for method, scores in tried:
        lines.append(
            f"{method!s:{width}}  {_percent(scores.aer):>5}  {_percent(scores.precision):>9}"
            f"  {_percent(scores.recall):>6}  {scores.links:6,}"
        )
    scores = tried[0].scores
    lines.append(f"{scores.sentences:,} sentence pairs, {scores.sure:,} sure links")
    return "\n".join([*lines, ""])


def tuning_table(tried: Sequence[MethodScores]) -> str:
    """Return a table of AER by rule and symmetrization (rows) and weights (columns).

    A cell has the AER of the best threshold.
    """
    by_cell: dict[tuple[str, str | None, str], list[MethodScores]] = {}
    for one in tried:
        cell = one.method.rule.name, one.method.symmetrization, one.method.weights
        by_cell.setdefault(cell, []).append(one)
    columns = [w for w in WEIGHTS if any(one.method.weights == w for one in tried)]
    lines = ["AER %, with the best threshold", f"{'':30}" + "".join(f"{w:>12}" for w in columns)]
    for rule in RULES:
        for symmetrization in (None, *SYMMETRIZATIONS):
            cells = [_cell(by_cell.get((rule, symmetrization, w), [])) for w in columns]
            if any(cells):
                name = ", ".join(filter(None, (rule, symmetrization)))
                lines.append(f"{name:30}" + "".join(f"{cell:>12}" for cell in cells))
    return "\n".join([*lines, ""])


def _cell(tried: Sequence[MethodScores]) -> str:
    if not tried:
        return ""
    method, scores = best_of(tried)
    threshold = "" if method.rule.name == "argmax" else f" ({method.rule.threshold:.2f})"
    return _percent(scores.aer) + threshold


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f}"
