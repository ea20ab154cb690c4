"""Trainings in processes of their own, for tests that end them."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]


def launch(
    flags: Sequence[str],
    stderr: int | IO[Any] = subprocess.PIPE,
    tf_config: dict | None = None,
) -> subprocess.Popen:
    """Start `rnnsearch-train`."""
    environment = dict(os.environ)
    if tf_config is not None:
        environment["TF_CONFIG"] = json.dumps(tf_config)
    command = [sys.executable, "-m", "rnnsearch_tf.scripts.train", *flags]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=stderr, text=True)


def start(flags: list[str], path: Path) -> subprocess.Popen:
    """Start `rnnsearch-train`, and wait for its first update or its end."""
    process = launch([*flags, f"--model_dir={path}"])
    assert process.stderr is not None
    next((line for line in process.stderr if line.startswith("update ")), None)
    return process


def launch_workers(
    flags: Sequence[str],
    own: Sequence[str] = ("--", "--"),
    stderr: Sequence[int | IO[Any]] = (subprocess.PIPE, subprocess.PIPE),
) -> list[subprocess.Popen]:
    """Start two workers; `own` is a flag of each that the other does not have."""
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(len(own))]}
    return [
        launch(
            [*flags, "--strategy=multi_worker", flag],
            stderr[i],
            {"cluster": cluster, "task": {"type": "worker", "index": i}},
        )
        for i, flag in enumerate(own)
    ]


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
