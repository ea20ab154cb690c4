"""Parts of a corpus: random samples, pairs without duplicates, files of chosen pairs."""

import contextlib
import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from rnnsearch_tf.data.lines import compressed
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, checked_blocks, each_pair
from rnnsearch_tf.files import is_stream, real_path, replacing, synchronize, take_mode
from rnnsearch_tf.progress import counted

Item = TypeVar("Item")


def two_samples(corpus: Corpus, count: int, seed: int) -> tuple[ParallelText, ParallelText, int]:
    """Draw two samples without a row in common, each row as likely as any other.

    Each has `count` pairs, or half the corpus where that is less. The last result is the size of
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


def first_occurrences(pool: Corpus) -> np.ndarray:
    """Mark the pairs that have no equal before them, bool [N].

    Equality is that of `pair_digest`.
    """
    pairs = counted(each_pair(pool), "compared pair")
    digests = np.fromiter((int.from_bytes(pair_digest(*pair), "big") for pair in pairs), np.uint64)
    is_first: np.ndarray = np.zeros(len(digests), bool)
    is_first[np.unique(digests, return_index=True)[1]] = True
    return is_first


def pair_digest(source: str, target: str) -> bytes:
    """Return 64 bits of BLAKE2b of a pair, by which equal pairs are found."""
    return hashlib.blake2b(f"{source}\n{target}".encode(), digest_size=8).digest()


def write_pairs(pool: Corpus, chosen: np.ndarray, source: IO[bytes], target: IO[bytes]) -> None:
    """Write the pairs of some rows, which ascend, to a file of sources and one of targets."""
    start = 0
    for block in checked_blocks(pool):
        stop = start + len(block.source)
        first, last = np.searchsorted(chosen, [start, stop])
        rows = chosen[first:last] - start
        for side, file in zip(block, (source, target), strict=True):
            file.write("".join(side[row] + "\n" for row in rows).encode())
        start = stop


@contextlib.contextmanager
def writing(paths: Sequence[str | Path]) -> Iterator[list[IO[bytes]]]:
    """Open files to write, gzip where named .gz; they get their names when all are on the disk.

    An earlier file of the first path is removed before: a break between two renames must not leave
    old sources with new targets.
    """
    with contextlib.ExitStack() as renamed:
        temporaries = [renamed.enter_context(replacing(path)) for path in paths]
        with contextlib.ExitStack() as opened:
            files = [opened.enter_context(open(temporary, "wb")) for temporary in temporaries]
            yield [
                opened.enter_context(compressed(file, path))
                for file, path in zip(files, paths, strict=True)
            ]
        for temporary in temporaries:
            synchronize(temporary)
        if paths and not is_stream(paths[0]) and (old := real_path(paths[0])).exists():
            take_mode(temporaries[0], old)
            old.unlink()
