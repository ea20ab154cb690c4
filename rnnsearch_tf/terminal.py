"""Text for a terminal, with control characters escaped."""

import re
import unicodedata

# C0 without tab and newline, DEL, C1, controls of writing direction, line and paragraph ends.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_LINE_END = re.compile("\r\n|\r|\n")


def is_terminal(stream: object) -> bool:
    """Whether a stream is a terminal; programs may have None or a logger in its place."""
    return getattr(stream, "isatty", bool)()


def printable(text: str) -> str:
    r"""Replace control characters by escapes, such as `\x1b` and `\u202e`.

    Tabs and newlines stay, and so do joiners and no-break spaces, which words need.
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def columns_of(text: str) -> int:
    """Count the columns of a text: two for a wide letter, such as Japanese, none for a mark."""
    letters = [letter for letter in text if unicodedata.category(letter) not in ("Mn", "Me")]
    return len(letters) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in letters)


def single_line(text: str) -> str:
    """Replace line breaks with spaces, in a text that must be one line of an output."""
    return _LINE_END.sub(" ", text)
