"""Code in a fresh process, in which the stand-in leaves Python TensorFlow out."""

import os
import subprocess
import sys
from pathlib import Path


def without_python_tensorflow(code: str, *arguments: str | Path) -> str:
    """What a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    finished = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        check=False,
        env=environment,
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return finished.stdout.decode()
