"""Scores of methods of linking words, and a table of them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rnnsearch_tf.alignment.error_rate import AlignmentScores
from rnnsearch_tf.alignment.extraction import LinkMethod


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
            "threshold": rule.threshold,
            "symmetrize": self.method.symmetrization,
            **self.scores.as_dict(),
        }


def scores_table(tried: Sequence[MethodScores]) -> str:
    """Return a table with a line for each method."""
    width = max(len(str(method)) for method, _ in tried)
    lines = [f"{'':{width}}        AER %  precision  recall  links"]
    for method, scores in tried:
        interval = scores.aer_interval
        error = _percent(scores.aer) + ("" if interval is None else f" ± {100 * interval:.1f}")
        lines.append(
            f"{method!s:{width}}  {error:>11}  {_percent(scores.precision):>9}"
            f"  {_percent(scores.recall):>6} {scores.links:6,}"
        )
    scores = tried[0].scores
    lines.append(f"{scores.sentences:,} sentence pairs, {scores.sure:,} sure links")
    return "\n".join([*lines, ""])


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f}"
