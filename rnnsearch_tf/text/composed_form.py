"""Unicode's composed form, NFC, in which a letter and its marks are written in one way."""

import unicodedata
from collections.abc import Iterable


def composed(text: str) -> str:
    """Return text in composed form; most text is."""
    return unicodedata.normalize("NFC", text)


def problem_of_form(lines: Iterable[str | bytes], before: int = 0) -> str | None:
    """Say which line, behind `before` others, is the first in another form; None: no line.

    Its words are other words than those of text in composed form, and Moses' rules split separate
    accents off.
    """
    for number, line in enumerate(lines, before + 1):
        if isinstance(line, bytes):
            line = line.decode(errors="replace")
        if not unicodedata.is_normalized("NFC", line):
            return (
                f"line {number:,} is not in Unicode's composed form (NFC), so its words are other "
                "words than those of text that is; uconv -x any-nfc converts it"
            )
    return None
