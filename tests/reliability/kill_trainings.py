"""Kill training runs at random moments, start them again, and compare them with one left alone.

Those of two workers are compared with one on one device, too.

Each is a process of its own, forked from one that has imported TensorFlow and nothing else, so that
a start takes half the time; what happens before the fork is not under test.

    python tests/reliability/kill_trainings.py --folder=kill-test

Every kill and every end is a line of FOLDER/seed-N-CODE/one/events.jsonl, or of the same file of
workers; the same command resumes an interrupted test. Each training run is killed about 20 times
before it ends; then another begins in an empty folder, with an empty cache, until there were enough
kills.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).parents[1] / "stand_ins"))

from forked import ForkedProcess
from tiny_training import training_flags, write_corpus
from training_process import start_workers
from training_result import (
    assert_same,
    assert_same_weights,
    checkpoints,
    has_data_without_index,
    is_writing_a_checkpoint,
    is_writing_a_file,
    log,
)

from rnnsearch_tf.provenance import code_fingerprint
from rnnsearch_tf.scripts import train

FLAGS = (
    "--epochs=1000",
    "--checkpoint_interval=3",
    "--evaluation_interval=25",  # neither divides an epoch of 11 batches
    "--seed=5",
)
# Without dropout, of which each device draws masks of its own; the optimizer is the paper's.
COMPARABLE = (
    "--dropout=0",
    "--optimizer=adadelta",
    "--learning_rate=1",
    "--learning_rate_schedule=constant",
)
STARTUP_SECONDS = 5.0  # until the first update, or more
# A worker that loses its partner in an update ends by itself; one that is waiting for a partner
# that has not come yet, goes on waiting, and is ended.
SURVIVOR_SECONDS = 30.0

Condition = Callable[[], bool]


class Moment:
    """A moment to kill a training run: conditions that come true one after the other."""

    def __init__(self, name: str, *conditions: Condition):
        self.name = name
        self._conditions = list(conditions)

    def has_come(self) -> bool:
        while self._conditions and self._conditions[0]():
            del self._conditions[0]
        return not self._conditions


def never() -> Moment:
    return Moment("never", lambda: False)


def pause(seconds: float) -> Condition:
    """Hold this long after it was first asked."""
    begun: list[float] = []

    def is_over() -> bool:
        if not begun:
            begun.append(time.monotonic())
        return time.monotonic() >= begun[0] + seconds

    return is_over


def draw_moment(chance: random.Random, path: Path, said: Callable[[], str], last: int) -> Moment:
    """Choose a moment of a training run of `last` updates, which writes what `said` returns."""

    def has_updated() -> bool:
        return any(line.startswith("update ") for line in said().splitlines())

    def has_saved(times: int) -> Condition:
        known = newest(path)
        return lambda: newest(path) >= known + times

    def is_removing_the_oldest() -> bool:
        return len([name for name in checkpoints(path) if name.endswith(".index")]) > 2

    def is_at_its_end() -> bool:
        return newest(path) > 0 and any(record["updates"] >= last for record in log(path))

    def writing(condition: Callable[[Path], bool]) -> tuple[Condition, Condition]:
        return has_saved(chance.randint(0, 4)), lambda: condition(path)

    moments = {
        "start": (pause(chance.uniform(0, STARTUP_SECONDS)),),
        "updates": (has_updated, pause(chance.uniform(0, 1))),
        "between checkpoints": (has_saved(chance.randint(1, 5)), pause(chance.uniform(0, 0.2))),
        "checkpoint half written": writing(is_writing_a_checkpoint),
        "checkpoint without index": writing(has_data_without_index),
        "weights or log half written": writing(is_writing_a_file),
        "old checkpoint not removed": (has_saved(chance.randint(0, 4)), is_removing_the_oldest),
        "end": (is_at_its_end, pause(chance.uniform(0, 0.5))),
    }
    weights = [1 if name == "end" else 4 for name in moments]  # an end takes a whole training
    [name] = chance.choices(list(moments), weights)
    return Moment(name, *moments[name])


def newest(path: Path) -> int:
    """Return the number of the newest checkpoint; 0 without one."""
    names = (name for name in checkpoints(path) if name.endswith(".index"))
    return max((int(name[5:-6]) for name in names), default=0)


def unfinished(path: Path) -> list[str]:
    """Name what a killed training run has left half-written."""
    states = {
        "checkpoint": is_writing_a_checkpoint(path),
        "checkpoint without index": has_data_without_index(path),
        "file": is_writing_a_file(path),
    }
    return [name for name, holds in states.items() if holds]


class KillTest:
    """Training runs by one or two processes, killed again and again.

    Args:
        folder: for all that it writes.
        flags: of `rnnsearch-train`, without its folders.
        workers: processes of a training run.
        updates: of a training run.
        compare: raises AssertionError when a training run's folder is not as that of one process
            left alone.
        seed: decides the moments, with the number of the kill.
    """

    def __init__(
        self,
        folder: Path,
        flags: list[str],
        workers: int,
        updates: int,
        compare: Callable[[Path, Path], None],
        seed: int,
    ):
        self._folder = folder
        self._flags = [*flags, f"--max_updates={updates}"]
        self._workers = workers
        self._updates = updates
        self._compare = compare
        self._seed = seed
        self._path = folder / "training"
        self._events = folder / "events.jsonl"

    def run(self, wanted: int) -> None:
        """Kill until there were enough kills and the training that was killed last has ended."""
        if not wanted:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        if not (self._folder / "undisturbed" / "done").exists():
            self._make_reference()
        while (kills := self._count("kill")) < wanted or self._path.exists():
            self._attempt(kills, is_last=kills >= wanted)

    def is_done(self, wanted: int) -> bool:
        """Whether an earlier run has made as many kills."""
        return 0 < wanted <= self._count("kill") and not self._path.exists()

    def events(self) -> list[dict[str, Any]]:
        if not self._events.exists():
            return []
        return [json.loads(line) for line in self._events.read_text("utf-8").splitlines()]

    def _count(self, event: str) -> int:
        return sum(record["event"] == event for record in self.events())

    def _make_reference(self) -> None:
        reference = self._folder / "undisturbed"
        shutil.rmtree(reference, ignore_errors=True)
        with self._launched(reference, workers=1) as (process,):
            assert process.wait() == 0, self._said()
        (reference / "done").touch()

    def _attempt(self, kills: int, is_last: bool) -> None:
        """Start the training, and kill a process of it or see its end."""
        attempt = len(self.events())
        chance = random.Random(f"{self._seed} {attempt}")
        victim = chance.randrange(self._workers)
        with self._launched(self._path, self._workers) as processes:
            moment = draw_moment(chance, self._path, self._said, self._updates)
            if is_last:
                moment = never()
            while not moment.has_come() and all(p.poll() is None for p in processes):
                time.sleep(0.0005)
            if all(process.poll() is None for process in processes):
                processes[victim].kill()
                event = self._after_kill(processes, victim)
                self._note("kill", number=kills + 1, moment=moment.name, **event)
            else:
                self._note("end", **self._after_end(processes))

    def _after_kill(self, processes: list[ForkedProcess], victim: int) -> dict[str, Any]:
        killed = time.monotonic()
        processes[victim].wait()
        event: dict[str, Any] = {"checkpoint": newest(self._path), "left": unfinished(self._path)}
        for process in processes:
            if process is not processes[victim]:
                event["victim"] = victim
                event["survivor"] = ended_within(process, SURVIVOR_SECONDS, "waits")
                event["survivor_seconds"] = round(time.monotonic() - killed, 1)
        return {**event, "complaint": self._complaint()}

    def _after_end(self, processes: list[ForkedProcess]) -> dict[str, Any]:
        codes = [ended_within(process, 10 * SURVIVOR_SECONDS, "stuck") for process in processes]
        difference = "" if codes == [0] * len(codes) else f"status {codes}: {self._said()[-2000:]}"
        if not difference:
            difference = self._difference()
        if difference:  # for those who want to know why
            kept = self._folder / f"different-{len(self.events())}"
            shutil.copytree(self._path, kept, dirs_exist_ok=True)
        shutil.rmtree(self._path, ignore_errors=True)
        shutil.rmtree(self._cache, ignore_errors=True)
        return {"difference": difference, "complaint": self._complaint()}

    def _difference(self) -> str:
        try:
            self._compare(self._path, self._folder / "undisturbed")
        except AssertionError as error:
            return str(error) or "different"
        return ", ".join(unfinished(self._path))

    @property
    def _cache(self) -> Path:
        return self._folder / "cache"

    @contextlib.contextmanager
    def _launched(self, path: Path, workers: int) -> Iterator[list[ForkedProcess]]:
        flags = [*self._flags, f"--model_dir={path}", f"--cache_dir={self._cache}"]
        for file in self._logs():
            file.write_text("")
        if workers == 1:
            processes = [ForkedProcess(train.run, flags, log=self._logs()[0])]
        else:
            processes = start_workers(flags, logs=self._logs())
        try:
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.wait()

    def _logs(self) -> list[Path]:
        return [self._folder / f"said-{i}" for i in range(self._workers)]

    def _said(self) -> str:
        return "".join(log.read_text("utf-8", "replace") for log in self._logs())

    def _complaint(self) -> str:
        """What was written that is neither progress nor a line for the user."""
        said = self._said()
        return said[said.index("Traceback") :][-4000:] if "Traceback" in said else ""

    def _note(self, event: str, **values: Any) -> None:
        with open(self._events, "a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **values, "time": round(time.time())}) + "\n")


def ended_within(process: ForkedProcess, seconds: float, otherwise: str) -> int | str:
    """Return the exit status of a process, or `otherwise` when it goes on."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return otherwise


def is_good(name: str, events: list[dict[str, Any]]) -> bool:
    """Print the figures; return whether nothing differed and nobody was shown a traceback."""
    kills = [event for event in events if event["event"] == "kill"]
    ends = [event for event in events if event["event"] == "end"]
    differences = [event["difference"] for event in ends if event["difference"]]
    complaints = [event["complaint"] for event in events if event["complaint"]]
    print(f"{name}: {len(kills)} kills in {len(ends)} training runs")
    print(f"  differences {len(differences)}, tracebacks {len(complaints)}")
    for what, counts in (
        ("moments", Counter(event["moment"] for event in kills)),
        ("left half-written", Counter(left for event in kills for left in event["left"])),
        ("killed worker", Counter(e["victim"] for e in kills if "victim" in e)),
        ("status of the other", Counter(e["survivor"] for e in kills if "survivor" in e)),
    ):
        if counts:
            told = ", ".join(f"{key} {n}" for key, n in sorted(counts.items(), key=str))
            print(f"  {what}: {told}")
    for text in (*differences, *complaints):
        print(f"  {text}")
    return not differences and not complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("kill-test"))
    parser.add_argument("--kills", type=int, default=200, help="of training runs by one process")
    parser.add_argument("--worker_kills", type=int, default=50, help="of either of two workers")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # no training run is left behind
    code = code_fingerprint()[:12]  # figures of other code are not continued
    folder: Path = arguments.folder.resolve() / f"seed-{arguments.seed}-{code}"
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    write_corpus(corpus)
    flags = [*training_flags(corpus), *FLAGS]
    seed = arguments.seed
    one = KillTest(folder / "one", [*flags, "--dropout=0.3"], 1, 120, assert_same, seed)
    two = KillTest(folder / "workers", [*flags, *COMPARABLE], 2, 60, assert_same_weights, seed)
    if one.is_done(arguments.kills) or two.is_done(arguments.worker_kills):
        print(f"{folder} has kills of an earlier run of this code; remove it to repeat them")
    one.run(arguments.kills)
    two.run(arguments.worker_kills)
    results = [
        is_good("one process, bit for bit", one.events()),
        is_good("two workers, within 1e-6 of one device", two.events()),
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
