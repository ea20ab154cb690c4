"""A terminal for a process, and what a person sees on it, as pyte draws it."""

import os
import select
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pyte
import pytest

pytest.importorskip("termios", reason="of POSIX")

import fcntl
import pty
import termios

_ROWS = 40  # so many that nothing is scrolled away


class _Process(Protocol):
    def poll(self) -> int | None: ...


class TerminalScreen:
    """A terminal of some columns; a context.

    Args:
        columns: of the terminal.

    Attributes:
        path: the file that a process writes to.
        written: all that was written to it.
    """

    def __init__(self, columns: int = 80):
        self._master, self._slave = pty.openpty()
        size = struct.pack("HHHH", _ROWS, columns, 0, 0)
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, size)
        self.path = Path(os.ttyname(self._slave))
        self.written = b""
        self._screen = pyte.Screen(columns, _ROWS)
        self._stream = pyte.ByteStream(self._screen)

    def __enter__(self) -> "TerminalScreen":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._master)
        os.close(self._slave)

    def start(self, command: list[str], environment: Mapping[str, str]) -> subprocess.Popen:
        """Start a command whose terminal this is: keys give it signals.

        Args:
            command: the command.
            environment: variables besides this process's.
        """
        ours = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}  # xdist's
        return subprocess.Popen(
            command,
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**ours, "TERM": "xterm-256color", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self._master, keys)

    def views(self, process: _Process, seconds: float = 300) -> Iterator[list[str]]:
        """Yield the lines on the screen, up to the last that is not empty, as they change.

        Args:
            process: what writes to the terminal; the last lines are those when it has ended.
            seconds: it may take.
        """
        end = time.monotonic() + seconds
        while True:
            has_ended = process.poll() is not None
            while select.select([self._master], [], [], 0.02)[0]:
                piece = os.read(self._master, 1 << 12)
                self.written += piece
                self._stream.feed(piece)
                yield self._lines()
            if has_ended:
                return
            assert time.monotonic() < end, self._lines()

    def _lines(self) -> list[str]:
        text = "\n".join(line.rstrip() for line in self._screen.display)
        return text.rstrip().splitlines() or [""]

    @property
    def has_cursor(self) -> bool:
        """Whether the cursor is shown."""
        return not self._screen.cursor.hidden
