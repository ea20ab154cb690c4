"""Lines of output as they come, to standard output, a pipe or a device."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TypeVar

from rnnsearch_tf.files import is_stream, opened_stream
from rnnsearch_tf.progress import counted
from rnnsearch_tf.scripts.shared.text_output import shown_by
from rnnsearch_tf.terminal import printable

Item = TypeVar("Item")


class LineStream:
    """Lines for the items of an input, written to standard output (-), a pipe or a device."""

    def __init__(self, path: str, warn: Callable[[str], None]):
        self.done = 0  # items whose lines an interrupted run has written
        self.has_failed = False  # whether a line has no finite result, also of those done
        self._path = path
        self._warn = warn

    def check(self, number: int, is_finite: bool, problem: str) -> None:
        """Warn of line `number`, from 1, if its result is not finite."""
        if not is_finite:
            self.has_failed = True
            self._warn(f"line {number:,}: {problem}")

    def rest_of(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items that are not done; InputError if those that are done have changed."""
        return iter(items)

    def kept_lines(self) -> list[bytes]:
        """Return the lines of the items that are done."""
        return []

    def counted(self, items: Iterable[Item], name: str, total: int | None = None) -> Iterator[Item]:
        """Yield items, and show the progress unless the terminal shows their lines."""
        return iter(items) if self._is_on_terminal() else counted(items, name, total)

    def write(self, blocks: Iterable[str]) -> None:
        """Write the lines of each item that is not done, the last without its end, as they come.

        InputError if another process is writing them; OSError if the file cannot be written.
        """
        if self._path == "-":
            write_blocks(sys.stdout.buffer, map(shown_by(sys.stdout), blocks))
            return
        with opened_stream(self._path) as file:
            write_blocks(file, map(printable, blocks) if file.isatty() else blocks)

    def _is_on_terminal(self) -> bool:
        if self._path == "-":
            return sys.stdout.isatty()
        if not is_stream(self._path) or Path(self._path).is_fifo():  # its reader would see the end
            return False
        with opened_stream(self._path) as file:
            return file.isatty()


def write_blocks(file: IO[bytes], blocks: Iterable[str]) -> None:
    """Write the lines of each item at once."""
    for block in blocks:
        file.write(f"{block}\n".encode())
        file.flush()
