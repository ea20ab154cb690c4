"""Significance of the difference between two systems: paired bootstrap resampling.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", as sacreBLEU
computes it: 1,000 test sets of as many sentences are drawn from the test set with replacement, the
same for both systems. With d the difference of their scores on the test set and d_k that on the
k-th drawn,

    p = (1 + #{k : |d_k| − mean |d_k| > |d|}) / (1 + 1,000)

Where the translations are the same, p is 1 (sacreBLEU's formula would give its minimum there), and
of fewer than 10 sentences there is none.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.significance import PairedTest

from rnnsearch_tf.evaluation import metrics
from rnnsearch_tf.evaluation.length_bins import LengthBin, length_bins
from rnnsearch_tf.evaluation.metrics import Metric, Reference
from rnnsearch_tf.json_files import plain


class Difference(NamedTuple):
    """Scores of two systems by one metric."""

    score: float
    other: float
    other_interval: float | None  # half of its 95% confidence interval
    p_value: float | None
    signature: str  # sacreBLEU's, with samples and seed


class Comparison(NamedTuple):
    """Comparison with another system."""

    other: str
    differences: dict[str, Difference]  # on the whole test set, by the names in `METRICS`
    by_length: list[LengthBin]  # of the other system, with p-values

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        method = f"paired bootstrap resampling (Koehn 2004), {metrics.SAMPLES} samples"
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
    systems = [("this", translations), ("other", others)]
    sets = metrics.reference_sets(references)
    test = PairedTest(systems, {"": metric_object}, sets, "bs", metrics.SAMPLES)
    signatures, results = test()
    [(title, signature)] = signatures.items()
    ours, theirs = results[title]
    if len(references) < metrics.MIN_TO_RESAMPLE:
        return Difference(ours.score, theirs.score, None, None, str(signature))
    # sacreBLEU counts differences above this one's, and so none where all of them are 0.
    p_value = theirs.p_value if theirs.score != ours.score else 1.0
    interval = float(theirs.ci) if theirs.mean else None  # as `Metric.score` has it
    return Difference(ours.score, theirs.score, interval, p_value, str(signature))
