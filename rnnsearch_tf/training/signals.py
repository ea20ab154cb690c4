"""Signals that wait for the end of an update, for a clean stop."""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

from rnnsearch_tf.progress import open_line


@contextlib.contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Collect the first SIGINT or SIGTERM instead of exiting; a second one acts at once."""
    received: list[int] = []
    earlier: dict[int, Any] = {}

    def receive(number: int, frame: Any) -> None:
        del frame
        received.append(number)
        if number == signal.SIGINT:
            open_line()
        _restore(earlier)

    for number in (signal.SIGINT, signal.SIGTERM):
        earlier[number] = signal.signal(number, receive)
    try:
        yield received
    finally:
        _restore(earlier)


def _restore(handlers: dict[int, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)
