"""Unicode's canonical composition (NFC) as rules for SentencePiece, which has only those of NFKC.

NFKC changes what is written: 10⁶ becomes 106, and the Chinese comma ， a Latin one.
"""

import functools
import itertools
import string
import sys
import unicodedata

from rnnsearch_tf.text.composed_form import INVISIBLE

# Marks above and below Latin letters.
_ABOVE = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u030d\u030f\u0311"
_BELOW = "\u0323\u0324\u0325\u0327\u0328\u0329\u032d\u0330\u0331"
# Marks of which a letter may have two, by script: the above for Latin, Hebrew's points, Arabic's
# vowels and hamza, Devanagari's dot and virama, Thai's and Lao's vowels and tones.
_MARKS = (
    _ABOVE + _BELOW,
    "".join(map(chr, (*range(0x5B0, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C7))),
    "".join(map(chr, (*range(0x64B, 0x656), 0x670))),
    "\u093c\u094d",
    "\u0e38\u0e39\u0e3a\u0e48\u0e49\u0e4a\u0e4b",
    "\u0eb8\u0eb9\u0ec8\u0ec9\u0eca\u0ecb",
)
_ARABIC_LETTERS = "\u0627\u0648\u064a"
_HANGUL = range(0xAC00, 0xD7A4)  # 11,172 syllables, which are hardly ever written in parts
_SURROGATES = range(0xD800, 0xE000)


@functools.cache
def composition_rules() -> str:
    """Write a rule per line: code points in hexadecimal, a tab, and what they become.

    Marks may come in any order, and some may already be composed with their letter: all those that
    form one character with it, and two of `_MARKS`. Invisible characters become nothing.
    """
    rules = {**dict.fromkeys(INVISIBLE, ""), **_rules_for_two_marks()}
    for code in range(sys.maxunicode + 1):
        if code not in _HANGUL and code not in _SURROGATES:
            rules |= _rules_for(chr(code))
    return "".join(
        f"{_code_points(before)}\t{_code_points(after)}\n" for before, after in rules.items()
    )


def _rules_for(char: str) -> dict[str, str]:
    """Return the rules that produce this character, or the one that replaces it."""
    if unicodedata.is_normalized("NFD", char):  # most characters: they are not composed
        return {}
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


def _rules_for_two_marks() -> dict[str, str]:
    """Return the rules for two marks of which at most one is composed with the letter."""
    texts = ["".join(pair) for marks in _MARKS for pair in itertools.permutations(marks, 2)]
    for letters, marks in ((string.ascii_letters, _MARKS[0]), (_ARABIC_LETTERS, _MARKS[2])):
        classes = {mark: unicodedata.combining(mark) for mark in marks}
        # Marks of one class keep their order.
        pairs = [(a, b) for a, b in itertools.permutations(marks, 2) if classes[a] != classes[b]]
        for letter, pair in itertools.product(letters, pairs):
            joined = [unicodedata.normalize("NFC", letter + mark) for mark in pair]
            if min(map(len, joined)) == 1:
                texts += [letter + "".join(pair), joined[0] + pair[1]]
    forms = ((text, unicodedata.normalize("NFC", text)) for text in texts)
    return {text: composed for text, composed in forms if text != composed}


def _code_points(text: str) -> str:
    return " ".join(f"{ord(char):X}" for char in text)
