"""The file of --batching_parameters_file."""

import dataclasses
import os
from pathlib import Path

from tfserving.text_message import read_message

_LEAST = {
    "max_batch_size": 1, "batch_timeout_micros": 0, "max_enqueued_batches": 1,
    "num_batch_threads": 1,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """Rules for joining requests into batches; the defaults are TensorFlow's.

    Args:
        max_batch_size: rows of a batch.
        batch_timeout_micros: how long the first request of a batch may wait, in microseconds.
        max_enqueued_batches: batches that wait in a queue; those being run do not count.
        num_batch_threads: batches run at a time, over all queues.

    Raises:
        ValueError: values that the real server refuses.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least {least}")


def read_batching_parameters(path: str | Path) -> BatchingParameters:
    """Read the file, a BatchingParameters message in text form.

    Raises:
        ValueError: it is no such message, has values that the real server refuses, or others than
            ours: `allowed_batch_sizes`, say, would have copies of a row computed for nothing.
    """
    message = read_message(path, dict.fromkeys(_LEAST, "google.protobuf.Int64Value"))
    given = {name: getattr(message, name).value for name in _LEAST if message.HasField(name)}
    return BatchingParameters(**given)
