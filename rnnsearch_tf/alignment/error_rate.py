"""Alignment error rate, precision and recall on gold links (Och & Ney 2003)."""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

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

    @property
    def aer(self) -> float | None:
        """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|), 0 to 1."""
        agreed = _ratio(self.links_in_sure + self.links_in_possible, self.links + self.sure)
        return None if agreed is None else 1 - agreed

    @property
    def precision(self) -> float | None:
        """|A ∩ P| / |A|, 0 to 1."""
        return _ratio(self.links_in_possible, self.links)

    @property
    def recall(self) -> float | None:
        """|A ∩ S| / |S|, 0 to 1."""
        return _ratio(self.links_in_sure, self.sure)

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        ratios = {"aer": self.aer, "precision": self.precision, "recall": self.recall}
        return {**ratios, **dataclasses.asdict(self)}


def alignment_scores(links: Iterable[_Pairs], gold: Iterable[GoldLinks]) -> AlignmentScores:
    """Compare predicted with gold links over a corpus: counts are summed, then divided.

    TypeError for links as text, which `read_gold` reads from files.
    """
    sentences = in_a = in_s = in_sure = in_possible = 0
    for predicted, (sure, possible) in zip(links, gold, strict=True):
        if any(isinstance(link, str) for each in (predicted, sure, possible) for link in each):
            raise TypeError("links are pairs of positions (source, target), not a str")
        a, s = set(predicted), set(sure)
        sentences += 1
        in_a += len(a)
        in_s += len(s)
        in_sure += len(a & s)
        in_possible += len(a & s.union(possible))
    return AlignmentScores(sentences, in_a, in_s, in_sure, in_possible)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
