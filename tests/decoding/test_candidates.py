"""A sentence's candidates: the frequent words, and its words' translations; nothing else."""

import numpy as np

from rnnsearch_tf.decoding.candidates import CandidateLists
from rnnsearch_tf.decoding.continuations import BLOCK

TRANSLATIONS = np.array([[0, 0], [0, 0], [0, 0], [90, 7], [40, 0], [6, 90], [99, 41]], np.int32)


def lists(source, frequent=2, beam_size=1) -> tuple[list[int], list[list[int]], int]:
    """The words, those of each sentence, and the size."""
    made = CandidateLists(TRANSLATIONS, 100, frequent, beam_size).of(np.array(source, np.int32))
    words, penalty = made.words.numpy(), made.penalty.numpy()
    assert set(penalty.ravel()) <= {0, -np.inf}
    size = np.count_nonzero(words) + 1
    assert (words[size:] == 0).all() and (penalty[:, size:] == -np.inf).all()
    return words[:size].tolist(), [words[row == 0].tolist() for row in penalty], len(words)


def test_they_are_special_tokens_frequent_words_and_translations():
    words, of_each, size = lists([[3, 4, 1, 0], [5, 5, 3, 1]])
    assert words == [0, 1, 2, 3, 4, 6, 7, 40, 90]
    assert of_each == [[0, 1, 2, 3, 4, 7, 40, 90], [0, 1, 2, 3, 4, 6, 7, 90]]
    assert size == BLOCK


def test_a_list_depends_on_its_sentence_alone():
    sentences = [[3, 4, 1], [6, 1, 0], [1, 0, 0], [2, 5, 1]]
    together = lists(sentences)[1]
    assert together == [lists([sentence])[1][0] for sentence in sentences]
    assert together[2] == [0, 1, 2, 3, 4]


def test_the_size_is_one_that_the_search_can_have():
    assert lists([[3, 1]], beam_size=3)[2] == 3 * BLOCK
    assert lists([[3, 4, 1]], frequent=BLOCK - 5)[2] == BLOCK  # with 40 and 90
    assert lists([[3, 4, 6, 1]], frequent=BLOCK - 5)[2] == 2 * BLOCK
