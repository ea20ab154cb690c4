"""The stand-in as a process of its own."""

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

_SECONDS = 600  # a safety net: to start and to stop


@dataclasses.dataclass(frozen=True)
class Server:
    """A stand-in that serves.

    Args:
        grpc: "127.0.0.1:PORT".
        rest: "http://127.0.0.1:PORT", or https.
        process: its process.
        log_file: its standard error.
    """

    grpc: str
    rest: str
    process: subprocess.Popen
    log_file: Path

    @property
    def log(self) -> str:
        """Its log so far."""
        return self.log_file.read_text("utf-8", "replace")


@contextlib.contextmanager
def running(
    export_dir: str | Path | None, *flags: str, model_name: str = "rnnsearch"
) -> Iterator[Server]:
    """Serve an export while the block runs.

    Args:
        export_dir: the base path, which holds numbered versions; None with --model_config_file.
        flags: further flags of `tfserving.model_server`.
        model_name: the model's name in requests.

    Raises:
        RuntimeError: it did not start; the text is its log.
    """
    if export_dir is not None:
        flags = (f"--model_name={model_name}", f"--model_base_path={export_dir}", *flags)
    command = [sys.executable, "-m", "tfserving.model_server", "--port=0", "--rest_api_port=0"]
    paths = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
    }
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [*command, *flags], stdout=subprocess.PIPE, stderr=log, env=environment
            )
        try:
            ports = _read_ports(process)
            if ports is None:
                raise RuntimeError(f"it did not start: {log_file.read_text('utf-8', 'replace')}")
            scheme = "https" if any(f.startswith("--ssl_config_file") for f in flags) else "http"
            yield Server(
                f"127.0.0.1:{ports['port']}",
                f"{scheme}://127.0.0.1:{ports['rest_api_port']}",
                process,
                log_file,
            )
        finally:
            _stop(process)


def _read_ports(process: subprocess.Popen) -> dict[str, int] | None:
    timer = threading.Timer(_SECONDS, process.kill)
    timer.start()
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    return json.loads(line) if line else None


def _stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
