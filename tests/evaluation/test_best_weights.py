"""Which weights are the best, by likelihood and BLEU."""

import math

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.evaluation.best_weights import record_score


def test_weights_without_a_finite_likelihood_are_never_the_best():
    for monitor in ("bleu", "nll"):
        config = TrainingConfig(early_stopping=monitor)
        assert _score(config, 2.5, 7.0) == {"bleu": 7.0, "nll": -2.5}[monitor]
        for nll in (math.nan, math.inf):
            assert _score(config, nll, 7.0) == -math.inf


def test_weights_with_a_bleu_that_says_nothing_are_chosen_by_their_likelihood():
    evaluations = [(9, 0.9), (8, 0.0), (7, 0.1), (9, 1.0)]
    scores = [_score(TrainingConfig(), *each) for each in evaluations]
    assert scores == sorted(scores) and len(set(scores)) == 4


def _score(config, nll, bleu):
    return record_score(config, {"nll_per_token": nll, "bleu": bleu})
