"""Calibration: whether a model's probabilities match its accuracy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.limits import Limits

_BINS = 10  # of equal width


class Bin(NamedTuple):
    """The predictions whose probability is above `low`, up to `high`."""

    low: float
    high: float
    tokens: int
    confidence: float  # their mean probability
    accuracy: float  # fraction of correct predictions


class Calibration(NamedTuple):
    """Calibration of greedy predictions of the next token, under teacher forcing."""

    error: float  # expected calibration error, 0 to 1
    tokens: int
    bins: list[Bin]  # those with a prediction, rising


def calibration(
    confidence: Sequence[float] | np.ndarray, correct: Sequence[bool] | np.ndarray
) -> Calibration:
    """Compute the expected calibration error.

    With n predictions, the most probable tokens ŷ_i of p(y_i | y_<i, x), in bins B_b of their
    probability (Kumar & Sarawagi 2019, Calibration of Encoder Decoder Models for Neural Machine
    Translation, arXiv 1903.00802, section 2):

        ECE = Σ_b |B_b| / n · |accuracy(B_b) − confidence(B_b)|

    `confidence` is p(ŷ_i), above 0, [N]; `correct`, whether ŷ_i is the reference's token, [N].
    InputError if a probability is not finite.
    """
    confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    if not np.isfinite(confidence).all():
        raise InputError("the model's probabilities are not finite, so they have no calibration")
    confidence = np.minimum(confidence, 1)  # p of 1 may be rounded up
    index = np.clip(np.ceil(confidence * _BINS).astype(int) - 1, 0, _BINS - 1)
    rows = [(b, index == b) for b in range(_BINS) if (index == b).any()]
    bins = [
        Bin(b / _BINS, (b + 1) / _BINS, int(own.sum()), float(confidence[own].mean()),
            float(correct[own].mean()))
        for b, own in rows
    ]  # fmt: skip
    gaps = (one.tokens * abs(one.accuracy - one.confidence) for one in bins)
    return Calibration(sum(gaps) / max(len(confidence), 1), len(confidence), bins)


def read_calibration(path: str | Path) -> Calibration:
    """Read the calibration from a JSON file of `scores.TranslationScores.as_dict`.

    InputError if the file cannot be read, is not such a file, or has none.
    """
    with input_errors(f"{path}: not what rnnsearch-evaluate --calibration --json writes"):
        values = typed(dict[str, Any], read_json(path))
        read = typed(Calibration, values.get("calibration"), "calibration")
        for one in read.bins:
            for share in (read.error, one.low, one.high, one.confidence, one.accuracy):
                Limits(0, 1).check("calibration", share)
        return read
