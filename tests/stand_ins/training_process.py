"""Trainings in processes of their own, for tests that end them."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from forked import ForkedProcess

from rnnsearch_tf.scripts import train

ROOT = Path(__file__).parents[2]
_CLUSTER = "TF_CONFIG"  # names the workers


def start(flags: list[str], path: Path) -> ForkedProcess:
    """Start `rnnsearch-train`, and wait for its first update or its end."""
    process = ForkedProcess(train.run, [*flags, f"--model_dir={path}"])
    next((line for line in process.stderr if line.startswith("update ")), None)
    return process


def start_workers(flags: list[str], own: Sequence[str] = ("--", "--")) -> list[ForkedProcess]:
    """Start two workers; `own` is a flag of each that the other does not have."""
    return [
        ForkedProcess(train.run, [*flags, "--strategy=multi_worker", flag], environment=variables)
        for flag, variables in zip(own, _cluster(), strict=True)
    ]


def launch(flags: list[str], stderr: Sequence[IO[str]]) -> list[subprocess.Popen]:
    """Start `rnnsearch-train` as a shell does: one worker, or two, for each its standard error."""
    command = [sys.executable, "-m", "rnnsearch_tf.scripts.train", *flags]
    if len(stderr) == 1:
        return [subprocess.Popen(command, cwd=ROOT, stderr=stderr[0])]
    command.append("--strategy=multi_worker")
    return [
        subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables}, stderr=file)
        for file, variables in zip(stderr, _cluster(), strict=True)
    ]


def _cluster() -> list[dict[str, str]]:
    """Environment variables of two workers on this machine."""
    cluster = {"worker": [f"localhost:{port}" for port in _free_ports(2)]}
    tasks = ({"type": "worker", "index": i} for i in range(2))
    return [{_CLUSTER: json.dumps({"cluster": cluster, "task": task})} for task in tasks]


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
