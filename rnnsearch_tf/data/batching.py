"""Pairs to padded batches: length filter, order, batches of similar length.

A batch is first a choice of pairs by their lengths alone; its words are read when it is its turn.
So memory holds a few batches however large the corpus is, and to resume a pass costs little.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.data.permutation import Permutation
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.tf_functions import untuned

SORTED_BATCHES = 20  # batches whose pairs are sorted together (appendix B.2)

_BATCHES_AHEAD = 4
_PAIRS_AT_ONCE = 10_000
_LENGTHS_AT_ONCE = 1_000_000

_IDS = tf.TensorSpec([None, None], tf.int32)
_GUIDE = tf.TensorSpec([None, None, None], tf.float32)

_Lengths = TypeVar("_Lengths", np.ndarray, tf.Tensor)


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

    def read(rows: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return pairs.source.batch(rows, int(width)), pairs.target.batch(rows, int(width))

    batches = _batches_of_rows(pairs, config, epoch).skip(skip)
    return untuned(batches.map(_in_numpy(read, _IDS, _IDS)).prefetch(_BATCHES_AHEAD))


def guided_batches(
    pairs: Pairs, links: WordAlignments, config: TrainingConfig, epoch: int, skip: int = 0
) -> tf.data.Dataset:
    """The batches of `training_batches`, each with the guide of its pairs.

    Args:
        pairs: as there.
        links: of each pair.
        config: as there.
        epoch: as there.
        skip: as there.

    Returns:
        (source, target, guide): int32 [B, Tx] and [B, Ty], padding 0, and `WordAlignments.guide`,
        float32 [B, Ty, Tx].
    """

    def read(rows: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, ...]:
        source, target = pairs.source.batch(rows, int(width)), pairs.target.batch(rows, int(width))
        return source, target, links.guide(rows, source.shape[1], target.shape[1])

    batches = _batches_of_rows(pairs, config, epoch).skip(skip)
    return untuned(batches.map(_in_numpy(read, _IDS, _IDS, _GUIDE)).prefetch(_BATCHES_AHEAD))


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


def _batches_of_rows(pairs: Pairs, config: TrainingConfig, epoch: int) -> tf.data.Dataset:
    """Which pairs come together in a pass, and how wide they are padded: rows, width."""
    chosen = _shuffled(pairs, config, epoch)
    if config.batching == "sorted":
        return _sorted_batches(chosen, config.batch_size)
    return _bucket_batches(chosen, config)


def _is_kept(lengths: np.ndarray, max_length: int) -> np.ndarray:
    return (lengths > 0) & (lengths <= max_length)


def _bucket(length: _Lengths, width: int) -> _Lengths:
    """The bucket, from 1 on, that has room for so many words and `</s>`."""
    return -(-(length + 1) // width)


def _shuffled(pairs: Pairs, config: TrainingConfig, epoch: int) -> tf.data.Dataset:
    """The pairs that are short enough in the order of a pass, one by one: row, length."""
    order = Permutation(len(pairs), config.seed, epoch)

    def block(start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = order(np.arange(start, min(start + _PAIRS_AT_ONCE, len(pairs))))
        lengths = pairs.usable_lengths(rows)
        kept = _is_kept(lengths, config.max_length)
        return rows[kept], lengths[kept]

    numbers = tf.TensorSpec([None], tf.int64)
    starts = tf.data.Dataset.range(0, len(pairs), _PAIRS_AT_ONCE)
    return starts.map(_in_numpy(block, numbers, numbers)).unbatch()


def _bucket_batches(chosen: tf.data.Dataset, config: TrainingConfig) -> tf.data.Dataset:
    """A batch as soon as its bucket is full; at the end what the buckets hold: rows, width."""
    width = config.bucket_width
    bounds = list(range(width, config.max_length + 1 + width, width))
    batches = chosen.bucket_by_sequence_length(
        lambda row, length: tf.cast(length, tf.int32) + 1,  # </s>
        bucket_boundaries=[bound + 1 for bound in bounds],
        bucket_batch_sizes=[config.batch_size] * (len(bounds) + 1),
    )
    return batches.map(lambda rows, lengths: (rows, _bucket(lengths[0], width) * width))


def _sorted_batches(chosen: tf.data.Dataset, size: int) -> tf.data.Dataset:
    def sort(rows: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        return tf.gather(rows, tf.argsort(lengths, stable=True))

    windows = chosen.batch(SORTED_BATCHES * size).map(sort)
    batches = windows.unbatch().batch(size)
    return batches.map(lambda rows: (rows, tf.constant(0, tf.int64)))


def _in_numpy(function: Callable[..., Any], *specs: tf.TensorSpec) -> Callable[..., Any]:
    """A function of arrays as a function of tensors, its results specified."""

    def call(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        found = tf.numpy_function(function, tensors, [spec.dtype for spec in specs])
        return tuple(tf.ensure_shape(x, spec.shape) for x, spec in zip(found, specs, strict=True))

    return call
