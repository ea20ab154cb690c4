"""Sentence pairs whose subwords are drawn at random in each pass (Kudo 2018)."""

import itertools
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.data.prepared_corpus import PreparedText
from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences, to_sentences
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
        self._best = text.pairs(*vocabularies)
        self._types = [list(side.types()) for side in (text.source, text.target)]
        self._vocabularies = vocabularies
        self._samplers = samplers
        self._max_length = max_length

    def draw(self, rows: np.ndarray, *seeds: int) -> Pairs:
        """Draw segmentations of some pairs, int [B]; the same for the same rows and seeds."""
        some = self._best.take(rows)
        best = [_pieces(some.source, self._types[0]), _pieces(some.target, self._types[1])]
        side_seeds = np.random.SeedSequence(seeds).generate_state(2) >> 1
        drawn = [
            sampler.draw(pieces, int(seed))
            for sampler, pieces, seed in zip(self._samplers, best, side_seeds, strict=True)
        ]
        pairs = zip(zip(*best, strict=True), zip(*drawn, strict=True), strict=True)
        chosen = [new if max(map(len, new)) <= self._max_length else old for old, new in pairs]
        source, target = zip(*chosen, strict=True)
        return Pairs(*map(to_sentences, (source, target), self._vocabularies))


def _pieces(sentences: Sentences, types: Sequence[str]) -> list[list[str]]:
    pieces = [types[number] for number in sentences.words]
    return [pieces[start:end] for start, end in itertools.pairwise(sentences.starts)]
