"""Soft alignments to links."""

from typing import Any

import numpy as np
import pytest

from rnnsearch_tf.alignment.links import LinkRule

ALIGNMENT = np.array(
    [
        # source words 0, 1, 2 and </s>
        [0.7, 0.2, 0.1, 0.0],
        [0.1, 0.3, 0.5, 0.1],
        [0.1, 0.1, 0.1, 0.7],  # at </s>
        [0.6, 0.2, 0.1, 0.1],
        [0.0, 0.9, 0.1, 0.0],  # the target's </s>
    ],
    np.float32,
)


def test_argmax_links_each_target_word_to_where_it_looks_most():
    assert LinkRule("argmax").links(ALIGNMENT) == {(0, 0), (2, 1), (0, 3)}


def test_argmax_takes_the_first_of_equal_weights():
    even = np.full((3, 4), 0.25, np.float32)
    assert LinkRule("argmax").links(even) == {(0, 0), (0, 1)}


def test_argmax_links_no_word_that_attends_to_nothing():
    assert LinkRule("argmax").links(np.zeros((3, 4), np.float32)) == set()


def test_threshold_links_all_that_weigh_enough():
    assert LinkRule("threshold", 0.25).links(ALIGNMENT) == {(0, 0), (1, 1), (2, 1), (0, 3)}
    assert LinkRule("threshold", 0.55).links(ALIGNMENT) == {(0, 0), (0, 3)}
    assert LinkRule("threshold", 1.0).links(ALIGNMENT) == set()


def test_a_weight_equal_to_the_threshold_is_a_link():
    halves = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.float32)
    assert LinkRule("threshold", 0.5).links(halves) == {(0, 0), (1, 0)}


@pytest.mark.parametrize("rule", [LinkRule("argmax"), LinkRule("threshold", 0.1)])
def test_a_blank_sentence_has_no_links(rule):
    assert rule.links(np.ones((1, 1), np.float32)) == set()  # </s> looks at </s>
    assert rule.links(np.ones((3, 1), np.float32)) == set()
    assert rule.links(np.ones((1, 3), np.float32)) == set()


def test_rules_that_there_are_not():
    unknown: Any = "softmax"
    with pytest.raises(ValueError, match="'softmax': choose one of argmax, threshold"):
        LinkRule(unknown)
    for threshold in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            LinkRule("threshold", threshold)
    with pytest.raises(ValueError, match="the rule argmax has none"):
        LinkRule(threshold=0.1)
