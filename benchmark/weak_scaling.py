"""Estimate updates by several workers, each with a batch of its own: bytes and seconds.

A model, not a measurement. Its parts are the number of weights, which the package counts; the time
of an update by one worker, which `compare.py` has measured (`stored.json`); and the bandwidth of
each worker's link, which is assumed. The gradient, float32, is summed by a ring all-reduce, in
which each of N workers sends 2 (N − 1) / N times its size (Patarasuk & Yuan 2009), after the whole
gradient is computed. Prints a Markdown table.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import one_line
import workloads

from rnnsearch_tf import PRESETS
from rnnsearch_tf.models.translation_model import TranslationModel

_ROW = "{workload}, training, words/s, float32"  # of stored.json
_BYTES_PER_WEIGHT = 4
_STORED_FOR = "rnnsearch-50"  # whose sizes the workload paper25 has


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=list(PRESETS), default=_STORED_FOR)
    parser.add_argument(
        "--update_seconds", type=float, help=f"of one worker; by default that of {_STORED_FOR}"
    )
    parser.add_argument("--gbits", type=float, nargs="+", default=[1, 10, 25, 100])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 64])
    arguments = parser.parse_args()
    if min(*arguments.gbits, *arguments.workers, arguments.update_seconds or 1) <= 0:
        parser.error("numbers must be above 0")
    model = PRESETS[arguments.preset].model
    if not arguments.update_seconds and model != PRESETS[_STORED_FOR].model:
        parser.error(f"--preset={arguments.preset} needs --update_seconds, as measured for it")
    weights = TranslationModel(model).count_params()
    seconds = arguments.update_seconds or measured_update("paper25")
    print(f"{arguments.preset}: {weights:,} weights; an update by one worker: {seconds:.2f} s\n")
    size = _BYTES_PER_WEIGHT * weights
    print("\n".join(table(size, seconds, arguments.workers, arguments.gbits)))


def measured_update(workload: str) -> float:
    """Return the measured seconds of an update by one worker; the median of the runs stored."""
    stored = json.loads(Path(__file__).with_name("stored.json").read_text("utf-8"))
    words_s = statistics.median(stored["figures"][_ROW.format(workload=workload)]["rnnsearch_tf"])
    training = workloads.settings_of(workload)["training"]
    return training["batch"] * training["length"] / words_s


def bytes_sent(size: int, workers: int) -> float:
    """Return the bytes that each of N workers sends in a ring all-reduce of `size` bytes."""
    return 2 * (workers - 1) / workers * size


def update_seconds(size: int, seconds: float, workers: int, gbits: float) -> float:
    """Return the seconds of an update by N workers, whose links have so many Gbit/s."""
    return seconds + 8 * bytes_sent(size, workers) / (gbits * 1e9)


def table(
    size: int, seconds: float, workers: Sequence[int], gbits: Sequence[float]
) -> Iterator[str]:
    """Write a Markdown table with a row for each number of workers."""
    yield "| workers | MB sent by each | " + " | ".join(f"{each:g} Gbit/s" for each in gbits) + " |"
    yield "|---" * (2 + len(gbits)) + "|"
    for count in workers:
        times = (update_seconds(size, seconds, count, each) for each in gbits)
        cells = (f"{time:.2f} s ({seconds / time:.0%})" for time in times)
        yield f"| {count} | {bytes_sent(size, count) / 1e6:.0f} | {' | '.join(cells)} |"


if __name__ == "__main__":
    one_line.run(main)
