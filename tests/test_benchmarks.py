"""The benchmarks: their tables, and that each command still runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))

import compare

FOLDER = Path(compare.__file__).parent


def test_the_table_has_medians_ranges_and_ratios_of_one_run():
    row = "multi30k, beam 5{}, sentences/s, float32"
    candidates = row.format(" of 1,000 candidate words")
    now = {
        row.format(""): {"rnnsearch_tf": [600.0, 500.0, 550.0], "peer": [400.0, 440.0, 410.0]},
        candidates: {"rnnsearch_tf": [820.0]},
        "paper25, training, words/s, float32": {"rnnsearch_tf": [99.5, 97.0]},
    }
    stored = {"figures": {row.format(""): {"rnnsearch_tf": [1100.0], "peer": [1000.0]}}}
    lines = list(compare.table(now, {"cpu": "this"}, {**stored, "cpu": "that"}))
    assert "now: date ?, cpu this" in lines[0] and "stored: date ?, cpu that" in lines[1]
    assert lines[-3:] == [
        f"| {row.format('')} | 550 (500–600) | 1.34 | 1,100 (1,100–1,100) | 1.10 |",
        f"| {candidates} | 820 (820–820) | 2.00 | – | – |",
        "| paper25, training, words/s, float32 | 98.2 (97.0–99.5) | – | – | – |",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "flags", "fields"),
    [
        ("training_speed.py", ["--dtype_policy=mixed_bfloat16"], {"words_s", "loss_last"}),
        ("search_speed.py", ["--candidates=100"], {"sents_s", "beam"}),
    ],
)
def test_a_small_measurement(script, flags, fields):
    command = [sys.executable, str(FOLDER / script), "--workload=smoke", "--wait=0", *flags]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines and all(fields < line.keys() for line in lines)
    assert all(line[field] > 0 for line in lines for field in fields)
