"""Sentence pairs to padded batches: length filter, order, batches of similar length.

A batch is a dict of tensors, the same for evaluation and training:

    source  int32 [B, Tx]         ids, each sentence ending in `</s>`, then padding 0
    target  int32 [B, Ty]         likewise
    guide   float32 [B, Ty, Tx]   `WordAlignments.guide`, only if alignments are given

Pairs are assigned to batches by their lengths alone; their tokens are read when the batch is due,
or the first of 20 that are sorted together. So only a few batches are in memory, however large the
corpus is. Resuming a pass repeats the assignment of the batches before, which takes about 10 s for
36 million pairs.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.data.permutation import Permutation
from rnnsearch_tf.data.sampled_pairs import SampledPairs
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import counted
from rnnsearch_tf.tf_functions import untuned
from rnnsearch_tf.windows import windows

SORTED_BATCHES = 20  # batches whose pairs are sorted together (appendix B.2)

_BATCHES_AHEAD = 4
_COUNTED_AT_ONCE = 1_000_000  # pairs
_ORDERED_AT_ONCE = 10_000  # pairs


def batch_specs(has_guide: bool) -> dict[str, tf.TensorSpec]:
    """Return the specs of a batch's tensors."""
    ids = tf.TensorSpec([None, None], tf.int32)
    guide = {"guide": tf.TensorSpec([None, None, None], tf.float32)} if has_guide else {}
    return {"source": ids, "target": ids, **guide}


def count_lengths(pairs: Pairs, max_length: int) -> np.ndarray:
    """Count pairs by the length of their longer side, int64 [max_length + 2].

    Pairs with a blank side are counted as 0, those with more than `max_length` tokens on the longer
    side as `max_length + 1`; the others are trained on. InputError if there are no others.
    """
    counts: np.ndarray = np.zeros(max_length + 2, np.int64)
    for start in range(0, len(pairs), _COUNTED_AT_ONCE):
        rows = np.arange(start, min(start + _COUNTED_AT_ONCE, len(pairs)))
        lengths = np.minimum(pairs.usable_lengths(rows), max_length + 1)
        counts += np.bincount(lengths, minlength=max_length + 2)
    if not counts[1:-1].any():
        raise InputError(
            f"none of the {len(pairs):,} pairs has 1 to {max_length} tokens on both "
            "sides (--max_length)"
        )
    return counts


def length_ratio(pairs: Pairs, max_length: int) -> float:
    """Return the mean number of target tokens for each source token, `</s>` counted.

    Only pairs that are trained on count; in a large corpus, those among a million evenly spaced.
    """
    rows = np.linspace(0, len(pairs) - 1, min(len(pairs), 1_000_000), dtype=np.int64)
    rows = rows[_is_kept(pairs.usable_lengths(rows), max_length)]
    if not len(rows):
        return 1.0
    return float((pairs.target.lengths(rows) + 1).sum() / (pairs.source.lengths(rows) + 1).sum())


def kept_rows(pairs: Pairs, max_length: int) -> np.ndarray:
    """Return the rows of the pairs to train on, int64 [kept]; for corpora that fit into memory."""
    count_lengths(pairs, max_length)
    return np.flatnonzero(_is_kept(pairs.usable_lengths(np.arange(len(pairs))), max_length))


def training_batches(
    pairs: Pairs,
    config: TrainingConfig,
    epoch: int,  # number of the pass, from 0
    skip: int = 0,  # batches to leave out at the start, without reading them
    alignments: WordAlignments | None = None,  # for the guide
    sampled: SampledPairs | None = None,  # the pairs with drawn subwords, to be read instead
) -> tf.data.Dataset:
    """Make the batches of one pass over the pairs that are short enough, in a random order.

    `config.batching` says how pairs are grouped:

    * buckets: by the longer side of a pair. Both sides are padded to the bucket's bound, a
      multiple of `bucket_width`, so that a batch has one of a few shapes. The last batch of each
      bucket may be smaller.
    * sorted, as in the paper: the pairs of 20 batches are sorted by their longer side and cut into
      batches, which come from short to long, as in the authors' code. Each side is padded to its
      own longest sentence. The last batch may be smaller.

    With sampled subwords, lengths are known only after sampling: the pairs of 20 batches are
    sampled together and sorted. With buckets, these batches then come in a random order, both sides
    padded to a multiple of `bucket_width`.

    The batches depend on the pairs, `config` and `epoch` alone, so a pass can be resumed.
    """
    specs = batch_specs(has_guide=alignments is not None)

    def batches() -> Iterator[dict[str, np.ndarray]]:
        kept = _shuffled(pairs, config, epoch)
        planned: Iterator[_Batch]
        if sampled is None and config.batching == "buckets":
            planned = itertools.islice(_bucket_batches(kept, pairs, config), skip, None)
        else:
            planned = _sorted_batches(kept, pairs, sampled, config, epoch, skip)
        for some, indices, rows, width in planned:
            source, target = some.source.batch(indices, width), some.target.batch(indices, width)
            batch = {"source": source, "target": target}
            if alignments is not None:
                batch["guide"] = alignments.guide(rows, source, target)
            yield batch

    dataset = tf.data.Dataset.from_generator(batches, output_signature=specs)
    return untuned(dataset.prefetch(_BATCHES_AHEAD))


def batch_count(pairs: Pairs, config: TrainingConfig) -> int:
    """Count the batches that `training_batches` makes of one pass; the same in every pass."""
    counts = count_lengths(pairs, config.max_length)[1:-1]
    if config.batching == "sorted" or config.draws_text:
        return -(-int(counts.sum()) // config.batch_size)
    in_buckets = np.bincount(
        _bucket(np.arange(1, len(counts) + 1), config.bucket_width), weights=counts
    )
    return int(np.ceil(in_buckets / config.batch_size).sum())


def ordered_batches(
    pairs: Pairs, batch_size: int, description: str, max_tokens: int = 5_000
) -> Iterator[dict[str, tf.Tensor]]:
    """Make batches of all pairs from short to long, padded to the longest; for evaluation.

    Long pairs come in smaller batches, of at most `max_tokens` per side, padding counted, or of a
    single pair. A progress bar counts the batches; `description` is its unit, in the singular.
    """
    lengths = pairs.lengths(np.arange(len(pairs)))
    batches: list[list[int]] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        room = min(batch_size, max_tokens // (int(lengths[row]) + 1))
        if not batches or len(batches[-1]) >= room:
            batches.append([])
        batches[-1].append(row)
    for rows in counted(map(np.array, batches), description, len(batches)):
        yield {
            "source": tf.constant(pairs.source.batch(rows)),
            "target": tf.constant(pairs.target.batch(rows)),
        }


def _is_kept(lengths: np.ndarray, max_length: int) -> np.ndarray:
    return (lengths > 0) & (lengths <= max_length)


def _bucket(length: Any, width: int) -> Any:
    """Number of the bucket, from 1, that has room for so many tokens and `</s>`."""
    return -(-(length + 1) // width)


def _shuffled(pairs: Pairs, config: TrainingConfig, epoch: int) -> Iterator[tuple[int, int]]:
    """Yield the row and the length of each pair that is short enough, in a random order."""
    order = Permutation(len(pairs), config.seed, epoch)
    for start in range(0, len(pairs), _ORDERED_AT_ONCE):
        rows = order(np.arange(start, min(start + _ORDERED_AT_ONCE, len(pairs))))
        lengths = pairs.usable_lengths(rows)
        kept = _is_kept(lengths, config.max_length)
        yield from zip(rows[kept].tolist(), lengths[kept].tolist(), strict=True)


class _Batch(NamedTuple):
    """A batch whose tokens are not read yet."""

    pairs: Pairs  # from which it is taken
    indices: np.ndarray  # in `pairs`
    rows: np.ndarray  # in the corpus, for the alignments
    width: int  # both sides are padded to it; 0: each to its longest sentence


def _bucket_batches(
    kept: Iterator[tuple[int, int]], pairs: Pairs, config: TrainingConfig
) -> Iterator[_Batch]:
    """Yield a batch when a bucket is full; at the end, the rest of each bucket."""
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    for row, length in kept:
        width = _bucket(length, config.bucket_width) * config.bucket_width
        buckets[width].append(row)
        if len(buckets[width]) == config.batch_size:
            rows = np.array(buckets.pop(width))
            yield _Batch(pairs, rows, rows, width)
    for width, left in sorted(buckets.items()):
        rows = np.array(left)
        yield _Batch(pairs, rows, rows, width)


def _sorted_batches(
    kept: Iterator[tuple[int, int]],
    pairs: Pairs,
    sampled: SampledPairs | None,
    config: TrainingConfig,
    epoch: int,
    skip: int,
) -> Iterator[_Batch]:
    """Sort the pairs of 20 batches at a time, after their subwords are sampled, if at all."""
    in_buckets = config.batching == "buckets"
    first, done = divmod(skip, SORTED_BATCHES)
    chunks = windows(kept, SORTED_BATCHES * config.batch_size)
    for number, chunk in enumerate(itertools.islice(chunks, first, None), first):
        rows = np.array(chunk)[:, 0]
        if sampled is None:
            some = pairs.take(rows)
        else:
            some = sampled.draw(rows, config.seed, epoch, number)
        lengths = some.lengths(np.arange(len(rows)))
        order = np.argsort(lengths, kind="stable")
        batches = np.split(order, range(config.batch_size, len(order), config.batch_size))
        if in_buckets:
            np.random.default_rng([config.seed, epoch, number]).shuffle(batches)
        for indices in batches[done:]:
            width = _bucket(lengths[indices].max(), config.bucket_width) * config.bucket_width
            yield _Batch(some, indices, rows[indices], width if in_buckets else 0)
        done = 0
