"""Significance of the difference between two systems: paired bootstrap resampling.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation": 1,000 test sets
of as many sentences are drawn from the test set with replacement, the same for both systems. With d
the difference of their scores on the test set and d_k that on the k-th drawn,

    p = (1 + #{k : |d_k − d| ≥ |d|}) / (1 + 1,000)

The spread of d_k about d stands for that of d if the systems were equally good, in both directions
(Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 16). sacreBLEU's `--paired-bs`
compares |d_k| − mean |d_k| with |d| instead: its p is about half of this one. Where the scores are
equal, p is 1; of fewer than 10 sentences there is none.
"""

import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sacrebleu.significance import _bootstrap_resample, estimate_ci

from rnnsearch_tf.evaluation import metrics
from rnnsearch_tf.evaluation.length_bins import LengthBin, length_bins
from rnnsearch_tf.evaluation.metrics import Metric, Reference
from rnnsearch_tf.json_files import plain

_ROUNDING = 1e-4  # of the scores of draws: sacreBLEU computes them from float32


class Difference(NamedTuple):
    """Scores of two systems by one metric."""

    score: float
    other: float
    other_interval: float | None  # half of its 95% confidence interval
    low: float | None  # the 95% confidence interval of score − other
    high: float | None
    p_value: float | None
    signature: str  # sacreBLEU's, with samples and seed


class Comparison(NamedTuple):
    """Comparison with another system."""

    other: str
    differences: dict[str, Difference]  # on the whole test set, by the names in `METRICS`
    by_length: list[LengthBin]  # of the other system, with p-values

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        method = f"paired bootstrap resampling (Koehn 2004), two-sided, {metrics.SAMPLES} samples"
        first = {"other": self.other, "method": method}
        return plain({**first, **self.differences, "by_length": self.by_length})


def compare(
    other: str,
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[Reference],
    lengths: Sequence[int],
) -> Comparison:
    """Compare two systems by every metric of detokenized text, and by source length in words.

    Errors as in `metrics.sides`.
    """
    references, translations, others, lengths = metrics.sides(
        references=references, translations=translations, others=others, lengths=lengths
    )
    differences = {
        name: difference(metric, translations, others, references)
        for name, metric in metrics.text_metrics().items()
    }
    by_length = []
    for (low, high), rows in length_bins(lengths).items():
        bleu = difference(metrics.METRICS["bleu"], translations, others, references, rows)
        scores = bleu.other, bleu.other_interval, bleu.p_value
        by_length.append(LengthBin(low, high, len(rows), *scores))
    return Comparison(other, differences, by_length)


def difference(
    metric: Metric,
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[Reference],
    rows: Sequence[int] | None = None,
) -> Difference:
    """Compare two systems by one metric, on all sentences or on those of some rows.

    Errors as in `metrics.sides`.
    """
    references, translations, others = metrics.sides(
        references=references, translations=translations, others=others
    )
    metric_object = metric.new(metrics.language_tokens(references))
    if rows is not None:
        translations, others = ([side[i] for i in rows] for side in (translations, others))
        references = [references[i] for i in rows]
    sets = metrics.reference_sets(references)
    sides = [metric_object._extract_corpus_statistics(s, sets) for s in (translations, others)]
    score, other = (metric_object._aggregate_and_compute(side).score for side in sides)
    if len(references) < metrics.MIN_TO_RESAMPLE:
        signature = str(metric_object.get_signature())
        return Difference(score, other, None, None, None, None, signature)
    ours, theirs = _drawn(metric_object, *sides)
    d, d_k = score - other, ours - theirs
    low, high = np.percentile(d_k, [2.5, 97.5])
    return Difference(
        score,
        other,
        float(estimate_ci(theirs)[1]) if theirs.any() else None,  # as `Metric.score` has it
        float(low),
        float(high),
        (1 + int(np.sum(abs(d_k - d) >= abs(d) - _ROUNDING))) / (1 + metrics.SAMPLES),
        str(metric_object.get_signature()),
    )


def _drawn(metric: Any, ours: list[Any], theirs: list[Any]) -> np.ndarray:
    """Score both systems on the N drawn test sets, [2, N]; the signature gets N."""
    both = [[*one, *other] for one, other in zip(ours, theirs, strict=True)]

    def compute(statistics: np.ndarray) -> list[float]:
        return [metric._compute_score_from_stats(side).score for side in np.split(statistics, 2)]

    pair = types.SimpleNamespace(_compute_score_from_stats=compute)
    metric.n_bootstrap = metrics.SAMPLES
    metric.seed, scores = _bootstrap_resample(both, pair, metrics.SAMPLES)
    return np.array(scores).T
