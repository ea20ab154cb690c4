"""Equal pairs of a corpus."""

import hashlib

import numpy as np

from rnnsearch_tf.data.parallel_corpus import Corpus, each_pair
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
