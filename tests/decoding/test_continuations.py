"""The best continuations, against a sort of all of them in NumPy."""

import math

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.decoding.continuations import BLOCK, best_continuations

EOS = 1


def sorted_continuations(logits, before_words, before_eos, k, banned=()):
    """All continuations of a sentence, float32: (log p, parent, word), best first, k of them."""
    found = []
    for parent, row in enumerate(logits):
        normalizer = np.float32(np.log(np.exp(row.astype("float64")).sum()))
        words = [word for word in range(len(row)) if word not in (EOS, *banned)]
        for word, before in [(w, before_words[parent]) for w in words] + [
            (EOS, before_eos[parent])
        ]:
            log_prob = before if before == math.inf else before - normalizer + row[word]
            if log_prob > -math.inf:
                found.append((log_prob, parent, word))
    return sorted(found, key=lambda item: -item[0])[:k]  # stable: ties keep this order


def assert_same(logits, before_words, before_eos, k, banned=(), find=best_continuations):
    before_words, before_eos = np.asarray(before_words), np.asarray(before_eos)
    found = find(tf.constant(logits), before_words, before_eos, k, EOS, banned)
    log_probs, parents, words = (x.numpy() for x in found)
    assert log_probs.shape == parents.shape == words.shape == (len(logits), k)
    for i in range(len(logits)):
        expected = sorted_continuations(logits[i], before_words[i], before_eos[i], k, banned)
        n = len(expected)
        pairs = list(zip(parents[i, :n], words[i, :n], strict=True))
        assert pairs == [(parent, word) for _, parent, word in expected]
        # A log p near 0 is a difference of larger numbers, with their rounding.
        best = [x[0] for x in expected]
        np.testing.assert_allclose(log_probs[i, :n], best, rtol=1e-5, atol=2e-6)
        assert (log_probs[i, n:] == -math.inf).all()


@pytest.mark.parametrize("columns", [3, 13, 1000, 1009])  # 1009: prime
@pytest.mark.parametrize(
    ("shape", "k"), [((2, 5), 1), ((2, 5), 3), ((2, 5), 7), ((41, 1), 1)], ids=str
)  # the last: a greedy search
@pytest.mark.parametrize("banned", [(), (0, 2), (2,)], ids=str)
def test_they_are_the_best(columns, shape, k, banned):
    random = np.random.default_rng(columns)
    logits = 3 * random.normal(size=[*shape, columns]).astype("float32")
    logits[: shape[0] // 2, :, EOS] += 5  # where it may come first
    before = random.normal(size=[2, *shape]).astype("float32")
    before[0, ::5, -1] = before[1, 1::5, 0] = -math.inf
    assert_same(logits, before[0], before[1], k, banned)


@pytest.mark.parametrize("banned", [(), (0, 2)], ids=str)
def test_they_are_where_the_size_of_the_vocabulary_is_not_known(banned):
    @tf.function(input_signature=[*map(tf.TensorSpec, ([2, 5, None], [2, 5], [2, 5]))])
    def search(logits, before_words, before_eos):
        return best_continuations(logits, before_words, before_eos, 3, EOS, banned)

    for columns in (3 * BLOCK, 1024):
        random = np.random.default_rng(columns)
        logits = 3 * random.normal(size=[2, 5, columns]).astype("float32")
        logits[:, :, columns // 2 :] = -np.inf
        logits[:, :, :3] += 9
        before = random.normal(size=[2, 2, 5]).astype("float32")
        assert_same(logits, before[0], before[1], 3, banned, lambda *given: search(*given[:3]))


def test_a_tie_of_a_greedy_search_goes_to_the_lower_word():
    logits = np.array([[[0, 7, -200, 7, 7]], [[-200, 7, -200, -200, -200]]], "float32")
    zeros = np.zeros([2, 1], "float32")
    assert_same(logits, zeros, zeros, 1)


@pytest.mark.parametrize("columns", [13, 1000, 1009])
@pytest.mark.parametrize("levels", [1, 2, 5])
def test_ties_go_to_the_hypothesis_then_the_word_then_eos(columns, levels):
    random = np.random.default_rng(levels)
    # Levels so far apart that the sums of exponentials are exact: no normalizer breaks a tie. 16
    # sentences fill registers: the reciprocals of a rest may differ in the last bit.
    rows = -200.0 * random.integers(levels, size=[16, 1, columns]).astype("float32")
    rows[:, :, 2] = 0
    logits = np.repeat(rows, 3, axis=1)
    before = np.zeros([16, 3], "float32")
    assert_same(logits, before, before, 11, banned=(4,))


@pytest.mark.parametrize("finite", [0, 1, 3, 11])
def test_empty_places_come_last(finite):
    random = np.random.default_rng(finite)
    logits = np.full([5, 2, 1009], -np.inf, "float32")
    for row in logits.reshape(-1, 1009):
        row[random.choice(1009, finite, replace=False)] = random.normal(size=finite)
    before = np.tile(np.float32([0, -1]), [5, 1])  # no ties of words that are certain
    with np.errstate(divide="ignore", invalid="ignore"):
        assert_same(logits, before, before, 29)


@pytest.mark.parametrize("ill", [math.nan, math.inf])
def test_ill_logits_have_no_continuation_but_the_one_that_is_certain(ill):
    logits = np.zeros([1, 3, 13], "float32")
    logits[0, :2, 5] = ill
    before_eos = tf.constant([[0.0, math.inf, 0.0]])
    found = best_continuations(tf.constant(logits), tf.zeros([1, 3]), before_eos, 5, EOS)
    np.testing.assert_array_equal(found.parents, [[1, 2, 2, 2, 2]])
    np.testing.assert_array_equal(found.words, [[EOS, 0, 2, 3, 4]])
    np.testing.assert_allclose(found.log_probs, [[math.inf] + 4 * [-math.log(13)]], rtol=1e-6)
    # Of a greedy search.
    found = best_continuations(
        tf.constant(logits[0, :2, None]), tf.zeros([2, 1]), tf.constant([[0.0], [math.inf]]), 1, EOS
    )
    np.testing.assert_array_equal(found.log_probs, [[-math.inf], [math.inf]])
    assert found.words[1, 0] == EOS
