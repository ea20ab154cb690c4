"""Computed orders: permutations, as random as drawn ones."""

import numpy as np
import pytest

from rnnsearch_tf.data.permutation import Permutation


def order(size: int, *seeds: int) -> np.ndarray:
    return Permutation(size, *seeds)(np.arange(size))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 19, 64, 1000, 4097])
def test_every_number_comes_once(size):
    assert sorted(order(size, 1, 2)) == list(range(size))


def test_a_place_has_the_same_number_however_it_is_asked_for():
    whole = order(1000, 3, 4)
    places = np.array([999, 0, 7, 7, 500])
    np.testing.assert_array_equal(Permutation(1000, 3, 4)(places), whole[places])
    assert Permutation(1000, 3, 4)(places).dtype == np.int64
    assert len(Permutation(1000, 3, 4)(places[:0])) == 0


def test_numbers_of_a_large_corpus():
    numbers = Permutation(41_000_000, 1, 0)(np.arange(41_000_000 - 1000, 41_000_000))
    assert len(set(numbers.tolist())) == 1000
    assert 0 <= numbers.min() < numbers.max() < 41_000_000
    assert abs(numbers.mean() / 41_000_000 - 0.5) < 5 / np.sqrt(12 * 1000)


def test_seeds_give_orders_of_their_own():
    orders = {tuple(order(19, seed, epoch)) for seed in range(20) for epoch in range(20)}
    assert len(orders) == 400


def test_every_number_is_as_likely_at_every_place():
    size, draws = 19, 2000
    counts = np.zeros((size, size))
    for seed in range(draws):
        counts[np.arange(size), order(size, seed, 1)] += 1
    expected = draws / size
    degrees = (size - 1) ** 2
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi2 - degrees) < 6 * np.sqrt(2 * degrees)


def test_neighbors_in_the_order_have_nothing_to_do_with_one_another():
    numbers = order(100_000, 1, 1)
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(100_000)
    assert abs(np.corrcoef(numbers, order(100_000, 1, 2))[0, 1]) < 4 / np.sqrt(100_000)
    means = numbers.reshape(-1, 100).mean(axis=1)  # of batches
    assert means.std() == pytest.approx(100_000 / np.sqrt(12 * 100), rel=0.1)
    adjacent = [(np.abs(np.diff(order(1000, 1, i))) == 1).sum() for i in range(100)]
    assert np.mean(adjacent) == pytest.approx(2, abs=0.6)


def test_the_order_is_this_one_for_good():
    """Checkpoints count batches of it."""
    assert order(10, 1, 0).tolist() == [0, 4, 7, 9, 2, 3, 5, 8, 6, 1]
