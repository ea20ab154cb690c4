"""Pairs to padded batches: length filter, order, batches of similar length.

A batch is first a choice of pairs by their lengths alone; its words are read when it is its turn.
So memory holds a few batches however large the corpus is, and to resume a pass costs little.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.pairs import Pairs
from rnnsearch_tf.permutation import Permutation

SORTED_BATCHES = 20  # batches whose pairs are sorted together (appendix B.2)

_PAIRS_AT_ONCE = 10_000
_LENGTHS_AT_ONCE = 1_000_000

_Lengths = TypeVar("_Lengths", int, np.ndarray)


class _Batch(NamedTuple):
    rows: list[int]  # of the pairs
    width: int  # of both sides at least


def kept_lengths(pairs: Pairs, max_length: int) -> np.ndarray:
    """How many pairs are trained on, by the words on their longer side.

    Left out are pairs with a blank side or more than `max_length` words on the longer side.

    Returns:
        int64 [max_length + 1]; the first is 0.

    Raises:
        InputError: nothing is left.
    """
    counts: np.ndarray = np.zeros(max_length + 1, np.int64)
    for start in range(0, len(pairs), _LENGTHS_AT_ONCE):
        rows = np.arange(start, min(start + _LENGTHS_AT_ONCE, len(pairs)))
        lengths = pairs.usable_lengths(rows)
        counts += np.bincount(lengths[_is_kept(lengths, max_length)], minlength=max_length + 1)
    if not counts.any():
        raise InputError(
            f"none of the {len(pairs):,} pairs has 1 to {max_length} words on both sides"
        )
    return counts


def kept_rows(pairs: Pairs, max_length: int) -> np.ndarray:
    """Which pairs are trained on, int64 [kept]; for corpora that fit into memory.

    Raises:
        InputError: as `kept_lengths`.
    """
    kept_lengths(pairs, max_length)
    return np.flatnonzero(_is_kept(pairs.usable_lengths(np.arange(len(pairs))), max_length))


def training_batches(
    pairs: Pairs, config: TrainingConfig, epoch: int, skip: int = 0
) -> tf.data.Dataset:
    """One pass over the pairs that are short enough, in an order of its own.

    `config.batching` says how pairs come together:

    * buckets: by the longer side of a pair. Both sides are padded to the bucket's bound, a
      multiple of `bucket_width`, so that a batch has one of a few shapes. The last batch of each
      bucket may be smaller.
    * sorted, the paper's way: 20 batches' pairs are sorted by their longer side and cut into
      batches, which come from short to long, as in the authors' code. Each side is padded to its
      own longest sentence. The last batch may be smaller.

    The batches depend on the pairs, `config` and `epoch` alone, so a pass can be resumed.

    Args:
        pairs: all, also those that are too long.
        config: batching, batch_size, bucket_width, max_length and seed count.
        epoch: of this order.
        skip: leave out so many batches; the rest is that of `.skip(skip)`, but what is left out
            is not read.

    Returns:
        (source, target): int32 [B, Tx] and [B, Ty], padding 0.
    """

    def batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for batch in itertools.islice(_batches(pairs, config, epoch), skip, None):
            rows = np.array(batch.rows)
            yield pairs.source.batch(rows, batch.width), pairs.target.batch(rows, batch.width)

    ids = tf.TensorSpec([None, None], tf.int32)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=(ids, ids))
    return dataset.prefetch(tf.data.AUTOTUNE)


def batch_count(pairs: Pairs, config: TrainingConfig) -> int:
    """How many batches `training_batches` makes of one pass; the same for every order.

    Raises:
        InputError: none.
    """
    counts = kept_lengths(pairs, config.max_length)
    if config.batching == "sorted":
        return -(-int(counts.sum()) // config.batch_size)
    in_buckets = np.bincount(_bucket(np.arange(len(counts)), config.bucket_width), weights=counts)
    return int(np.ceil(in_buckets / config.batch_size).sum())


def ordered_batches(pairs: Pairs, batch_size: int) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """All pairs from short to long, padded to the longest of each batch: for evaluation."""
    order = np.argsort(pairs.lengths(np.arange(len(pairs))), kind="stable")
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        yield tf.constant(pairs.source.batch(rows)), tf.constant(pairs.target.batch(rows))


def _is_kept(lengths: np.ndarray, max_length: int) -> np.ndarray:
    return (lengths > 0) & (lengths <= max_length)


def _bucket(length: _Lengths, width: int) -> _Lengths:
    """The bucket, from 1 on, that has room for so many words and `</s>`."""
    return -(-(length + 1) // width)


def _batches(pairs: Pairs, config: TrainingConfig, epoch: int) -> Iterator[_Batch]:
    """The pairs of each batch of a pass."""
    chosen = _shuffled(pairs, config, epoch)
    if config.batching == "sorted":
        return _sorted_batches(chosen, config.batch_size)
    return _bucket_batches(chosen, config.batch_size, config.bucket_width)


def _shuffled(pairs: Pairs, config: TrainingConfig, epoch: int) -> Iterator[tuple[int, int]]:
    """The pairs that are short enough in the order of a pass, each with its length."""
    order = Permutation(len(pairs), config.seed, epoch)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        rows = order(np.arange(start, min(start + _PAIRS_AT_ONCE, len(pairs))))
        lengths = pairs.usable_lengths(rows)
        kept = _is_kept(lengths, config.max_length)
        yield from zip(rows[kept].tolist(), lengths[kept].tolist(), strict=True)


def _bucket_batches(
    chosen: Iterator[tuple[int, int]], size: int, bucket_width: int
) -> Iterator[_Batch]:
    """A batch as soon as its bucket is full; at the end what the buckets hold."""
    buckets: dict[int, list[int]] = {}
    for row, length in chosen:
        bucket = _bucket(length, bucket_width)
        rows = buckets.setdefault(bucket, [])
        rows.append(row)
        if len(rows) == size:
            yield _Batch(buckets.pop(bucket), bucket * bucket_width)
    for bucket in sorted(buckets):
        yield _Batch(buckets[bucket], bucket * bucket_width)


def _sorted_batches(chosen: Iterator[tuple[int, int]], size: int) -> Iterator[_Batch]:
    while window := list(itertools.islice(chosen, SORTED_BATCHES * size)):
        window.sort(key=lambda pair: pair[1])
        for start in range(0, len(window), size):
            yield _Batch([row for row, _ in window[start : start + size]], 0)
