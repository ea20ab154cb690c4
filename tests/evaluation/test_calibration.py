"""Expected calibration error: by hand, by NumPy's histogram, and from a file."""

import json

import numpy as np
import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.calibration import Calibration, calibration, read_calibration


def test_by_hand():
    measured = calibration([0.95, 0.85, 0.81, 0.05, 1 + 1e-6], [True, True, False, True, False])
    # Bins: (0, 0.1]: 0.05, right; (0.8, 0.9]: 0.83, half; (0.9, 1]: 0.975, half.
    assert [(b.low, b.high, b.tokens) for b in measured.bins] == [
        (0.0, 0.1, 1), (0.8, 0.9, 2), (0.9, 1.0, 2),
    ]  # fmt: skip
    np.testing.assert_allclose([b.confidence for b in measured.bins], [0.05, 0.83, 0.975])
    assert [b.accuracy for b in measured.bins] == [1, 0.5, 0.5]
    assert measured.error == pytest.approx((0.95 + 2 * 0.33 + 2 * 0.475) / 5)
    assert measured.tokens == 5


def test_what_is_not_finite_is_in_no_bin():
    with pytest.raises(InputError, match="not finite"):
        calibration([0.95, float("nan")], [True, False])


def test_a_bin_has_its_upper_edge():
    edges = np.float32([0.1, 0.2, 0.5, 1.0])
    for value in edges:
        [one] = calibration([float(value)], [True]).bins
        assert one.low < one.confidence and one.high == pytest.approx(float(value), abs=0.11)


def test_files(tmp_path):
    measured = calibration([0.4, 0.9], [False, True])
    values = {**measured._asdict(), "bins": [b._asdict() for b in measured.bins]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"calibration": values}))
    read = read_calibration(path)
    assert isinstance(read, Calibration) and read == measured
    for damaged in ({}, {"calibration": None}, {"calibration": {**values, "error": 2}}):
        path.write_text(json.dumps(damaged))
        with pytest.raises(InputError, match="not what rnnsearch-evaluate --calibration --json"):
            read_calibration(path)
