"""The model of weak scaling, and its table in docs/distributed.md."""

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmark"))

import weak_scaling

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"


def test_what_each_worker_sends():
    assert [weak_scaling.bytes_sent(1000, workers) for workers in (1, 2, 4)] == [0, 1000, 1500]


def test_seconds_of_an_update():
    assert weak_scaling.update_seconds(10**9, 3.0, 1, 8) == 3.0
    assert weak_scaling.update_seconds(10**9, 3.0, 2, 8) == pytest.approx(4.0)


def test_an_update_by_one_worker_is_the_measured_one(monkeypatch, tmp_path):
    words_s = {"paper25, training, words/s, float32": {"rnnsearch_tf": [900.0, 1100.0, 1000.0]}}
    (tmp_path / "stored.json").write_text(json.dumps({"figures": words_s}), "utf-8")
    monkeypatch.setattr(weak_scaling, "__file__", str(tmp_path / "weak_scaling.py"))
    assert weak_scaling.measured_update("paper25") == pytest.approx(80 * 25 / 1000)


def test_the_page_has_the_models_table():
    page = PAGE.read_text("utf-8")
    (count,) = re.findall(r"RNNsearch has ([\d,]+) weights", page)
    size = 4 * int(count.replace(",", ""))
    seconds = weak_scaling.measured_update("paper25")
    lines = weak_scaling.table(size, seconds, [1, 2, 4, 8, 16, 32, 64], [1, 10, 25, 100])
    assert "\n".join(lines) in page, "stale: python benchmark/weak_scaling.py"
