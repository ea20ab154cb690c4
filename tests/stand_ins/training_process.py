"""Training runs in processes of their own, for tests that end them."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from forked import ForkedProcess

from rnnsearch_tf.scripts import train

_CLUSTER = "TF_CONFIG"  # names the workers


def start_workers(
    flags: list[str],
    own: Sequence[str] = ("--", "--"),
    logs: Sequence[Path | None] = (None, None),
) -> list[ForkedProcess]:
    """Start two workers.

    Args:
        flags: of both.
        own: a flag of each that the other does not have.
        logs: files for the standard error of each.
    """
    flags = [*flags, "--strategy=multi_worker"]
    return [
        ForkedProcess(train.run, [*flags, flag], environment=variables, log=log)
        for flag, variables, log in zip(own, _cluster(), logs, strict=True)
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
