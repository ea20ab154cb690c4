"""Scores of methods of linking words, and the table of them."""

import json

import pytest

from rnnsearch_tf.alignment.error_rate import AlignmentScores
from rnnsearch_tf.alignment.extraction import LinkMethod
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.scripts.shared.alignment_evaluation import MethodScores, scores_table

FORWARD = LinkMethod(LinkRule("argmax"), "forward")
LOW, HIGH = (LinkMethod(LinkRule("threshold", t), "forward") for t in (0.3, 0.6))
BOTH = LinkMethod(LinkRule("argmax"), "both", "grow-diag")


def scored(method: LinkMethod, *counts: int) -> MethodScores:
    return MethodScores(method, AlignmentScores(37, *counts))


def test_scores_as_a_table():
    methods = [scored(FORWARD, 1_000, 800, 600, 700), scored(HIGH, 0, 800, 0, 0)]
    lines = scores_table(methods).splitlines()
    assert lines[0].split() == ["AER", "%", "precision", "recall", "links"]
    # 1 − 1300/1800, 700/1000, 600/800.
    assert lines[1].split() == ["forward,", "argmax", "27.8", "70.0", "75.0", "1,000"]
    assert lines[2].split() == ["forward,", "threshold", "0.6", "100.0", "–", "0.0", "0"]
    assert lines[3] == "37 sentence pairs, 800 sure links"
    assert len({len(line) for line in lines[:3]}) == 1


def test_scores_go_into_json():
    assert json.loads(json.dumps(scored(BOTH, 10, 10, 9, 9).as_dict())) == {
        "weights": "both", "rule": "argmax", "threshold": None, "symmetrize": "grow-diag",
        "aer": pytest.approx(0.1), "aer_interval": None, "precision": 0.9, "recall": 0.9,
        "sentences": 37, "links": 10, "sure": 10, "links_in_sure": 9, "links_in_possible": 9,
    }  # fmt: skip
    assert scored(LOW, 10, 10, 7, 7).as_dict()["threshold"] == 0.3
