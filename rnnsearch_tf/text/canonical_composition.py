"""Unicode's canonical composition (NFC) as rules for SentencePiece, which has them for NFKC alone.

NFKC changes what is written: 10⁶ becomes 106, ， in Chinese a comma of Latin scripts.
"""

import itertools
import sys
import unicodedata

# Soft hyphen, word joiner, byte order mark, and marks of direction.
_INVISIBLE = "\u00ad\u2060\ufeff\u200e\u200f"
_ZERO_WIDTH_SPACE = "\u200b"
_HANGUL = range(0xAC00, 0xD7A4)  # 11,172 syllables, which are hardly ever written in parts
_SURROGATES = range(0xD800, 0xE000)


def composition_rules() -> str:
    """Write a rule per line: code points in hexadecimal, a tab, and what they become.

    Marks of a letter may come in any order, some of them composed with it. Invisible characters
    that split words become nothing, a space without width becomes one with.
    """
    rules = {**dict.fromkeys(_INVISIBLE, ""), _ZERO_WIDTH_SPACE: " "}
    for code in range(sys.maxunicode + 1):
        if code not in _HANGUL and code not in _SURROGATES:
            rules |= _rules_for(chr(code))
    return "".join(
        f"{_code_points(before)}\t{_code_points(after)}\n" for before, after in rules.items()
    )


def _rules_for(char: str) -> dict[str, str]:
    """Return what becomes this character, or what it becomes."""
    composed = unicodedata.normalize("NFC", char)
    if composed != char:
        return {char: composed}
    letter, *marks = [*unicodedata.normalize("NFD", char)]
    rules = {}
    for ordered in itertools.permutations(marks):
        text = letter + "".join(ordered)
        if len(text) > 1 and unicodedata.normalize("NFC", text) == char:
            starts = (unicodedata.normalize("NFC", text[:end]) for end in range(1, len(text)))
            forms = (start + text[end:] for end, start in enumerate(starts, 1) if len(start) == 1)
            rules.update(dict.fromkeys(forms, char))
    return rules


def _code_points(text: str) -> str:
    return " ".join(f"{ord(char):X}" for char in text)
