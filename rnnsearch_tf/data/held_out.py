"""Validation pairs held out of a training corpus."""

import hashlib
from collections.abc import Iterator

import numpy as np

from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText
from rnnsearch_tf.data.permutation import Permutation
from rnnsearch_tf.errors import InputError

_SEED = 1


class _Remainder:
    """A corpus without some of its pairs, whose numbers are in `left_out`, int64, ascending."""

    def __init__(self, corpus: Corpus, left_out: np.ndarray):
        self._corpus = corpus
        self._left_out = left_out

    def fingerprint(self) -> str:
        content = f"without {self._left_out.tolist()} {self._corpus.fingerprint()}"
        return hashlib.sha256(content.encode()).hexdigest()

    def blocks(self) -> Iterator[ParallelText]:
        for block, is_out in _marked(self._corpus, self._left_out):
            yield _chosen(block, ~is_out)


def hold_out(corpus: Corpus, size: float) -> tuple[Corpus, ParallelText]:
    """Hold out a random sample of a corpus's pairs, the same each time.

    Blank sentences are not drawn. The corpus is read twice.

    Args:
        corpus: sentence pairs.
        size: number of pairs; below 1, the share of all pairs.

    Returns:
        The pairs that are left, and those held out, both in the corpus's order.

    Raises:
        InputError: an unusable corpus, or one that has not more pairs than are to be held out.
    """
    usable = [_is_usable(block) for block in corpus.blocks()]
    rows = np.flatnonzero(np.concatenate([np.zeros(0, bool), *usable]))
    count = int(size) if size >= 1 else max(round(size * len(rows)), 1)
    if count >= len(rows):
        raise InputError(f"{count:,} of {len(rows):,} pairs cannot be held out: none would be left")
    drawn = np.sort(rows[Permutation(len(rows), _SEED)(np.arange(count))])
    held_out = ParallelText([], [])
    for block, is_out in _marked(corpus, drawn):
        pairs = _chosen(block, is_out)
        held_out.source.extend(pairs.source)
        held_out.target.extend(pairs.target)
    return _Remainder(corpus, drawn), held_out


def _is_usable(block: ParallelText) -> np.ndarray:
    pairs = zip(block.source, block.target, strict=True)
    return np.array([bool(source.strip() and target.strip()) for source, target in pairs], bool)


def _marked(corpus: Corpus, rows: np.ndarray) -> Iterator[tuple[ParallelText, np.ndarray]]:
    """Iterate over the blocks, with whether each pair is one of `rows`, bool [pairs]."""
    before = 0
    for block in corpus.blocks():
        is_one: np.ndarray = np.zeros(len(block.source), bool)
        first, last = np.searchsorted(rows, [before, before + len(is_one)])
        is_one[rows[first:last] - before] = True
        yield block, is_one
        before += len(is_one)


def _chosen(block: ParallelText, is_chosen: np.ndarray) -> ParallelText:
    numbers = np.flatnonzero(is_chosen)
    return ParallelText([block.source[i] for i in numbers], [block.target[i] for i in numbers])
