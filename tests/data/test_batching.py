"""Pairs to padded batches: the length filter, orders, both ways of batching, resuming."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf
from known_pairs import lists, pairs_of_lengths

from rnnsearch_tf.config import Batching, TrainingConfig
from rnnsearch_tf.data.batching import (
    SORTED_BATCHES,
    batch_count,
    count_lengths,
    kept_rows,
    ordered_batches,
    training_batches,
)
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.data.sentence_pairs import to_pairs
from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

ENGLISH, FRENCH = MosesTokenizer("en"), MosesTokenizer("fr")

# 19 pairs, 1 to 7 words on the longer side; then a blank side, and one word too many.
MANY = pairs_of_lengths(*((i % 7 + 1, i % 3 + 1) for i in range(19)), (0, 2), (2, 0), (8, 1))
KEPT = 19
CONFIG = TrainingConfig(batch_size=2, bucket_width=3, max_length=7)
SORTED = dataclasses.replace(CONFIG, batching="sorted")
SIZES = [(1, 3), (2, 3), (5, 1), (3, 20), (19, 8)]  # of a batch, of a bucket
BOTH = pytest.mark.parametrize("batching", ["buckets", "sorted"])


def configured(batching: Batching, batch_size: int = 2, bucket_width: int = 3) -> TrainingConfig:
    return dataclasses.replace(
        CONFIG, batching=batching, batch_size=batch_size, bucket_width=bucket_width
    )


def contents(dataset) -> list[dict[str, list]]:
    """Return each batch with lists for arrays, which can be compared."""
    return [
        {name: array.tolist() for name, array in batch.items()}
        for batch in dataset.as_numpy_iterator()
    ]


def longer(batch) -> list[int]:
    """Return the words on the longer side of each pair of a batch."""
    sides = lists(batch["source"]), lists(batch["target"])
    return [max(map(len, pair)) for pair in zip(*sides, strict=True)]


# --- text to batches ------------------------------------------------------------------------------


@pytest.mark.parametrize("prepared", [False, True])
def test_a_whole_tiny_batch(tmp_path, prepared):
    text = ParallelText(
        ["A dog sleeps.", "Dogs don't sleep.", "", "One two three four five six."],
        ["Un chien dort.", "L'autre dort.", "Bonjour.", "Un."],
    )
    english = Vocabulary([*SPECIAL_TOKENS, ".", "A", "dog", "don", "'t", "sleep"])
    in_files = prepare(text, ENGLISH, FRENCH, tmp_path)
    french = in_files.target.vocabulary(8)
    assert french.tokens[3:] == [".", "Un", "dort", "Bonjour", "L'"]
    in_memory = to_pairs(text, (ENGLISH, FRENCH), (english, french))
    pairs = in_files.pairs(english, french) if prepared else in_memory
    config = TrainingConfig(batch_size=2, bucket_width=4, max_length=5)
    (batch,) = training_batches(pairs, config, epoch=1)
    assert list(batch) == ["source", "target"]
    order = np.argsort(batch["source"][:, 0])[::-1]  # "A" before the unknown "Dogs"
    assert batch["source"].numpy()[order].tolist() == [
        [4, 5, 2, 3, 1, 0, 0, 0],
        [2, 6, 7, 8, 3, 1, 0, 0],
    ]
    assert batch["target"].numpy()[order].tolist() == [
        [4, 2, 5, 3, 1, 0, 0, 0],
        [7, 2, 5, 3, 1, 0, 0, 0],
    ]
    assert batch["source"].dtype == batch["target"].dtype == tf.int32


# --- length filter --------------------------------------------------------------------------------


def test_pairs_with_max_length_words_stay_and_longer_ones_go():
    pairs = pairs_of_lengths((5, 5), (6, 1), (1, 6), (2, 5), (5, 1))
    assert kept_rows(pairs, 5).tolist() == [0, 3, 4]
    assert count_lengths(pairs, 5).tolist() == [0, 0, 0, 0, 0, 3, 2]


def test_pairs_with_a_blank_side_go():
    pairs = pairs_of_lengths((0, 3), (3, 0), (0, 0), (1, 1))
    assert kept_rows(pairs, 5).tolist() == [3]
    assert count_lengths(pairs, 3).tolist() == [3, 1, 0, 0, 0]


def test_lengths_do_not_depend_on_how_many_are_counted_at_once(monkeypatch):
    whole = count_lengths(MANY, 7).tolist()
    monkeypatch.setattr("rnnsearch_tf.data.batching._COUNTED_AT_ONCE", 4)
    in_blocks = count_lengths(MANY, 7).tolist()
    assert in_blocks == whole == [2, 1, 3, 5, 3, 3, 2, 2, 1]


@pytest.mark.parametrize("count", [count_lengths, kept_rows])
def test_nothing_left_is_an_error(count):
    with pytest.raises(InputError, match="none of the 2 pairs has 1 to 5 tokens on both sides"):
        count(pairs_of_lengths((6, 1), (0, 2)), 5)


def test_some_pairs_taken_are_those_pairs():
    taken = MANY.take(np.array([4, 19, 0]))
    assert len(taken) == 3
    everything = np.arange(3)
    assert lists(taken.source.batch(everything)) == [[7] * 5, [], [3]]
    assert lists(taken.target.batch(everything)) == [[7, 7], [22, 22], [3]]


# --- batches --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("batch_size", "bucket_width"), SIZES)
def test_a_pass_has_every_kept_pair_once(batching, batch_size, bucket_width):
    pairs: list = []
    for batch in training_batches(MANY, configured(batching, batch_size, bucket_width), epoch=1):
        assert len(batch["source"]) == len(batch["target"]) <= batch_size
        pairs += zip(lists(batch["source"]), lists(batch["target"]), strict=True)
    kept = np.arange(KEPT)
    everything = zip(lists(MANY.source.batch(kept)), lists(MANY.target.batch(kept)), strict=True)
    assert sorted(pairs) == sorted(everything)


@pytest.mark.parametrize("bucket_width", [1, 3, 5])
def test_both_sides_are_padded_to_the_buckets_bound(bucket_width):
    config = configured("buckets", bucket_width=bucket_width)
    for batch in training_batches(MANY, config, epoch=1):
        width = batch["source"].shape[1]
        assert width == batch["target"].shape[1]
        for length in longer(batch):
            assert -(-(length + 1) // bucket_width) * bucket_width == width


def test_sorted_batches_are_padded_to_the_longest_of_each_side():
    for batch in training_batches(MANY, SORTED, epoch=1):
        for side in batch.values():
            assert side.shape[1] == max(map(len, lists(side))) + 1


def test_sorted_batches_go_from_short_to_long_in_each_window():
    pairs = pairs_of_lengths(*((1, i % 31 + 1) for i in range(50)))
    config = TrainingConfig(batching="sorted", batch_size=2, max_length=31)
    lengths = [longer(batch) for batch in training_batches(pairs, config, epoch=1)]
    assert len(lengths) == 25
    assert all(len(batch) == 2 for batch in lengths)
    first, last = (
        [length for batch in window for length in batch]
        for window in (lengths[:SORTED_BATCHES], lengths[SORTED_BATCHES:])
    )
    assert first == sorted(first)
    assert last == sorted(last)
    assert sorted(first + last) == sorted(i % 31 + 1 for i in range(50))
    # The windows are random samples: neither has all the short ones.
    assert min(last) < max(first)


@BOTH
@pytest.mark.parametrize(("batch_size", "bucket_width"), SIZES)
def test_batch_count_is_the_number_of_batches(batching, batch_size, bucket_width):
    config = configured(batching, batch_size, bucket_width)
    for epoch in (1, 2):
        assert len(list(training_batches(MANY, config, epoch))) == batch_count(MANY, config)


def test_batch_count_by_hand():
    # With </s>: 2, 3 and 3 tokens in bucket 3; 5 and 6 in bucket 6; 8 is too long.
    pairs = pairs_of_lengths((1, 1), (2, 1), (1, 2), (4, 4), (5, 1), (7, 7))
    config = TrainingConfig(max_length=5)
    counts = {(2, 3): 3, (3, 3): 2, (5, 6): 1}
    for (batch_size, bucket_width), count in counts.items():
        sizes: dict = {"batch_size": batch_size, "bucket_width": bucket_width}
        assert batch_count(pairs, dataclasses.replace(config, **sizes)) == count
        in_order = dataclasses.replace(config, batching="sorted", **sizes)
        assert batch_count(pairs, in_order) == -(-5 // batch_size)


@BOTH
def test_order_depends_on_seed_and_epoch_alone(batching):
    config = configured(batching)
    other_seed = dataclasses.replace(config, seed=2)
    dataset = training_batches(MANY, config, epoch=1)
    first = contents(dataset)
    tf.random.set_seed(7)
    np.random.seed(7)
    assert contents(dataset) == contents(training_batches(MANY, config, epoch=1)) == first
    assert contents(training_batches(MANY, other_seed, epoch=1)) != first
    assert contents(training_batches(MANY, config, epoch=2)) != first


@BOTH
def test_order_does_not_depend_on_how_many_are_ordered_at_once(batching, monkeypatch):
    config = configured(batching)
    whole = contents(training_batches(MANY, config, epoch=3))
    monkeypatch.setattr("rnnsearch_tf.data.batching._ORDERED_AT_ONCE", 4)
    assert contents(training_batches(MANY, config, epoch=3)) == whole


@BOTH
def test_skipping_resumes_a_pass(batching):
    config = configured(batching)
    everything = contents(training_batches(MANY, config, epoch=1))
    for done in (0, 1, 3, len(everything)):
        assert contents(training_batches(MANY, config, epoch=1).skip(done)) == everything[done:]
        assert contents(training_batches(MANY, config, epoch=1, skip=done)) == everything[done:]


@BOTH
def test_what_is_skipped_is_not_read(monkeypatch, batching):
    read = []
    real = type(MANY.source).batch

    def noted(self, rows, width=0):
        read.append(len(rows))
        return real(self, rows, width)

    monkeypatch.setattr(type(MANY.source), "batch", noted)
    config = configured(batching)
    count = batch_count(MANY, config)
    assert len(list(training_batches(MANY, config, epoch=1, skip=count - 1))) == 1
    assert len(read) == 2  # source and target of the last batch


@BOTH
def test_no_thread_of_tensorflow_s_autotuning_is_waited_for_at_the_end_of_a_pass(batching):
    batches = training_batches(MANY, dataclasses.replace(CONFIG, batching=batching), epoch=0)
    assert not batches.options().autotune.enabled


def test_a_pass_can_be_left_and_begun_again():
    batches = training_batches(MANY, CONFIG, epoch=1)
    first = next(iter(batches))
    for batch in itertools.islice(batches, 1):
        np.testing.assert_array_equal(first["source"], batch["source"])


@BOTH
def test_batches_with_a_guide_are_the_same_and_have_the_links_of_their_pairs(batching):
    """Pair i links its last words, and from pair 10 on its first words too."""
    links = [sorted({(i % 7, i % 3), (0, 0)} if i >= 10 else {(i % 7, i % 3)}) for i in range(KEPT)]
    starts = np.cumsum([0, *map(len, links), 0, 0, 0])
    alignments = WordAlignments(
        np.array([link for pair in links for link in pair], np.int32), starts
    )
    config = configured(batching)
    guided = training_batches(MANY, config, epoch=1, alignments=alignments)
    batches = list(guided.as_numpy_iterator())
    unguided = [{name: batch[name] for name in ("source", "target")} for batch in contents(guided)]
    assert unguided == contents(training_batches(MANY, config, epoch=1))
    for batch in batches:
        source, target, guide = (batch[name] for name in ("source", "target", "guide"))
        assert guide.shape == (len(source), target.shape[1], source.shape[1])
        for sentence, matrix in zip(source, guide, strict=True):
            pair = sentence[0] - 3
            assert [(j, i) for i, j in np.argwhere(matrix)] == sorted(
                links[pair], key=lambda x: x[::-1]
            )
    rest = contents(training_batches(MANY, config, epoch=1, skip=3, alignments=alignments))
    assert rest == contents(guided.skip(3))
    assert len(rest) == len(batches) - 3


# --- evaluation -----------------------------------------------------------------------------------


def test_evaluation_batches_go_from_short_to_long():
    pairs = pairs_of_lengths((3, 1), (1, 1), (1, 2))
    first, last = ordered_batches(pairs, 2, "batch")
    assert first["source"].numpy().tolist() == [[4, 1], [5, 1]]
    assert first["target"].numpy().tolist() == [[4, 1, 0], [5, 5, 1]]
    assert last["source"].numpy().tolist() == [[3, 3, 3, 1]]
    assert last["target"].numpy().tolist() == [[3, 1]]


def test_evaluation_has_few_long_pairs_in_a_batch():
    pairs = pairs_of_lengths((5, 1), (1, 1), (3, 2), (2, 2), (30, 1), (1, 1))
    batches = [lists(batch["source"]) for batch in ordered_batches(pairs, 3, "batch", 12)]
    assert [[len(row) for row in batch] for batch in batches] == [[1, 1, 2], [3, 5], [30]]


def test_evaluation_has_blank_and_long_pairs_too():
    pairs = pairs_of_lengths((60, 0), (0, 0))
    (batch,) = ordered_batches(pairs, 2, "batch")
    assert lists(batch["source"]) == [[], [3] * 60]
    assert lists(batch["target"]) == [[], []]
