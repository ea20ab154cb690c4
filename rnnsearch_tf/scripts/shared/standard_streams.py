"""The standard streams of a script, which a daemon may start without, or on a full disk."""

import contextlib
import io
import os
import sys


def open_closed_streams() -> None:
    """Open the standard streams that the process was started without, and let all text be printed.

    A file opened later would get the number of a missing one, and with it what libraries print.
    To read such an input, or write to such an output, is an OSError; errors go nowhere. Characters
    that the streams' encoding lacks are printed as escapes.
    """
    access = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for number, (name, flags) in enumerate(access.items()):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free: this one
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
            setattr(sys, name, stream)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop_unwritten() -> None:
    """Drop what the standard streams refuse, which Python would report again when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
