"""Word alignments as guides of the attention."""

import numpy as np

from rnnsearch_tf.data.word_alignments import WordAlignments
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK

# Pair 0: 0-0 and 2-1. Pair 1: none. Pair 2: 1-0, 3-0, 4-0 and 2-2, which occurs twice.
LINKS = WordAlignments(
    np.array([[0, 0], [2, 1], [1, 0], [3, 0], [4, 0], [2, 2], [2, 2]], np.int32),
    np.array([0, 2, 2, 7]),
)


def words(count: int, pairs: int) -> np.ndarray:
    """Sentences of that many unknown words."""
    return np.full((pairs, count), UNK)


def test_a_row_is_uniform_over_the_links_of_its_target_word():
    third = np.float32(1) / 3
    guide = LINKS.guide(np.array([2]), words(5, 1), words(3, 1))
    assert guide.tolist() == [[[0, third, 0, third, third], [0] * 5, [0, 0, 1, 0, 0]]]
    assert guide.dtype == np.float32


def test_pairs_in_the_order_asked_for_with_end_symbol_and_padding_left_alone():
    guide = LINKS.guide(np.array([1, 0, 0]), words(7, 3), words(3, 3))
    assert guide.shape == (3, 3, 7)
    for row in (1, 2):
        assert np.argwhere(guide[row]).tolist() == [[0, 0], [1, 2]]  # target, source
    assert not guide[0].any()
    assert set(guide.flat) == {0, 1}
    assert len(LINKS) == 3


def test_a_corpus_may_have_no_link_at_all():
    links = WordAlignments(np.zeros((0, 2), np.int32), np.zeros(3, np.int64))
    assert not links.guide(np.array([0, 1]), words(2, 2), words(3, 2)).any()


def test_pieces_are_linked_as_their_words():
    """Pieces 3 and 5 begin words, 4 and 6 do not, but at the beginning of a sentence."""
    starts = np.array([False, False, False, True, False, True, False])
    alignments = WordAlignments(
        np.array([[0, 1], [1, 1], [2, 0], [1, 0]]), np.array([0, 3, 4]), (starts, starts)
    )
    source = np.array([[3, 4, 5, 3, 6, EOS], [4, 5, EOS, PAD, PAD, PAD]])  # words 00122 and 01
    target = np.array([[3, 5, 6, 4, 3, EOS], [6, 6, 5, EOS, PAD, PAD]])  # words 01112 and 001
    nothing, third = [0] * 6, np.float32(1) / 3
    to_two = [third, third, third, 0, 0, 0]
    guide = alignments.guide(np.array([0, 1]), source, target)
    assert guide.tolist() == [
        [[0, 0, 0, 0.5, 0.5, 0], to_two, to_two, to_two, nothing, nothing],
        [[0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], nothing, nothing, nothing, nothing],
    ]
    assert guide.dtype == np.float32
