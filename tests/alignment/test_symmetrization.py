"""Links of two directions joined; the examples are drawn by hand."""

import itertools
import random
from typing import Any

import pytest

from rnnsearch_tf.alignment.symmetrization import SYMMETRIZATIONS, symmetrize

#            source 0  1  2  3  4        F forward alone, R reverse alone, B both
#   target 0        B
#          1           B
#          2        R  F  R
#          4              F
#          5                    R
#          6                    F
FORWARD = {(0, 0), (1, 1), (1, 2), (2, 4), (4, 6)}
REVERSE = {(0, 0), (1, 1), (0, 2), (2, 2), (4, 5)}
BOTH = {(0, 0), (1, 1)}
# From (1, 1): (1, 2) at its side first, which leaves nothing free to (0, 2); then (2, 2).
GROWN = BOTH | {(1, 2), (2, 2)}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("intersection", BOTH),
        ("union", FORWARD | REVERSE),
        ("grow-diag", GROWN),
        # Forward: target 4 is free, then 4 and 6 are; reverse: target 5 is free.
        ("grow-diag-final", GROWN | {(2, 4), (4, 6), (4, 5)}),
        # Source 2 has a link, and source 4 has one once (4, 6) is taken.
        ("grow-diag-final-and", GROWN | {(4, 6)}),
    ],
)
def test_by_hand(how, expected):
    assert symmetrize(FORWARD, REVERSE, how) == expected


def test_a_method_that_there_is_not():
    method: Any = "grow"
    with pytest.raises(ValueError, match=r"^method 'grow': choose one of intersection, union, "):
        symmetrize(FORWARD, REVERSE, method)


def test_links_grow_from_grown_links_in_every_direction():
    union = {(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)}
    assert symmetrize(union, {(2, 2)}, "grow-diag") == union
    assert symmetrize({(2, 2)}, union | {(7, 7)}, "grow-diag") == union


def test_links_grow_by_target_place_first():
    # Both (3, 1) and (0, 1) would take target 1, which is all they have to offer.
    both = {(3, 0), (0, 2)}
    assert symmetrize(both | {(3, 1)}, both | {(0, 1)}, "grow-diag") == both | {(3, 1)}
    # Flipped, so that source 1 is wanted: (0, 3) comes after (2, 0).
    both = {(0, 3), (2, 0)}
    assert symmetrize(both | {(1, 3)}, both | {(1, 0)}, "grow-diag") == both | {(1, 0)}


def test_nothing_grows_where_nothing_agrees():
    forward, reverse = {(0, 0), (1, 2)}, {(1, 1)}
    assert symmetrize(forward, reverse, "grow-diag") == set()
    assert symmetrize(forward, reverse, "grow-diag-final-and") == forward
    assert symmetrize(forward, reverse, "grow-diag-final") == forward | reverse


def random_links(generator: random.Random) -> set[tuple[int, int]]:
    cells = itertools.product(range(5), range(7))
    return {cell for cell in cells if generator.random() < 0.2}


@pytest.mark.parametrize("seed", range(50))
def test_each_lies_between_intersection_and_union(seed):
    generator = random.Random(seed)
    forward, reverse = random_links(generator), random_links(generator)
    joined = {how: symmetrize(forward, reverse, how) for how in SYMMETRIZATIONS}
    assert joined["intersection"] <= joined["grow-diag"]
    assert joined["grow-diag"] <= joined["grow-diag-final"] <= joined["union"]
    assert joined["grow-diag"] <= joined["grow-diag-final-and"] <= joined["union"]
    for how in ("grow-diag-final", "union"):  # leave no word out that has a link at all
        for side in (0, 1):
            words = {link[side] for link in joined["union"]}
            assert {link[side] for link in joined[how]} == words
    for source, target in joined["union"] - joined["grow-diag-final-and"]:
        taken = joined["grow-diag-final-and"]
        assert any(link[0] == source or link[1] == target for link in taken)
    for how in SYMMETRIZATIONS:
        assert symmetrize(forward, forward, how) == forward


def test_the_given_sets_stay_as_they_are():
    forward, reverse = set(FORWARD), set(REVERSE)
    for how in SYMMETRIZATIONS:
        symmetrize(forward, reverse, how).add((9, 9))
    assert (forward, reverse) == (FORWARD, REVERSE)
