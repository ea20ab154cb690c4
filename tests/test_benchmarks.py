"""The benchmarks: their tables, and that each command still runs."""

import contextlib
import json
import random
import re
import runpy
import sys
from pathlib import Path

import pytest
from forked import ForkedProcess

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))

import compare
import copied_pairs
import everyday_pairs
import one_line

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


def test_made_up_pairs_have_the_same_change_on_both_sides():
    pairs = [
        ("Today Mr Schmidt has seen 27 reports.", "Aujourd'hui M. Schmidt a vu 27 rapports."),
        ("The debate in Strasbourg is closed.", "Le débat à Strasbourg est clos."),
    ]
    made = copied_pairs.made_up(pairs, 2, random.Random(1))
    assert made == copied_pairs.made_up(pairs, 2, random.Random(1))
    assert len(made) == 15  # one of the pairs has a number
    assert not set(made) & set(pairs)
    additions = [
        tuple(side.partition(" (")[2] for side in pair) for pair in made if pair[0].endswith(").")
    ]
    assert len(additions) == 10
    copied = [source for source, target in additions if source == target]
    assert len(copied) == 6
    for amounts_and_times in set(additions) - {(text, text) for text in copied}:
        numbers, french = (list(map(int, re.findall(r"\d+", text))) for text in amounts_and_times)
        assert numbers[1:] == french[1:]
        assert french[0] - numbers[0] in (0, 12, -12)  # 1:30 p.m. is 13 h 30
    assert ("the debate in Strasbourg is closed", "le débat à Strasbourg est clos") in made


def test_everyday_pairs_are_filled_in_alike_on_both_sides():
    assert everyday_pairs.made_up(60, 20, 1) == everyday_pairs.made_up(60, 20, 1)
    made = set(everyday_pairs.made_up(6000, 20, 1))
    assert not [pair for pair in made if "{" in "".join(pair) or "" in pair]
    assert ("Sand the wood before you varnish it.", "Poncez le bois avant de le vernir.") in made
    homes = re.compile(r"(\w+) (?:lives in|habite à) Montr[eé]al")
    found = [[homes.findall(side) for side in pair] for pair in made]
    assert any(source for source, _ in found)
    assert all(source == target for source, target in found)
    assert any(source.endswith(" is an engineer.") for source, _ in made)
    assert any(re.match(r"Il est 1[3-9] h \d\d", target) for _, target in made)
    assert not any("m.." in source for source, _ in made)
    assert not any(re.search(r"\ba (?!one-|eu|and)[aeio]", source) for source, _ in made)
    assert any("d'Athènes" in target for _, target in made)
    # Before a verb, "de le" is right.
    wrong = re.compile(r"\bde les? (?!((lui|leur) )?\w+([ei]r|re)\b)")
    assert not any(wrong.search(target) for _, target in made)


def test_bad_input_is_one_line(monkeypatch, tmp_path, capsys):
    missing = tmp_path / "missing.en"
    flags = [f"--source={missing}", f"--target={missing}", f"--output={tmp_path / 'copied'}"]
    monkeypatch.setattr(sys, "argv", ["benchmark/copied_pairs.py", *flags])
    with pytest.raises(SystemExit) as ended:
        one_line.run(copied_pairs.main)
    assert ended.value.code == 1
    said = f"copied_pairs.py: {missing}: No such file or directory\n"
    assert capsys.readouterr().err == said


def run_script(output: Path, command: list[str]) -> int:
    """Run a script in a process that is a test's own, and write what it prints to a file."""
    sys.argv = command
    with output.open("w", encoding="utf-8") as file, contextlib.redirect_stdout(file):
        runpy.run_path(command[0], run_name="__main__")
    return 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "flags", "fields"),
    [
        ("training_speed.py", ["--dtype_policy=mixed_bfloat16"], {"words_s", "loss_last"}),
        ("search_speed.py", ["--candidates=100"], {"sents_s", "beam"}),
    ],
)
def test_a_small_measurement(tmp_path, script, flags, fields):
    command = [str(FOLDER / script), "--workload=smoke", "--wait=0", *flags]
    process = ForkedProcess(run_script, tmp_path / "lines", command)
    said = process.finish()
    assert process.returncode == 0, said
    lines = [json.loads(line) for line in (tmp_path / "lines").read_text("utf-8").splitlines()]
    assert lines and all(fields < line.keys() for line in lines)
    assert all(line[field] > 0 for line in lines for field in fields)
