"""Trainings in processes of their own, for tests that end them."""

import subprocess
import sys
from pathlib import Path


def start(flags: list[str], path: Path) -> subprocess.Popen:
    """Start `rnnsearch-train`, and wait for its first update or its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rnnsearch_tf.scripts.train", *flags, f"--model_dir={path}"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stderr is not None
    next((line for line in process.stderr if line.startswith("update ")), None)
    return process
