"""Word alignments as guides of the attention."""

import numpy as np

from rnnsearch_tf.data.word_alignments import WordAlignments

# Pair 0: 0-0 and 2-1. Pair 1: none. Pair 2: 1-0, 3-0, 4-0 and 2-2, which is there twice.
LINKS = WordAlignments(
    np.array([[0, 0], [2, 1], [1, 0], [3, 0], [4, 0], [2, 2], [2, 2]], np.int32),
    np.array([0, 2, 2, 7]),
)


def test_a_row_is_uniform_over_the_links_of_its_target_word():
    third = np.float32(1) / 3
    guide = LINKS.guide(np.array([2]), source_steps=5, target_steps=3)
    assert guide.tolist() == [[[0, third, 0, third, third], [0] * 5, [0, 0, 1, 0, 0]]]
    assert guide.dtype == np.float32


def test_pairs_in_the_order_asked_for_with_end_symbol_and_padding_left_alone():
    guide = LINKS.guide(np.array([1, 0, 0]), source_steps=7, target_steps=3)
    assert guide.shape == (3, 3, 7)
    for row in (1, 2):
        assert np.argwhere(guide[row]).tolist() == [[0, 0], [1, 2]]  # target, source
    assert not guide[0].any()
    assert set(guide.flat) == {0, 1}
    assert len(LINKS) == 3


def test_a_corpus_may_have_no_link_at_all():
    links = WordAlignments(np.zeros((0, 2), np.int32), np.zeros(3, np.int64))
    assert not links.guide(np.array([0, 1]), 2, 3).any()
