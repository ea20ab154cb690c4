"""Whether two systems differ by more than chance: paired bootstrap resampling.

Koehn (2004), "Statistical Significance Tests for Machine Translation Evaluation", as sacreBLEU
computes it: 1,000 test sets of as many sentences are drawn from the test set with replacement, the
same for both systems. With d the difference of their scores on the test set and d_k that on the
k-th drawn,

    p = (1 + #{k : |d_k| − mean |d_k| > |d|}) / (1 + 1,000)

Where the translations are the same, p is 1 (sacreBLEU's formula would give its least value there),
and of fewer than 10 sentences there is none.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.significance import PairedTest

from rnnsearch_tf.evaluation.metrics import (
    LEAST_TO_RESAMPLE,
    SAMPLES,
    LengthBin,
    bleu_by_length,
    length_bins,
    metrics,
)


class Difference(NamedTuple):
    """What a metric says of two systems."""

    score: float
    other: float
    p_value: float | None
    signature: str  # sacreBLEU's, with samples and seed


class Comparison(NamedTuple):
    """All that is said of two systems.

    Attributes:
        other: what the other system is.
        bleu: of the whole test set, as chrf and ter.
        by_length: the other system's bins, with p-values.
    """

    other: str
    bleu: Difference
    chrf: Difference
    ter: Difference
    by_length: list[LengthBin]

    def differences(self) -> dict[str, Difference]:
        """Of the whole test set, by metric."""
        return {name: getattr(self, name) for name in metrics()}

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "other": self.other,
            "method": f"paired bootstrap resampling (Koehn 2004), {SAMPLES} samples",
            **{name: found._asdict() for name, found in self.differences().items()},
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
        }


def compare(
    other: str,
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
) -> Comparison:
    """Compare two systems on a test set.

    Args:
        other: what the other system is.
        translations: detokenised text.
        others: the other system's.
        references: likewise.
        lengths: tokens of each source sentence, without `</s>`.
    """
    differences = _differences(translations, others, references, list(metrics()))
    by_length = []
    bins = bleu_by_length(others, references, lengths, intervals=True)
    for length_bin, chosen in zip(bins, length_bins(lengths).values(), strict=True):
        ours, theirs, right = (
            [side[i] for i in chosen] for side in (translations, others, references)
        )
        p_value = _differences(ours, theirs, right, ["bleu"])["bleu"].p_value
        by_length.append(length_bin._replace(p_value=p_value))
    return Comparison(other, by_length=by_length, **differences)


def _differences(
    translations: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    names: Sequence[str],
) -> dict[str, Difference]:
    """By metric."""
    chosen = {name: metric for name, metric in metrics().items() if name in names}
    systems = [("this", list(translations)), ("other", list(others))]
    test = PairedTest(systems, chosen, [list(references)], "bs", SAMPLES)
    signatures, results = test()
    found = {}
    for name, (title, signature) in zip(chosen, signatures.items(), strict=True):
        this, other = results[title]
        p_value = 1.0 if list(translations) == list(others) else other.p_value
        if len(references) < LEAST_TO_RESAMPLE:
            p_value = None
        found[name] = Difference(this.score, other.score, p_value, str(signature))
    return found
