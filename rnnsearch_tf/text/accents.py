"""Accents that are characters of their own (Unicode's form NFD), which split words."""

import unicodedata
from collections.abc import Iterable


def separate_accents(lines: Iterable[str | bytes], before: int = 0) -> str | None:
    """Say which line, behind `before` others, is the first with separate accents; None: no line.

    Words with them are other words, and Moses' rules split the accents off.
    """
    for number, line in enumerate(lines, before + 1):
        if isinstance(line, bytes):
            line = line.decode(errors="replace")
        is_normal = unicodedata.is_normalized("NFC", line)  # which takes less time
        if not is_normal and len(unicodedata.normalize("NFC", line)) < len(line):
            return (
                f"line {number:,} has separate accents (NFD), which make other words; "
                "uconv -x any-nfc joins them to their letters"
            )
    return None
