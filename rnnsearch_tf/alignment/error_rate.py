"""Alignment error rate, precision and recall on gold links (Och & Ney 2003)."""

import dataclasses
import functools
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

# As in `evaluation.metrics`, which would load sacreBLEU; the seed is sacreBLEU's.
_MIN_TO_RESAMPLE, _SAMPLES, _SEED = 10, 1_000, 12345

_Pairs = Collection[tuple[int, int]]


class GoldLinks(NamedTuple):
    """Annotators' links of a sentence pair: (source, target) positions of words, 0-based."""

    sure: _Pairs
    possible: _Pairs = ()  # those that are not sure; sure links count as possible too


@dataclasses.dataclass(frozen=True)
class AlignmentScores:
    """Scores of predicted links A, with gold links S (sure) and P (sure and possible).

    The counts are sums over all sentences. A ratio over 0 is None: precision without a predicted
    link, recall without a sure one, and the error rate without either.
    """

    sentences: int
    links: int  # |A|
    sure: int  # |S|
    links_in_sure: int  # |A ∩ S|
    links_in_possible: int  # |A ∩ P|
    # Those four of each sentence, int64 [N, 4].
    by_sentence: np.ndarray | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def aer(self) -> float | None:
        """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), 0 to 1."""
        agreed = _ratio(self.links_in_sure + self.links_in_possible, self.links + self.sure)
        return None if agreed is None else 1 - agreed

    @functools.cached_property
    def aer_interval(self) -> float | None:
        """Half of the 95% confidence interval of the AER, by bootstrap resampling of sentences.

        None without an AER, and of fewer than 10 sentences.
        """
        if self.by_sentence is None or self.sentences < _MIN_TO_RESAMPLE or self.aer is None:
            return None
        draws = np.random.default_rng(_SEED)
        rows = (draws.integers(self.sentences, size=self.sentences) for _ in range(_SAMPLES))
        sums = np.stack([self.by_sentence[chosen].sum(axis=0) for chosen in rows])
        agreed = (sums[:, 2] + sums[:, 3]) / np.maximum(sums[:, 0] + sums[:, 1], 1)
        low, high = np.percentile(agreed, [2.5, 97.5])
        return float(high - low) / 2

    @property
    def precision(self) -> float | None:
        """|A ∩ P| / |A|, 0 to 1."""
        return _ratio(self.links_in_possible, self.links)

    @property
    def recall(self) -> float | None:
        """|A ∩ S| / |S|, 0 to 1."""
        return _ratio(self.links_in_sure, self.sure)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        names = "aer", "aer_interval", "precision", "recall"
        counts = "sentences", "links", "sure", "links_in_sure", "links_in_possible"
        return {name: getattr(self, name) for name in (*names, *counts)}


def alignment_scores(links: Iterable[_Pairs], gold: Iterable[GoldLinks]) -> AlignmentScores:
    """Compare predicted with gold links over a corpus: counts are summed, then divided.

    TypeError for links as text, which `read_gold` reads from files.
    """
    counts = []
    for predicted, (sure, possible) in zip(links, gold, strict=True):
        if any(isinstance(link, str) for each in (predicted, sure, possible) for link in each):
            raise TypeError("links are pairs of positions (source, target), not a str")
        a, s = set(predicted), set(sure)
        counts.append((len(a), len(s), len(a & s), len(a & s.union(possible))))
    by_sentence = np.array(counts, np.int64).reshape(-1, 4)
    in_a, in_s, in_sure, in_possible = by_sentence.sum(axis=0).tolist()
    return AlignmentScores(len(counts), in_a, in_s, in_sure, in_possible, by_sentence)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
