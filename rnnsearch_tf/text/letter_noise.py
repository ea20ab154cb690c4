"""Typing errors: two neighboring letters of a word exchanged."""

import random
import re

_WORD = re.compile(r"[^\W\d_]{4,}")


def exchange_letters(text: str, share: float, random_numbers: random.Random) -> str:
    """Exchange two inner neighbors in about a share of all words of a text.

    Words of fewer than four letters are left alone, and longer ones bear their part. Words keep
    their first and last letter and their places.
    """
    words = len(text.split())
    places = [match.span() for match in _WORD.finditer(text)]
    count = int(share * words + random_numbers.random())  # on average, the share
    letters = list(text)
    for start, end in random_numbers.sample(places, min(count, len(places))):
        i = random_numbers.randrange(start + 1, end - 2)
        letters[i], letters[i + 1] = letters[i + 1], letters[i]
    return "".join(letters)
