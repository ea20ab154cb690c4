"""Alignments against gold links: alignment error rate, precision, recall (Och & Ney 2003)."""

import dataclasses
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

_Pairs = Collection[tuple[int, int]]


class GoldLinks(NamedTuple):
    """What annotators say of a sentence pair; (source, target) places of words, 0-based."""

    sure: _Pairs
    possible: _Pairs = ()  # those that are not sure; what is sure counts as possible too


@dataclasses.dataclass(frozen=True)
class AlignmentScores:
    """A: the links found; S: the sure ones; P: the sure and the possible ones; of all sentences.

    A ratio of nothing is None: precision where no link was found, recall where none is sure, and
    the error rate where both is so.

    Attributes:
        sentences: how many.
        links: |A|.
        sure: |S|.
        links_in_sure: |A ∩ S|.
        links_in_possible: |A ∩ P|.
    """

    sentences: int
    links: int
    sure: int
    links_in_sure: int
    links_in_possible: int

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
        """For JSON."""
        ratios = {"aer": self.aer, "precision": self.precision, "recall": self.recall}
        return {**ratios, **dataclasses.asdict(self)}


def alignment_scores(found: Iterable[_Pairs], gold: Iterable[GoldLinks]) -> AlignmentScores:
    """Compare links with gold links over a corpus: counts are summed, then divided.

    Args:
        found: the links of each sentence; one listed twice counts once.
        gold: the gold links of each.

    Raises:
        ValueError: unequal numbers of sentences.
    """
    sentences = links = sure_links = in_sure = in_possible = 0
    for pairs, (sure, possible) in zip(found, gold, strict=True):
        a, s = set(pairs), set(sure)
        sentences += 1
        links += len(a)
        sure_links += len(s)
        in_sure += len(a & s)
        in_possible += len(a & s.union(possible))
    return AlignmentScores(sentences, links, sure_links, in_sure, in_possible)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
