"""Trainings in processes of their own, for tests that end them."""

from pathlib import Path

from forked import ForkedProcess

from rnnsearch_tf.scripts import train


def start(flags: list[str], path: Path) -> ForkedProcess:
    """Start `rnnsearch-train`, and wait for its first update or its end."""
    process = ForkedProcess(train.run, [*flags, f"--model_dir={path}"])
    next((line for line in process.stderr if line.startswith("update ")), None)
    return process
