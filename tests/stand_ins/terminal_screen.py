"""A terminal for the standard error of a process, and what a person sees on it, drawn by pyte."""

import fcntl
import os
import pty
import select
import struct
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte

_ROWS = 100  # so many that nothing is scrolled away


class TerminalScreen:
    """A terminal of some columns.

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

    def type(self, keys: bytes) -> None:
        """Type keys, which the terminal shows; a process gets no signal from them."""
        os.write(self._master, keys)

    def lines(self) -> list[str]:
        """Return the lines on the screen, without the empty ones at its end."""
        text = "\n".join(line.rstrip() for line in self._screen.display)
        return text.rstrip().splitlines()

    def bars(self, name: str) -> int:
        """Count the lines of the bar of that name."""
        return sum(line.startswith(f"{name} ") and "━" in line for line in self.lines())

    @property
    def has_cursor(self) -> bool:
        """Whether the cursor is shown."""
        return not self._screen.cursor.hidden

    def watch(self, until: Callable[[], bool], check: Callable[[], bool], seconds: float = 300):
        """Draw what is written until a condition holds; check something after each piece."""
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, self.lines()
            if not select.select([self._master], [], [], 0.05)[0]:
                continue
            piece = os.read(self._master, 1 << 16)
            self.written += piece
            self._stream.feed(piece)
            assert check(), self.lines()

    def close(self) -> None:
        """Close the terminal, once the process has ended."""
        os.close(self._master)
        os.close(self._slave)
