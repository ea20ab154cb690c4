"""Validation pairs held out of a training corpus."""

import itertools
from collections.abc import Iterator

import numpy as np

from rnnsearch_tf.data.parallel_corpus import (
    Corpus,
    ParallelText,
    checked_blocks,
    each_pair,
    read_all,
    unchanged,
)
from rnnsearch_tf.data.permutation import Permutation
from rnnsearch_tf.digests import json_digest
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import counted, say

_SEED = 1


class Part:
    """The pairs of a corpus whose numbers are `drawn`, int64, ascending; or all others."""

    def __init__(self, corpus: Corpus, drawn: np.ndarray, has_drawn: bool):
        self._corpus = corpus
        self._drawn = drawn
        self._has_drawn = has_drawn

    def fingerprint(self) -> str:
        """Return a digest of the corpus and of what is drawn."""
        return json_digest([self._has_drawn, self._drawn.tolist(), self._corpus.fingerprint()])

    def blocks(self) -> Iterator[ParallelText]:
        """Yield the pairs in order, as the corpus's blocks have them."""
        before = 0
        for block in checked_blocks(self._corpus):
            is_in = np.full(len(block.source), not self._has_drawn)
            first, last = np.searchsorted(self._drawn, [before, before + len(is_in)])
            is_in[self._drawn[first:last] - before] = self._has_drawn
            yield ParallelText(*(list(itertools.compress(side, is_in)) for side in block))
            before += len(is_in)


def hold_out(corpus: Corpus, size: float) -> tuple[Corpus, ParallelText]:
    """Hold out a random sample of a corpus's pairs, the same each time.

    Pairs with a blank side are never drawn. A `size` of 1 or more is a number of pairs; one below 1
    is a fraction of the pairs without a blank side. The corpus is read twice. InputError for an
    unusable corpus, or if no pair would be left to train on.
    """
    with unchanged(corpus.fingerprint, corpus.fingerprint()):
        pairs = counted(each_pair(corpus), "read pair")
        is_usable = (bool(source.strip() and target.strip()) for source, target in pairs)
        rows = np.flatnonzero(np.fromiter(is_usable, bool))
        count = int(size) if size >= 1 else max(round(size * len(rows)), 1)
        if count >= len(rows):
            raise InputError(
                f"{count:,} of {len(rows):,} pairs cannot be held out: none would be left"
            )
        drawn = np.sort(rows[Permutation(len(rows), _SEED)(np.arange(count))])
        held_out = read_all(Part(corpus, drawn, True))
    say(f"held out for validation: {count:,} of {len(rows):,} pairs")
    return Part(corpus, drawn, False), held_out
