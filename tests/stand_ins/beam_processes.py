"""Processes of Beam: programs in a group of their own, and the portable job service."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def start(*arguments: str, **options: object) -> subprocess.Popen[bytes]:
    """Start a Python module as the leader of a group of processes."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(command, start_new_session=True, **options)  # type: ignore[call-overload]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("localhost", 0))
        return server.getsockname()[1]


@contextlib.contextmanager
def job_service() -> Iterator[list[str]]:
    """Run Beam's portable job service, and a pool that starts workers as processes: its options."""
    jobs_port, pool_port = free_port(), free_port()
    portability = "apache_beam.runners.portability.local_job_service_main"
    pool = "apache_beam.runners.worker.worker_pool_main"
    # The pool starts `python`, whichever the path finds.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    started = [
        start(portability, f"--job_port={jobs_port}"),
        start(pool, f"--service_port={pool_port}", env={**os.environ, "PATH": path}),
    ]
    try:
        for port in (jobs_port, pool_port):
            wait_for(port)
        yield [
            "--runner=PortableRunner",
            f"--job_endpoint=localhost:{jobs_port}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{pool_port}",
        ]
    finally:
        for process in started:
            kill(process)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if not client.connect_ex(("localhost", port)):
                return
        time.sleep(0.2)
    raise TimeoutError(port)
