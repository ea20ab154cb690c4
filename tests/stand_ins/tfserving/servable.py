"""One loaded version of a model."""

import threading
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tfserving.batching import BatchQueue, BatchScheduler
from tfserving.c_session import CSession, check_inputs


class Servable:
    """A version that answers requests.

    Args:
        name: the model's.
        version: its number.
        path: its folder.
        scheduler: joins requests; None runs each by itself.

    Raises:
        StatusError: it cannot be loaded.
    """

    def __init__(self, name: str, version: int, path: Path, scheduler: BatchScheduler | None):
        self.name = name
        self.version = version
        self.session = CSession(path, rewrites=False)
        self._scheduler = scheduler
        self._queues: dict[str, BatchQueue] = {}
        self._lock = threading.Lock()

    def predict(self, signature: str, inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """Run a signature; see `CSession.run`.

        Raises:
            StatusError: what `CSession.run` and `BatchQueue.submit` raise.
        """
        if self._scheduler is None:
            return self.session.run(signature, inputs)
        checked = check_inputs(self.session.signature(signature), inputs)
        return self._queue(self._scheduler, signature).submit(checked)

    def close(self) -> None:
        """Free it; no request may be running."""
        if self._scheduler is not None:
            for queue in self._queues.values():
                self._scheduler.remove(queue)
        self.session.close()

    def _queue(self, scheduler: BatchScheduler, signature: str) -> BatchQueue:
        with self._lock:
            if signature not in self._queues:
                self._queues[signature] = scheduler.new_queue(
                    f"{self.name}/{self.version} {signature}",
                    lambda inputs: self.session.run(signature, inputs),
                )
            return self._queues[signature]
