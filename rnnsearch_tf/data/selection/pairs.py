"""Pairs of a pool: the first of equal ones, and files of chosen ones."""

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from rnnsearch_tf.data.held_out import Part
from rnnsearch_tf.data.lines import compressed
from rnnsearch_tf.data.parallel_corpus import Corpus, each_pair
from rnnsearch_tf.files import is_stream, real_path, replacing, synchronize, take_mode
from rnnsearch_tf.progress import counted


def first_occurrences(pool: Corpus) -> np.ndarray:
    """Mark the pairs that equal no earlier pair, bool [N].

    Pairs are equal if their `pair_digest` is.
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
    for block in Part(pool, chosen, True).blocks():
        for side, file in zip(block, (source, target), strict=True):
            file.write("".join(line + "\n" for line in side).encode())


@contextlib.contextmanager
def writing(paths: Sequence[str | Path]) -> Iterator[list[IO[bytes]]]:
    """Open files to write, gzip if named .gz; they get their names when all are on the disk.

    An existing file at the first path is removed before that: an interruption between two renames
    must not leave old sources with new targets.
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
