"""Measure the preparation of text and the reading of batches: pairs per second and memory.

Prints one line of JSON. The text is prepared in a new folder that is removed afterward, an epoch
of batches is read and thrown away, and nearly an epoch is skipped. Memory is that of the process
alone; pages of the prepared files, which the system can reclaim at any time, are not counted. Run
it on corpora of several sizes: seconds grow with them, memory only with the number of different
words. `--times` makes a large corpus of a small one.
"""

import argparse
import json
import resource
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import measure
import one_line

from rnnsearch_tf.config import Batching, TrainingConfig
from rnnsearch_tf.data.batching import batch_count, count_lengths, training_batches
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.text.moses import MosesTokenizer

_SAMPLING_SECONDS = 0.02


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="text, plain or .gz")
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument("--languages", nargs=2, default=("en", "fr"))
    parser.add_argument("--times", type=int, default=1, help="number of times the files are read")
    parser.add_argument("--vocabulary_size", type=int, default=30_000)
    arguments = parser.parse_args()
    sources, targets = ([path] * arguments.times for path in (arguments.source, arguments.target))
    corpus = ParallelFiles(sources, targets)
    source, target = (MosesTokenizer(language) for language in arguments.languages)
    with tempfile.TemporaryDirectory() as cache:
        with _Meter() as preparing:
            prepared = prepare(corpus, source, target, cache)
        with _Meter() as opening:
            sides = (prepared.source, prepared.target)
            pairs = prepared.pairs(*(side.vocabulary(arguments.vocabulary_size) for side in sides))
        reading = {name: _read(pairs, name) for name in ("buckets", "sorted")}
    print(
        json.dumps(
            {
                "what": "prepare",
                "files": arguments.source.name,
                "pairs": len(pairs),
                "different_words": [len(side.ids) for side in (pairs.source, pairs.target)],
                "preparing": preparing.report(len(pairs)),
                "opening": opening.report(len(pairs)),
                **reading,
                **measure.circumstances(),
            }
        )
    )


def _read(pairs: Pairs, batching: Batching) -> dict[str, Any]:
    """Read an epoch, and skip all but one batch of another."""
    config = TrainingConfig(batching=batching)
    kept = int(count_lengths(pairs, config.max_length)[1:-1].sum())
    with _Meter() as reading:
        count = sum(1 for _ in training_batches(pairs, config, epoch=1))
    with _Meter() as skipping:
        left = sum(1 for _ in training_batches(pairs, config, epoch=2, skip=count - 1))
    if (count, left) != (batch_count(pairs, config), 1):
        raise SystemExit(f"{count} batches where {batch_count(pairs, config)} were expected")
    return {
        "batches": count,
        "reading": reading.report(kept),
        "skipping": skipping.report(kept),
    }


class _Meter:
    """Measures the time of a block, and the peak of the process's own memory in it."""

    def __enter__(self) -> "_Meter":
        self._peak = self._before = _own_memory()
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        self._started, self._cpu_before = time.monotonic(), _cpu_seconds()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds = time.monotonic() - self._started
        self._cpu = _cpu_seconds() - self._cpu_before
        self._done.set()
        self._watcher.join()

    def report(self, pairs: int) -> dict[str, Any]:
        """Return the measurements, for JSON."""
        return {
            "seconds": round(self._seconds, 2),
            "pairs_per_second": round(pairs / self._seconds),
            "cores_busy": round(self._cpu / self._seconds, 2),
            "memory_before_mib": self._before >> 20,
            "memory_peak_mib": self._peak >> 20,
        }

    def _watch(self) -> None:
        while not self._done.wait(_SAMPLING_SECONDS):
            self._peak = max(self._peak, _own_memory())


def _own_memory() -> int:
    """Bytes of memory that belong to no file (Linux)."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) << 10


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    one_line.run(main)
