"""Sentence pairs whose subwords are drawn at random, anew for each pass (Kudo 2018)."""

import itertools
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.data.prepared_corpus import PreparedSide, PreparedText
from rnnsearch_tf.data.sentence_pairs import Pairs, to_sentences
from rnnsearch_tf.text.subword_sampling import SubwordSampler
from rnnsearch_tf.text.vocabulary import Vocabulary


class SampledPairs:
    """A prepared text of subwords, with other segmentations of its sentences."""

    def __init__(
        self,
        text: PreparedText,  # in its most probable segmentations
        vocabularies: Sequence[Vocabulary],  # of source and target, like the samplers
        samplers: Sequence[SubwordSampler],
        max_length: int,  # pairs drawn longer keep the most probable segmentation
    ):
        self._vocabularies = vocabularies
        sides = zip((text.source, text.target), vocabularies, samplers, strict=True)
        self._sides = [_Side(*side) for side in sides]
        self._max_length = max_length

    def draw(self, rows: np.ndarray, *seeds: int) -> Pairs:
        """Draw segmentations of some pairs, int [B]; the same for the same rows and seeds."""
        best = [side.pieces(rows) for side in self._sides]
        side_seeds = np.random.SeedSequence(seeds).generate_state(2) >> 1
        drawn = [
            side.sampler.draw(pieces, int(seed))
            for side, pieces, seed in zip(self._sides, best, side_seeds, strict=True)
        ]
        pairs = zip(zip(*best, strict=True), zip(*drawn, strict=True), strict=True)
        chosen = [new if max(map(len, new)) <= self._max_length else old for old, new in pairs]
        source, target = zip(*chosen, strict=True)
        return Pairs(*map(to_sentences, (source, target), self._vocabularies))


class _Side:
    def __init__(self, side: PreparedSide, vocabulary: Vocabulary, sampler: SubwordSampler):
        self.sampler = sampler
        self._best = side.sentences(vocabulary)
        self._types = list(side.types())

    def pieces(self, rows: np.ndarray) -> list[list[str]]:
        """Return the pieces of some sentences, int [B], in their most probable segmentations."""
        some = self._best.take(rows)
        pieces = [self._types[number] for number in some.words]
        return [pieces[start:end] for start, end in itertools.pairwise(some.starts)]
