"""The file of --batching_parameters_file."""

import dataclasses
import os
from pathlib import Path

from tfserving.text_message import read_message

_INT64 = "google.protobuf.Int64Value"
_FIELDS = {
    "max_batch_size": _INT64,
    "batch_timeout_micros": _INT64,
    "max_enqueued_batches": _INT64,
    "num_batch_threads": _INT64,
    "thread_pool_name": "google.protobuf.StringValue",
    "allowed_batch_sizes": "repeated int64",
    "pad_variable_length_inputs": "bool",
}


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """Rules for joining requests into batches; the defaults are TensorFlow's.

    Args:
        max_batch_size: rows of a batch.
        batch_timeout_micros: how long the first request of a batch may wait, in microseconds.
        max_enqueued_batches: batches that wait in a queue; those being run do not count.
        num_batch_threads: batches run at a time, over all queues.
        allowed_batch_sizes: sizes up to which batches are filled, rising to max_batch_size; empty:
            they are not.

    Raises:
        ValueError: values that the real server refuses.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)
    allowed_batch_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (
            ("max_batch_size", 1),
            ("batch_timeout_micros", 0),
            ("max_enqueued_batches", 1),
            ("num_batch_threads", 1),
        ):
            if getattr(self, name) < least:
                raise ValueError(f"{name} {getattr(self, name)}: must be at least {least}")
        sizes = self.allowed_batch_sizes
        if sizes and (list(sizes) != sorted(set(sizes)) or sizes[-1] != self.max_batch_size):
            raise ValueError(f"allowed_batch_sizes {sizes}: must rise to max_batch_size")

    def padded_size(self, rows: int) -> int:
        """The number of rows to which a batch is filled."""
        return next((size for size in self.allowed_batch_sizes if size >= rows), rows)


def read_batching_parameters(path: str | Path) -> BatchingParameters:
    """Read the file, a BatchingParameters message in text form.

    `thread_pool_name` and `pad_variable_length_inputs` change nothing here.

    Raises:
        ValueError: it is no such message, or has values that the real server refuses.
    """
    message = read_message(path, _FIELDS)
    given = {
        name: getattr(message, name).value
        for name, field_type in _FIELDS.items()
        if field_type == _INT64 and message.HasField(name)
    }
    return BatchingParameters(**given, allowed_batch_sizes=tuple(message.allowed_batch_sizes))
