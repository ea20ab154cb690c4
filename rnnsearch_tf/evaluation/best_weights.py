"""The choice of the best weights of a training run, by its evaluations."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf.config import TrainingConfig


def record_score(config: TrainingConfig, record: Mapping[str, Any]) -> float:
    """Return the score that chooses the best weights, −NLL or BLEU; greater is better.

    `record` is one of training.jsonl that has BLEU. Weights whose NLL is not finite are never the
    best: −∞. Where BLEU decides, weights with a BLEU below 1 rank below all others, by −NLL: such a
    BLEU says nothing.
    """
    nll, bleu = record["nll_per_token"], record["bleu"]
    if not math.isfinite(nll):
        return -math.inf
    return -nll if config.early_stopping == "nll" or bleu < 1 else bleu


def stops_early(config: TrainingConfig, records: Sequence[Mapping[str, Any]]) -> bool:
    """Whether none of the last `patience` evaluations has improved on the best score before."""
    if config.early_stopping == "none" or not records:
        return False
    scores = [record_score(config, record) for record in records]
    return len(scores) - scores.index(max(scores)) > config.patience
