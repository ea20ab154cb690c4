"""Damage to files: what is read then is what was there before, or one line refuses it."""

import contextlib
import dataclasses
import io
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from rnnsearch_tf.errors import InputError

EQUAL, REFUSED, SILENT, TRACEBACK = "equal", "refused", "silent", "traceback"
_LONGEST = 1024  # bytes that one damage removes or overwrites


@dataclasses.dataclass(frozen=True, repr=False)
class Damage:
    """Bytes `start` to `end` of a file replaced by others."""

    file: str
    start: int
    end: int
    content: bytes

    def apply(self, content: bytes) -> bytes:
        return content[: self.start] + self.content + content[self.end :]

    def __repr__(self) -> str:
        more = f" … {len(self.content):,} bytes" if len(self.content) > 16 else ""
        return f"{self.file}[{self.start}:{self.end}] = {self.content[:16]!r}{more}"


@st.composite
def damages(draw: st.DrawFn, folder: Path, files: Sequence[str]) -> Damage:
    """Change, insert, remove or clear bytes; cut a file off; put another in its place."""
    file = draw(st.sampled_from(files))
    old = (folder / file).read_bytes()
    kind = draw(st.sampled_from(("change", "change", "insert", "remove", "clear", "cut", "other")))
    start = draw(st.integers(0, max(len(old) - 1, 0)))
    end = start
    if kind in ("remove", "clear"):
        end += draw(st.integers(1, _LONGEST))
    new = {
        "change": lambda: Damage(file, start, start + 1, draw(st.binary(min_size=1, max_size=1))),
        "insert": lambda: Damage(file, start, start, draw(st.binary(min_size=1, max_size=8))),
        "remove": lambda: Damage(file, start, end, b""),
        "clear": lambda: Damage(file, start, end, bytes(len(old[start:end]))),
        "cut": lambda: Damage(file, start, len(old), b""),
        "other": lambda: Damage(
            file, 0, len(old), (folder / draw(st.sampled_from(files))).read_bytes()
        ),
    }[kind]()
    assume(new.apply(old) != old)
    return new


class Damaged:
    """A folder that is damaged, read, and mended again.

    Args:
        name: for reports.
        folder: may be changed while this is in use.
        files: the paths of those to damage, in the folder.
        read: reads the folder, of which the named file is damaged: nested lists, arrays, values.
    """

    def __init__(self, name: str, folder: Path, files: Sequence[str], read: Callable[[str], Any]):
        self.name = name
        self.folder = folder
        self.files = sorted(files)
        self._read = read
        self._expected = {file: [read(file)] for file in self.files}

    def allow(self, value: Any) -> None:
        """Take another value for right, too."""
        for expected in self._expected.values():
            expected.append(value)

    def damages(self) -> st.SearchStrategy[Damage]:
        return damages(self.folder, self.files)

    def outcome(self, damage: Damage) -> tuple[str, str]:
        """Damage a file, read the folder, and mend it.

        Returns:
            EQUAL, REFUSED, SILENT or TRACEBACK, and the error's text.
        """
        with self._damaged(damage):
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    found = self._read(damage.file)
            except InputError as error:
                text = str(error)
                return (TRACEBACK if "\n" in text else REFUSED), text
            except Exception as error:
                return TRACEBACK, f"{type(error).__name__}: {error}"
            same = any(are_same(found, value) for value in self._expected[damage.file])
            return (EQUAL if same else SILENT), ""

    @contextlib.contextmanager
    def _damaged(self, damage: Damage) -> Iterator[None]:
        path = self.folder / damage.file
        whole = path.read_bytes()
        write(path, damage.apply(whole))
        try:
            yield
        finally:
            write(path, whole)


def write(path: Path, content: bytes) -> None:
    """Write under another name first: the old content may still be mapped into memory."""
    temporary = path.with_name("being-damaged")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def are_same(a: Any, b: Any) -> bool:
    """Compare nested lists and dicts of arrays and values, bit for bit."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(are_same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(are_same, a, b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return bool(a == b)
