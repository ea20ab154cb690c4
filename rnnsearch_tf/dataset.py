"""Sentence pairs to padded batches: tokens, ids, length filter, buckets."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.corpus.parallel import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text import MosesTokenizer
from rnnsearch_tf.vocabulary import EOS, PAD, UNK, Vocabulary

_LINES_AT_ONCE = 2_000


class Pairs(NamedTuple):
    """Sentence pairs as ids, each sentence ending in `</s>`."""

    source: tf.RaggedTensor  # int32 [N, Tx]
    target: tf.RaggedTensor  # int32 [N, Ty]

    def __len__(self) -> int:
        """The number of pairs."""
        return int(self.source.nrows())

    def lengths(self) -> np.ndarray:
        """Tokens on the longer side of each pair, with `</s>`, int [N]."""
        return np.maximum(self.source.row_lengths(), self.target.row_lengths())


def tokenize(lines: Sequence[str], tokenizer: MosesTokenizer) -> tf.RaggedTensor:
    """Lines to Moses tokens, string [N, T]."""
    starts = range(0, len(lines), _LINES_AT_ONCE)
    parts = [tokenizer.tokenize(tf.constant(lines[i : i + _LINES_AT_ONCE])) for i in starts]
    return tf.concat(parts, axis=0)


def count_words(tokens: tf.RaggedTensor) -> Counter[str]:
    """How often each word occurs."""
    counts = Counter(tokens.flat_values.numpy().tolist())
    return Counter({word.decode(): count for word, count in counts.items()})


def to_ids(tokens: tf.RaggedTensor, vocabulary: Vocabulary) -> tf.RaggedTensor:
    """Words to ids int32, unknown ones to [UNK], `</s>` at the end of each sentence."""
    ids = tf.range(len(vocabulary), dtype=tf.int64)
    initializer = tf.lookup.KeyValueTensorInitializer(tf.constant(vocabulary.tokens), ids)
    table = tf.lookup.StaticHashTable(initializer, default_value=UNK)
    words = tokens.with_values(tf.cast(table.lookup(tokens.flat_values), tf.int32))
    ends = tf.fill([tokens.nrows(), 1], EOS)
    return tf.concat([words, tf.RaggedTensor.from_tensor(ends)], axis=1)


def keep_short(text: ParallelText, pairs: Pairs, max_length: int) -> Pairs:
    """Leave out pairs with a blank side or more than `max_length` words on the longer side.

    Raises:
        InputError: nothing is left.
    """
    shorter = np.minimum(pairs.source.row_lengths(), pairs.target.row_lengths())
    kept = np.flatnonzero((shorter > 1) & (pairs.lengths() <= max_length + 1))
    if not len(kept):
        raise InputError(
            f"none of the {len(text.source):,} pairs has 1 to {max_length} words on both sides"
        )
    return Pairs(tf.gather(pairs.source, kept), tf.gather(pairs.target, kept))


def training_batches(
    pairs: Pairs, batch_size: int, bucket_width: int, seed: int, epoch: int
) -> tf.data.Dataset:
    """One pass over the pairs in an order of its own, in batches of similar length.

    The longer side of a pair chooses its bucket; both sides are padded to the bucket's bound, a
    multiple of `bucket_width`, so that a batch has one of a few shapes. The order depends on
    `seed` and `epoch` alone, so `.skip(k)` resumes a pass.

    Args:
        pairs: ids.
        batch_size: pairs in a batch; the last of each bucket may be smaller.
        bucket_width: tokens.
        seed: of all orders.
        epoch: of this order.

    Returns:
        (source, target): int32 [B, T] each, padding 0.
    """
    order = np.random.default_rng([seed, epoch]).permutation(len(pairs))
    longest = int(pairs.lengths().max())
    bounds = list(range(bucket_width, longest + bucket_width, bucket_width))
    dataset = tf.data.Dataset.from_tensor_slices(order)
    dataset = dataset.map(lambda i: (pairs.source[i], pairs.target[i]))
    dataset = dataset.bucket_by_sequence_length(
        lambda source, target: tf.maximum(tf.size(source), tf.size(target)),
        bucket_boundaries=[bound + 1 for bound in bounds],
        bucket_batch_sizes=[batch_size] * (len(bounds) + 1),
        padded_shapes=([None], [None]),
        padding_values=(PAD, PAD),
        pad_to_bucket_boundary=True,
    )
    return dataset.prefetch(tf.data.AUTOTUNE)


def batch_count(pairs: Pairs, batch_size: int, bucket_width: int) -> int:
    """How many batches `training_batches` makes of one pass; the same for every order."""
    buckets = np.bincount(-(-pairs.lengths() // bucket_width))
    return int((-(-buckets // batch_size)).sum())


def ordered_batches(pairs: Pairs, batch_size: int) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """All pairs from short to long, padded to the longest of each batch: for evaluation."""
    order = np.argsort(pairs.lengths(), kind="stable")
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        yield (
            tf.gather(pairs.source, chosen).to_tensor(PAD),
            tf.gather(pairs.target, chosen).to_tensor(PAD),
        )
