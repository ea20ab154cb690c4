"""Typing errors, drawn at random: letters of words that change places."""

import itertools
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence

from rnnsearch_tf.text.unspaced import UNSPACED

_UNSPACED = re.compile(UNSPACED)
_SHORTEST = 4  # letters


def exchange_letters(text: str, share: float, random_numbers: random.Random) -> str:
    """Swap two adjacent inner letters in about this share of the words of a text.

    Words of fewer than four letters are never changed, so longer ones are changed more often. The
    first and the last letter of a word, and the order of the words, stay. A letter keeps its marks.
    Scripts without spaces are not changed.
    """
    words = len(text.split())
    letters = _letters(text)
    spans = [*_spans(letters)]
    count = int(share * words + random_numbers.random())  # on average, the share
    for start, end in random_numbers.sample(spans, min(count, len(spans))):
        i = random_numbers.randrange(start + 1, end - 2)
        letters[i], letters[i + 1] = letters[i + 1], letters[i]
    return "".join(letters)


def _letters(text: str) -> list[str]:
    """Split a text into characters, each with the marks behind it."""
    letters: list[str] = []
    for char in text:
        if letters and unicodedata.category(char).startswith("M"):
            letters[-1] += char
        else:
            letters.append(char)
    return letters


def _spans(letters: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find the words that are long enough: where they start and end."""
    end = 0
    for is_word, run in itertools.groupby(letters, _is_letter):
        start, end = end, end + len([*run])
        if is_word and end - start >= _SHORTEST:
            yield start, end


def _is_letter(letter: str) -> bool:
    return letter[0].isalpha() and not _UNSPACED.match(letter)
