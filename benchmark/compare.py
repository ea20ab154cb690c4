"""Measure training and search several times, and print the figures beside those in stored.json.

`make bench` runs it. Each measurement is a process of its own, `training_speed.py` or
`search_speed.py`; with `--peer`, another implementation takes turns with it. The figures are the
median of the repetitions and, in brackets, their range.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import one_line
import workloads

_FOLDER = Path(__file__).parent
_STORED = _FOLDER / "stored.json"
_OURS, _PEER = "rnnsearch_tf", "peer"
_WORKLOADS = ("multi30k", "paper25")
_CANDIDATES = 1_000  # words of a search that no other implementation has
_CONDITIONS = ("date", "cpu", "threads", "rnnsearch_tf", "tensorflow", "keras", "version", "tag")
_DISTURBED = 0.03  # of all cores, used by other processes

_OF_CANDIDATES = f" of {_CANDIDATES:,} candidate words"

# By row of the table, then by implementation: one figure for each repetition.
Figures = dict[str, dict[str, list[float]]]


def main() -> None:
    """Measure, and print the table."""
    arguments = _arguments()
    figures: Figures = {}
    conditions: dict[str, Any] = {}
    disturbed = 0
    workloads.use_cores()  # the peer's processes too
    for repetition in range(arguments.repeat):
        for who, policy, command in _commands(arguments):
            print(f"{repetition + 1}/{arguments.repeat} {shlex.join(command)}", file=sys.stderr)
            for line in _run(command):
                print(json.dumps(line), file=sys.stderr)  # a later failure loses nothing
                disturbed += line.get("foreign_cpu", 0.0) > _DISTURBED
                for name, value in _figures_of(line).items():
                    row = figures.setdefault(f"{line['workload']}, {name}, {policy}", {})
                    row.setdefault(who, []).append(value)
                conditions.update((name, line[name]) for name in _CONDITIONS if name in line)
    if disturbed:
        print(f"other programs disturbed {disturbed} measurements", file=sys.stderr)
    if arguments.store and disturbed:
        raise SystemExit(f"{_STORED.name} is not written: measure again on an idle machine")
    if arguments.store:
        _STORED.write_text(json.dumps({"figures": figures, **conditions}, indent=1) + "\n", "utf-8")
    stored = json.loads(_STORED.read_text("utf-8"))
    print("\n".join(table(figures, conditions, stored)))


def table(figures: Figures, conditions: dict[str, Any], stored: dict[str, Any]) -> Iterator[str]:
    """Write a Markdown table of this run's figures and the stored ones.

    Args:
        figures: of this run.
        conditions: of this run, as in the lines of JSON.
        stored: the figures and the conditions of another run.
    """
    for name, run in (("now", conditions), ("stored", stored)):
        told = ", ".join(f"{key} {run.get(key, '?')}" for key in _CONDITIONS)
        yield f"{name}: {told}"
    yield ""
    yield "| | now | ÷ peer | stored | ÷ peer |"
    yield "|---|---|---|---|---|"
    for row in figures:
        cells = [
            cell
            for run in (figures, stored["figures"])
            for cell in (_middle(run.get(row, {}).get(_OURS)), _ratio(run, row))
        ]
        yield f"| {row} | {' | '.join(cells)} |"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = workloads.names("search")
    parser.add_argument("--workload", nargs="+", choices=names, default=_WORKLOADS)
    parser.add_argument("--repeat", type=int, default=3, help="repetitions (default: 3)")
    parser.add_argument("--store", action="store_true", help=f"write {_STORED.name}")
    parser.add_argument("--peers", metavar="DIR", help="measure on the batches of the peers in DIR")
    parser.add_argument(
        "--peer", default="", metavar="COMMAND", help="that takes --workload NAME and --bf16"
    )
    arguments = parser.parse_args()
    whole = set(arguments.workload) >= set(_WORKLOADS) and arguments.peer and arguments.repeat > 0
    if arguments.store and not whole:
        parser.error(f"--store needs --peer and the workloads {', '.join(_WORKLOADS)}")
    return arguments


def _commands(arguments: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Yield who is measured, under which dtype policy, by which command."""
    peers = ["--peers", arguments.peers] if arguments.peers else []
    for workload in arguments.workload:
        for policy, precision in (("float32", []), ("mixed_bfloat16", ["--bf16"])):
            if arguments.peer:
                peer = shlex.split(arguments.peer)
                yield _PEER, policy, [*peer, "--workload", workload, *precision]
            for script in ("training_speed.py", "search_speed.py"):
                ours = [sys.executable, str(_FOLDER / script), "--workload", workload, *peers]
                if script == "training_speed.py":
                    ours += ["--dtype_policy", policy]
                elif precision:  # models search in float32, or with this option
                    ours += ["--bfloat16"]
                yield _OURS, policy, ours
            yield _OURS, policy, [*ours, "--candidates", str(_CANDIDATES)]  # of the search


def _run(command: Sequence[str]) -> list[dict[str, Any]]:
    """Run a command, and read the lines of JSON that it prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"status {done.returncode}: {shlex.join(command)}")
    lines = (line.removeprefix("RESULT ") for line in done.stdout.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def _figures_of(line: dict[str, Any]) -> dict[str, float]:
    """Return what a line has measured, by name."""
    if line["what"] == "train":
        return {"training, words/s": line["words_s"], "training, peak MiB": line["peak_rss_mib"]}
    chosen = _OF_CANDIDATES if line.get("candidate_words") else ""
    return {f"beam {line['beam']}{chosen}, sentences/s": line["sents_s"]}


def _middle(values: Sequence[float] | None) -> str:
    """The median and the range."""
    if not values:
        return "–"
    digits = 0 if min(values) >= 100 else 1
    middle, low, high = (
        f"{x:,.{digits}f}" for x in (statistics.median(values), min(values), max(values))
    )
    return f"{middle} ({low}–{high})"


def _ratio(figures: Figures, row: str) -> str:
    """Format our median divided by the peer's, which searches among all words."""
    ours = figures.get(row, {}).get(_OURS)
    peers = figures.get(row.replace(_OF_CANDIDATES, ""), {}).get(_PEER)
    if not (ours and peers):
        return "–"
    return f"{statistics.median(ours) / statistics.median(peers):.2f}"


if __name__ == "__main__":
    one_line.run(main)
