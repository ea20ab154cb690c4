"""Requests joined to batches, as TensorFlow's SharedBatchScheduler does it.

A queue joins requests for the same signature of one loaded version; threads shared by all queues
run their batches. An output that is padded to the longest row, as the
alignments are, comes back as wide as the batch needed, and not as the request alone would. Requests
are never split (`enable_large_batch_splitting`): export/README.md says why that must stay off.
"""

import dataclasses
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import numpy as np

from tfserving.batching_parameters import BatchingParameters
from tfserving.status import Code, StatusError, invalid_argument

LOGGER = logging.getLogger(__name__)
Arrays = Mapping[str, np.ndarray]


@dataclasses.dataclass
class Task:
    """A request that waits."""

    inputs: Arrays
    rows: int
    answer: "Future[Arrays]" = dataclasses.field(default_factory=Future)


class Batch(list[Task]):
    """Tasks that are run together."""

    opened = 0.0  # when the first was added, in seconds

    @property
    def rows(self) -> int:
        """Of all tasks."""
        return sum(task.rows for task in self)


class BatchScheduler:
    """Threads that run the batches of all queues, each queue in turn.

    Args:
        parameters: sizes, times and number of threads.
    """

    def __init__(self, parameters: BatchingParameters):
        self.parameters = parameters
        self._changed = threading.Condition()
        self._queues: deque[BatchQueue] = deque()  # the next to be asked first
        for _ in range(parameters.num_batch_threads):
            threading.Thread(target=self._work, daemon=True).start()

    def new_queue(self, name: str, run: Callable[[Arrays], Arrays]) -> "BatchQueue":
        """A queue whose batches are computed by `run`."""
        with self._changed:
            queue = BatchQueue(name, self.parameters, run, self._changed)
            self._queues.append(queue)
        return queue

    def close(self) -> None:
        """Let no request wait for others any more."""
        with self._changed:
            self.parameters = dataclasses.replace(self.parameters, batch_timeout_micros=0)
            for queue in self._queues:
                queue.parameters = self.parameters
            self._changed.notify_all()

    def remove(self, queue: "BatchQueue") -> None:
        """Forget a queue; nothing may wait in it."""
        with self._changed:
            self._queues.remove(queue)

    def _work(self) -> None:
        while True:
            queue, batch = self._wait_for_batch()
            queue.run(batch)

    def _wait_for_batch(self) -> "tuple[BatchQueue, Batch]":
        with self._changed:
            while True:
                for _ in range(len(self._queues)):
                    queue = self._queues[0]
                    self._queues.rotate(-1)
                    batch = queue.pop(time.monotonic())
                    if batch is not None:
                        return queue, batch
                self._changed.wait(self._seconds_to_wait())

    def _seconds_to_wait(self) -> float | None:
        due = [queue.due for queue in self._queues if queue.due is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None


class BatchQueue:
    """Batches that wait; the last of them is open.

    Args:
        name: for the log.
        parameters: sizes and times.
        run: from the joined inputs to the outputs.
        changed: guards everything; told when there may be something to do.
    """

    def __init__(
        self,
        name: str,
        parameters: BatchingParameters,
        run: Callable[[Arrays], Arrays],
        changed: threading.Condition,
    ):
        self._name = name
        self.parameters = parameters
        self._run = run
        self._changed = changed
        self._batches = deque([Batch()])

    def submit(self, inputs: Arrays) -> Arrays:
        """Run a request with others; waits for its outputs.

        Raises:
            StatusError: INVALID_ARGUMENT, it cannot be batched, or is larger than a batch may be;
                UNAVAILABLE, the queue is full; what running the batch raises.
        """
        task = Task(inputs, _batch_size(inputs))
        with self._changed:
            self._add(task)
            self._changed.notify()
        return task.answer.result()

    @property
    def waiting(self) -> list[int]:
        """Rows of the batches that wait; of the open one at the end."""
        with self._changed:
            return [batch.rows for batch in self._batches]

    @property
    def due(self) -> float | None:
        """When the open batch has waited long enough; None when it is empty."""
        if not self._batches[-1]:
            return None
        return self._batches[-1].opened + self.parameters.batch_timeout_micros * 1e-6

    def pop(self, now: float) -> Batch | None:
        """A batch to run, if one is ready."""
        if len(self._batches) == 1 and self._is_open_batch_ready(now):
            self._batches.append(Batch())
        return self._batches.popleft() if len(self._batches) > 1 else None

    def run(self, batch: Batch) -> None:
        """Give each task of a batch its rows of the outputs, or the error."""
        try:
            for task, outputs in zip(batch, self._outputs(batch), strict=True):
                task.answer.set_result(outputs)
        except Exception as error:  # the thread must live on, and those who wait must know
            for task in batch:
                task.answer.set_exception(error)

    def _add(self, task: Task) -> None:
        max_rows = self.parameters.max_batch_size
        if task.rows > max_rows:
            raise invalid_argument(
                f"Task size {task.rows} is larger than maximum input batch size {max_rows}"
            )
        if self._batches[-1].rows + task.rows > max_rows:
            if len(self._batches) >= self.parameters.max_enqueued_batches:
                raise StatusError(Code.UNAVAILABLE, "the queue of batches is full")
            self._batches.append(Batch())
        if not self._batches[-1]:
            self._batches[-1].opened = time.monotonic()
        self._batches[-1].append(task)

    def _is_open_batch_ready(self, now: float) -> bool:
        is_full = self._batches[-1].rows >= self.parameters.max_batch_size
        return is_full or (self.due is not None and now >= self.due)

    def _outputs(self, batch: Batch) -> list[Arrays]:
        LOGGER.info("batch %s: %d tasks, %d rows", self._name, len(batch), batch.rows)
        names = batch[0].inputs
        joined = {name: np.concatenate([task.inputs[name] for task in batch]) for name in names}
        outputs = self._run(joined)
        ends = np.cumsum([task.rows for task in batch])
        return [
            {name: array[end - task.rows : end] for name, array in outputs.items()}
            for task, end in zip(batch, ends, strict=True)
        ]


def _batch_size(inputs: Arrays) -> int:
    """The number of rows that all inputs have."""
    sizes = {array.shape[:1] for array in inputs.values()}
    if () in sizes:
        raise invalid_argument("with batching, every input needs a dimension")
    if len(sizes) != 1:
        raise invalid_argument("with batching, inputs need equally many rows")
    return sizes.pop()[0]
