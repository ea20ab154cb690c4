"""The file of --batching_parameters_file."""

import dataclasses
import os
from pathlib import Path

from tfserving.text_message import read_message


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """Rules for joining requests into batches; the defaults are TensorFlow's.

    Args:
        max_batch_size: rows of a batch.
        batch_timeout_micros: how long the first request of a batch may wait, in microseconds.
        max_enqueued_batches: batches that wait in a queue; those being run do not count.
        num_batch_threads: batches run at a time, over all queues.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)


def read_batching_parameters(path: str | Path) -> BatchingParameters:
    """Read the file, a BatchingParameters message in text form.

    Raises:
        ValueError: it is no such message, or has other fields than ours: `allowed_batch_sizes`,
            say, would have copies of a row computed for nothing.
    """
    names = [field.name for field in dataclasses.fields(BatchingParameters)]
    message = read_message(path, dict.fromkeys(names, "google.protobuf.Int64Value"))
    given = {name: getattr(message, name).value for name in names if message.HasField(name)}
    return BatchingParameters(**given)
