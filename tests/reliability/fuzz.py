"""Damage files and send hostile strings, by the ten thousand: make fuzz.

    python tests/reliability/fuzz.py --folder=fuzz --damages=20000 --strings=100000 --seed=1

Both models are trained for a minute or so and exported first. The status is 1 when anything was
silently wrong, gave a traceback or changed its neighbors.
"""

import argparse
import contextlib
import faulthandler
import functools
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).parents[1] / "stand_ins"))

import damaged_folders
from damage import EQUAL, REFUSED, SILENT, TRACEBACK, Damage, Damaged
from examples import for_each
from hostile_strings import LONG_LINES, NEIGHBORS, Company, hostile_batches
from interfaces import through_c, through_python
from tfserving.c_session import CSession
from tiny_training import training_flags, write_corpus

from rnnsearch_tf.progress import Bar
from rnnsearch_tf.scripts import export, train

ARCHITECTURES = ("rnnsearch", "rnnencdec")
BATCH = 100  # hostile strings among the neighbors
TOLD = 10  # failures of each kind

Target = Callable[[], contextlib.AbstractContextManager[Damaged]]


def damage_files(name: str, damaged: Damaged, count: int, number: int, current: Path) -> bool:
    """Damage files, tell what came of it, and return whether all was well."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    report, started = Bar("file", count).update, time.monotonic()

    def act(damage: Damage) -> None:
        current.write_text(f"{name}: {damage!r}\n")  # says what it was, should the process crash
        outcome, text = damaged.outcome(damage)
        outcomes[outcome] += 1
        if outcome in (SILENT, TRACEBACK):
            failures.append(f"{outcome}: {damage!r}: {text}")
        report(outcomes.total())

    for_each(damaged.damages(), count, act, number)
    counts = ", ".join(f"{outcomes[o]:,} {o}" for o in (EQUAL, REFUSED, SILENT, TRACEBACK))
    print(f"{name}: {outcomes.total():,} damaged files: {counts}; {minutes(started)}")
    for failure in failures[:TOLD]:
        print(f"  {failure}")
    return not failures


def send_strings(name: str, version: Path, count: int, number: int) -> bool:
    """Send hostile strings through the C loader, and return whether all was well."""
    failures: list[str] = []
    report, started = Bar("string", count).update, time.monotonic()
    sent = 0
    with CSession(version) as session:
        company, reference = Company(through_c(session)), through_python(version)

        def act(hostile: list[bytes]) -> None:
            nonlocal sent
            sent += len(hostile)
            try:
                company.check(hostile, reference)
            except Exception as error:
                failures.append(f"{hostile!r}: {error}")
            report(sent)

        for line in LONG_LINES:
            act([line])
        for_each(hostile_batches(BATCH), -(-count // BATCH), act, number)
    print(
        f"{name}: {sent:,} strings through the C loader among {len(NEIGHBORS)} "
        f"neighbors a batch: {len(failures)} batches differ; {minutes(started)}"
    )
    for failure in failures[:TOLD]:
        print(f"  {failure[-3000:]}")
    return not failures


def minutes(started: float) -> str:
    return f"{(time.monotonic() - started) / 60:.1f} min"


def make_models(folder: Path) -> None:
    """Train both models on a corpus, and export them: versions 1 and 2."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    write_corpus(corpus)
    for name in ARCHITECTURES:
        flags = [*training_flags(corpus, f"{name}-tiny"), "--epochs=60", "--dropout=0"]
        flags += [f"--cache_dir={folder / 'text'}", f"--model_dir={folder / name}"]
        assert train.run([*flags, "--evaluation_interval=100"]) == 0
        exports = [f"--model_dir={folder / name}", f"--export_dir={folder / 'exports'}"]
        assert export.run([*exports, "--beam_size=3"]) == 0


def damage_all(folder: Path, count: int, number: int) -> list[bool]:
    """Damage `count` files: every kind of folder has its part of them."""
    targets: dict[str, Target] = {
        "cache": functools.partial(
            damaged_folders.damaged_cache, folder / "corpus", folder / "cache"
        )
    }
    for version, name in enumerate(ARCHITECTURES, 1):
        path, exported = folder / name, folder / "exports" / str(version)
        targets[f"{name}, model directory"] = functools.partial(damaged_folders.damaged_model, path)
        targets[f"{name}, checkpoint"] = functools.partial(damaged_folders.damaged_checkpoint, path)
        targets[f"{name}, export"] = functools.partial(damaged_folders.damaged_export, exported)
    results = []
    for i, (name, target) in enumerate(targets.items()):
        part = (count + i) // len(targets)
        with target() as damaged:
            results.append(damage_files(name, damaged, part, number + i, folder / "current"))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("fuzz"))
    parser.add_argument("--damages", type=int, default=20_000, help="files to damage")
    parser.add_argument("--strings", type=int, default=100_000, help="hostile strings")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    faulthandler.enable()
    folder: Path = arguments.folder.resolve()
    marker = folder / ".fuzz"
    if folder.exists() and any(folder.iterdir()) and not marker.exists():
        parser.error(f"--folder {folder}: holds what this has not made")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    marker.touch()
    make_models(folder)
    results = damage_all(folder, arguments.damages, arguments.seed)
    strings = arguments.strings // len(ARCHITECTURES)
    for version, name in enumerate(ARCHITECTURES, 1):
        exported = folder / "exports" / str(version)
        results.append(send_strings(name, exported, strings, arguments.seed + version))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
