"""Processes that begin with TensorFlow imported, which takes seconds: forks of one server."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TextIO

_PRELOADED = [
    "rnnsearch_tf.scripts.train",
    "rnnsearch_tf.training.run",
    "train_on_devices",
    "quick_graphs",
]


class ForkedProcess:
    """A call in a process of its own, handled like a `subprocess.Popen` of text.

    Args:
        function: what it runs; its result is the exit status.
        arguments: its arguments.
        environment: variables that are set besides this process's.
        log: a file for its standard error; None: `stderr` has it.

    Attributes:
        stderr: what it writes to standard error.
    """

    def __init__(
        self,
        function: Callable[..., int],
        *arguments: Any,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
    ):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        receiver, sender = context.Pipe(duplex=False)
        variables = {**os.environ, **(environment or {})}
        self._process = context.Process(
            target=_run, args=(log or sender, variables, function, arguments)
        )
        self._process.start()
        sender.close()
        self.stderr: TextIO = os.fdopen(os.dup(receiver.fileno()), "r", encoding="utf-8")
        receiver.close()

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status; the negative number of the signal that ended it; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return `returncode`."""
        return self.returncode

    def wait(self, seconds: float = 3600) -> int:
        """Wait until the process has ended; return its status."""
        self._process.join(seconds)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self._process), seconds)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.returncode is None and self._process.pid is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, unless the process has ended."""
        self.send_signal(signal.SIGKILL)

    def finish(self, seconds: float = 300) -> str:
        """Wait until the process has ended; return what it wrote and was not read yet."""
        with self.stderr:
            written = self.stderr.read()
        self.wait(seconds)
        return written


def _run(
    output: Connection | Path,
    environment: Mapping[str, str],
    function: Callable[..., int],
    arguments: tuple[Any, ...],
) -> None:
    import quick_graphs

    quick_graphs.install()  # as the tests' own processes, with whose weights theirs are compared
    gc.freeze()  # or a search for garbage would copy the server's memory
    gc.set_threshold(50_000, 10, 10)
    os.environ.clear()
    os.environ.update(environment)
    if isinstance(output, Path):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    else:
        os.dup2(output.fileno(), 2)
    # The server's stream may take the pipe for a file, which its own standard error may have been.
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.exit(function(*arguments))
