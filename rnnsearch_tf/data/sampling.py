"""Random samples of a corpus."""

import random
from collections.abc import Iterable
from typing import TypeVar

from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, each_pair
from rnnsearch_tf.progress import counted

Item = TypeVar("Item")


def two_samples(corpus: Corpus, count: int, seed: int) -> tuple[ParallelText, ParallelText, int]:
    """Draw two samples without a row in common, each row as likely as any other.

    Each has `count` pairs, or half the corpus if that is less. The last result is the size of
    the corpus.
    """
    drawn, size = _reservoir(counted(each_pair(corpus), "read pair"), 2 * count, seed)
    first, second = map(_text, _halves(drawn))
    return first, second, size


def two_samples_of_rows(size: int, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Draw the rows that `two_samples` draws of a corpus of `size` pairs."""
    return _halves(_reservoir(range(size), 2 * count, seed)[0])


def random_pairs(corpus: Corpus, count: int, seed: int = 1) -> ParallelText:
    """Draw `count` pairs, or all where there are fewer, in a random order."""
    return _text(_reservoir(counted(each_pair(corpus), "read pair"), count, seed)[0])


def _reservoir(items: Iterable[Item], count: int, seed: int) -> tuple[list[Item], int]:
    """Draw items in one pass over all of them, whose number is the last result.

    Source: Vitter (1985), Random Sampling with a Reservoir, Algorithm R.
    """
    generator = random.Random(seed)
    drawn: list[Item] = []
    seen = 0
    for item in items:
        index = seen if seen < count else generator.randrange(seen + 1)
        if index < count:
            drawn[index : index + 1] = [item]
        seen += 1
    generator.shuffle(drawn)
    return drawn, seen


def _halves(drawn: list[Item]) -> tuple[list[Item], list[Item]]:
    middle = (len(drawn) + 1) // 2
    return drawn[:middle], drawn[middle:]


def _text(pairs: list[tuple[str, str]]) -> ParallelText:
    return ParallelText([source for source, _ in pairs], [target for _, target in pairs])
