"""When work is done in two halves, and how many threads an operation has then."""

import os

import pytest

from rnnsearch_tf import threads


@pytest.mark.parametrize(
    ("cores", "units", "inter", "intra", "expected"),
    [
        (2, 256, None, None, "1"),
        (8, 256, None, None, "4"),
        (1, 256, None, None, None),  # one core has one half
        (2, 1000, None, None, None),  # large products occupy both
        (2, 256, "1", None, None),  # one operation at a time
        (2, 256, None, "2", "2"),  # the user's choice stays
    ],
)
def test_operations_have_half_of_the_cores(monkeypatch, cores, units, inter, intra, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    given = {"TF_NUM_INTEROP_THREADS": inter, "TF_NUM_INTRAOP_THREADS": intra}
    for name, value in given.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    threads.halve_operations(units)
    assert os.environ.get("TF_NUM_INTRAOP_THREADS") == expected
