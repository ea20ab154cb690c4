"""Text whose words are not those that a reader sees, such as text that is not in Unicode's NFC."""

import re
import unicodedata
from collections.abc import Iterable

from rnnsearch_tf.text.unspaced import UNSPACED

# Soft hyphen, word joiner, byte order mark, space without width, and controls of direction.
INVISIBLE = (
    "\u00ad\u2060\ufeff\u200b\u061c\u200e\u200f"
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_INVISIBLE = re.compile(f"[{INVISIBLE}]")
_UNSPLIT = re.compile(f"{UNSPACED}{{20}}")  # longer than words are


def composed(text: str) -> str:
    """Return a text in composed form, without the characters that are removed from all text."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def problem_of_form(lines: Iterable[str | bytes], before: int = 0) -> str | None:
    """Describe the first line whose words are not those that a reader sees; None if there is none.

    The lines come after `before` others. Text in another form has other words than text in composed
    form, and Moses' rules split separate accents off. With subword-nmt's pieces, "bu@@ ffer", BLEU
    is not that of words: sacreBLEU splits each @ off. Chinese without spaces would be one word.
    """
    for number, line in enumerate(lines, before + 1):
        if isinstance(line, bytes):
            line = line.decode(errors="replace")
        if not unicodedata.is_normalized("NFC", line):
            return (
                f"line {number:,} is not in Unicode's composed form (NFC), so its words are other "
                "words than those of text that is; uconv -x any-nfc converts it"
            )
        if _UNSPLIT.search(line):
            return (
                f"line {number:,} is of a script without spaces and not split into words; "
                "--tokenizer=sentencepiece needs no words"
            )
        if "@@ " in line:
            return (
                f"line {number:,} has words in pieces (@@), which are read as words, also by BLEU; "
                "--tokenizer=sentencepiece splits text without them"
            )
    return None
