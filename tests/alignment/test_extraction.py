"""From the matrices of one or two directions to links."""

from typing import Any

import numpy as np
import pytest

from rnnsearch_tf.alignment.extraction import LinkMethod, all_methods
from rnnsearch_tf.alignment.links import LinkRule

ARGMAX = LinkRule("argmax")
# Two source words and three target words; </s> is last on both sides.
FORWARD = np.array([[0.9, 0.1, 0.0], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]], np.float32)
REVERSE = np.array(
    [[0.45, 0.5, 0.05, 0.0], [0.48, 0.02, 0.5, 0.0], [0.0, 0.0, 0.2, 0.8]], np.float32
)
BY_TARGET_WORDS = {(0, 0), (0, 1), (1, 2)}  # rows of FORWARD
BY_SOURCE_WORDS = {(0, 1), (1, 2)}  # rows of REVERSE


def links(weights: Any, how: Any = None, rule: LinkRule = ARGMAX) -> set[tuple[int, int]]:
    return LinkMethod(rule, weights, how).links(FORWARD, REVERSE)


def test_one_direction_by_its_own_rows():
    assert links("forward") == BY_TARGET_WORDS
    assert links("reverse") == BY_SOURCE_WORDS
    assert LinkMethod(ARGMAX, "forward").links(FORWARD) == BY_TARGET_WORDS


def test_one_direction_by_rows_and_columns():
    # The columns of FORWARD: source word 0 is attended most by target word 0, 1 by 2.
    assert links("forward", "intersection") == {(0, 0), (1, 2)}
    assert links("forward", "union") == BY_TARGET_WORDS
    # The columns of REVERSE: target word 0 is attended most by source word 1, 1 by 0, 2 by 1.
    assert links("reverse", "intersection") == {(0, 1), (1, 2)}
    assert links("reverse", "union") == {(1, 0), (0, 1), (1, 2)}


def test_two_directions():
    assert links("both", "intersection") == {(0, 1), (1, 2)}
    assert links("both", "union") == {(0, 0), (0, 1), (1, 2)}


def test_the_average_is_the_geometric_mean():
    # √(0.1 · 0.48) = 0.22 of target word 0 and source word 1; (0.1 + 0.48) / 2 = 0.29.
    linked = links("average", rule=LinkRule("threshold", 0.23))
    assert linked == {(0, 0), (0, 1), (1, 2)}
    assert links("average", rule=LinkRule("threshold", 0.6)) == {(0, 0)}
    # √(0.9 · 0.45) = 0.64, √(0.6 · 0.5) = 0.55: source word 0 chooses otherwise than in REVERSE.
    assert links("average") == {(0, 0), (0, 1), (1, 2)}
    assert links("average", "intersection") == {(0, 0), (1, 2)}


def test_thresholds_of_two_directions():
    rule = LinkRule("threshold", 0.4)
    assert links("forward", rule=rule) == {(0, 0), (0, 1), (1, 2)}
    assert links("reverse", rule=LinkRule("threshold", 0.5)) == {(0, 1), (1, 2)}
    assert links("both", "intersection", LinkRule("threshold", 0.5)) == {(0, 1), (1, 2)}
    assert links("both", "union", LinkRule("threshold", 0.2)) == {
        (0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2),
    }  # fmt: skip


def test_all_methods_differ():
    methods = all_methods(two_models=True)
    assert len(methods) == len(set(methods)) == len({str(method) for method in methods})
    # argmax: 6 ways of each of three matrices, and 5 of both; 12 thresholds: 1 of each, 5 of both.
    assert len(methods) == 3 * 6 + 5 + 12 * (3 + 5)
    assert all(method.weights == "forward" for method in all_methods(two_models=False))
    assert len(all_methods(two_models=False)) == 6 + 12


def test_methods_have_names():
    assert str(LinkMethod(ARGMAX, "forward")) == "forward, argmax"
    assert LinkRule("threshold") == LinkRule("threshold", 0.3)
    assert str(LinkMethod(LinkRule("threshold", 0.3), "both", "union")) == (
        "both, threshold 0.3, union"
    )


def test_methods_that_there_are_not():
    unknown: Any = "sideways"
    grow: Any = "grow"
    with pytest.raises(ValueError, match="'sideways': choose one of forward, reverse"):
        LinkMethod(ARGMAX, unknown)
    with pytest.raises(ValueError, match="'grow': choose one of intersection"):
        LinkMethod(ARGMAX, "forward", grow)
    with pytest.raises(ValueError, match="two directions need"):
        LinkMethod(ARGMAX, "both")
    with pytest.raises(ValueError, match="needs the alignment of the other direction"):
        LinkMethod(ARGMAX, "average").links(FORWARD)
