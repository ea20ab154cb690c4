"""The errors that a user can fix."""

import contextlib
import difflib
import errno
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
# Errors of network file systems, which may recover.
_PASSING = {getattr(errno, name, 0) for name in ("EIO", "ESTALE", "ETIMEDOUT", "ENOLINK")} - {0}
_LONGEST = 500  # characters of a library's error that are shown
# What TensorFlow writes around its errors: names of operations, and the code that made them.
_NOISE = re.compile(
    r"Graph execution error:\n+(?:Detected at node .*\n(?:(?:  |<|Node: ).*\n|\n)*)*"
    r"|\d+ root error\(s\) found\.\n +\(0\) "
    r"|\{\{function_node .*?\}\} ?| \[Op:\w+\](?: name: ?\S*)?"
)


class InputError(Exception):
    """Bad input: the text says in one line what is wrong and where.

    The console scripts print that line and exit with `status`, without a traceback.
    """

    status = 1


class UsageError(InputError):
    """Flags or arguments that are missing, invalid or incompatible."""

    status = 2


class TemporaryError(InputError):
    """A problem that may be gone later: another process in a folder, a lost machine."""

    status = 75  # EX_TEMPFAIL in sysexits.h


@contextlib.contextmanager
def input_errors(where: object) -> Iterator[None]:
    """Turn an OSError, a ValueError or the error of a damaged .gz file into an InputError.

    Its text begins with `where`. It is a TemporaryError if the disk may come back.
    """
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{where}: not a complete gzip file ({error})") from error
    except OSError as error:
        kind = TemporaryError if error.errno in _PASSING else InputError
        raise kind(f"{where}: {error.strerror or first_line(error)}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8") from error
    except ValueError as error:
        raise InputError(f"{where}: {first_line(error)}") from error


def until_error(items: Iterable[_Item], errors: list[Exception]) -> Iterator[_Item]:
    """Iterate up to an error, and add it to `errors`: a library would raise its own instead."""
    try:
        yield from items
    except Exception as error:
        errors.append(error)


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return " (did you mean OTHER?)" for a misspelled name, or "" if no known name is close.

    The prefix is put before OTHER; the names do not include it.
    """
    close = difflib.get_close_matches(name, known, 1)
    return "".join(f" (did you mean {prefix}{other}?)" for other in close)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text that is not blank, or the name of its class.

    Where it ends in a colon, the next line is added. TensorFlow's lists of operations are left out.
    """
    lines = [line.strip() for line in _NOISE.sub("", str(error)).splitlines() if line.strip()]
    end = 2 if lines and lines[0].endswith(":") else 1
    line = " ".join(lines[:end]) or type(error).__name__
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
