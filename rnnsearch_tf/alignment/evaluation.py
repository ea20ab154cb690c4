"""Ways of linking words compared on gold links: one by one, or all in search of the best."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.alignment.error_rate import AlignmentScores, GoldLinks, alignment_scores
from rnnsearch_tf.alignment.extraction import WEIGHTS, LinkMethod
from rnnsearch_tf.alignment.links import ARGMAX, RULES
from rnnsearch_tf.alignment.symmetrization import SYMMETRIZATIONS

Weights = tuple[np.ndarray, np.ndarray | None]  # α [Ty, Tx] and β [Tx, Ty], if there is one


class MethodScores(NamedTuple):
    """A method and what its links are worth."""

    method: LinkMethod
    scores: AlignmentScores

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rule = self.method.rule
        return {
            "weights": self.method.weights,
            "rule": rule.name,
            "threshold": None if rule.name == ARGMAX else rule.threshold,
            "symmetrize": self.method.symmetrization,
            **self.scores.as_dict(),
        }


def evaluate_methods(
    pairs: Sequence[Weights], gold: Sequence[GoldLinks], methods: Iterable[LinkMethod]
) -> list[MethodScores]:
    """Score several methods on the same soft alignments.

    Args:
        pairs: of each sentence pair.
        gold: its gold links.
        methods: those to be tried.

    Raises:
        ValueError: unequal numbers of sentence pairs.
    """
    return [
        MethodScores(method, alignment_scores((method.links(*pair) for pair in pairs), gold))
        for method in methods
    ]


def best_of(tried: Sequence[MethodScores]) -> MethodScores:
    """The lowest AER; of equal ones the first."""
    return min(tried, key=_error)


def scores_table(found: Sequence[MethodScores]) -> str:
    """A line for each method."""
    width = max(len(str(method)) for method, _ in found)
    lines = [f"{'':{width}}   AER %  precision %  recall %   links"]
    for method, scores in found:
        lines.append(
            f"{method!s:{width}}  {_percent(scores.aer):>6}  {_percent(scores.precision):>11}"
            f"  {_percent(scores.recall):>8}  {scores.links:6,}"
        )
    scores = found[0].scores
    lines.append(f"{scores.sentences:,} sentence pairs, {scores.sure:,} sure links")
    return "\n".join([*lines, ""])


def tuning_table(tried: Sequence[MethodScores]) -> str:
    """AER by rule and symmetrisation (down) and weights (across), each with its best threshold."""
    columns = [w for w in WEIGHTS if any(found.method.weights == w for found in tried)]
    lines = ["AER %, with the best threshold", f"{'':30}" + "".join(f"{w:>14}" for w in columns)]
    for rule in RULES:
        for how in (None, *SYMMETRIZATIONS):
            cells = [_cell(tried, rule, how, weights) for weights in columns]
            if any(cells):
                name = ", ".join(filter(None, (rule, how)))
                lines.append(f"{name:30}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join([*lines, ""])


def _cell(tried: Sequence[MethodScores], rule: str, how: str | None, weights: str) -> str:
    chosen = [
        found
        for found in tried
        if (found.method.rule.name, found.method.symmetrization, found.method.weights)
        == (rule, how, weights)
    ]
    if not chosen:
        return ""
    method, scores = best_of(chosen)
    threshold = "" if rule == ARGMAX else f" ({method.rule.threshold:.2f})"
    return _percent(scores.aer) + threshold


def _error(found: MethodScores) -> float:
    return np.inf if found.scores.aer is None else found.scores.aer


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f}"
