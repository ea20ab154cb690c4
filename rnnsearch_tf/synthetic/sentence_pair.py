"""Sentence pairs, and the spelling rules that make them from linked words.

Words carry the numbers of their *links*; `finish` aligns words that have a link in common.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rnnsearch_tf.synthetic.morphology import begins_with_vowel


class Word(NamedTuple):
    """Token of one language with its links to the other.

    "ce~cet" is *cet* before a vowel; "=le", the pronoun, is not contracted: *de le voir*.
    """

    text: str
    links: tuple[int, ...]


@dataclass(frozen=True)
class SentencePair:
    """English sentence, its French translation, and the word alignment between them.

    The alignment holds sorted pairs (source index, target index), 0-based, over the tokens.
    """

    source: str
    target: str
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]


_CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("can", "not"): "cannot",  # English
}
_ELIDED = ("le", "la", "de", "je", "ne", "que", "se", "me")


def _an(following: str) -> bool:
    """Tell whether "an" stands before an English word."""
    after = following.lower()
    return after.startswith(("a", "e", "i", "o", "u", "honest")) and not after.startswith(
        ("uni", "use", "euro")
    )


def _elide(text: str, following: str) -> str:
    """Return a French word as it stands before another one: l'homme, s'il, but le héros."""
    if text.lstrip("=") in _ELIDED and begins_with_vowel(following.lstrip("=")):
        return text.lstrip("=")[:-1] + "'"
    if text == "si" and following in ("il", "ils"):
        return "s'"
    return text


def _finished(
    side: Sequence[Word], vowel: Callable[[str], bool], elide: Callable[[str, str], str]
) -> list[Word]:
    """Spell each word as it stands before the next one, then contract, and merge the links.

    Elision goes first: de l'eau.
    """
    merged: list[Word] = []
    for word, after in zip(side, [*(word.text for word in side[1:]), "."], strict=True):
        plain, *before_vowel = word.text.split("~")
        text = elide(before_vowel[0] if before_vowel and vowel(after) else plain, after)
        last = merged[-1] if merged else Word("", ())
        together = _CONTRACTIONS.get((last.text, text))
        if together:
            merged[-1] = Word(together, last.links + word.links)
        else:
            merged.append(Word(text, word.links))
    return merged


def _tokens(side: list[Word]) -> tuple[str, ...]:
    texts = [word.text.removeprefix("=") for word in side]
    return (texts[0][0].upper() + texts[0][1:], *texts[1:])


def finish(english: Sequence[Word], french: Sequence[Word]) -> SentencePair:
    """Elide, contract, capitalize and write out a whole sentence, as Moses' detokenizer does."""
    left = _finished(english, _an, lambda text, _: text)
    right = _finished(french, begins_with_vowel, _elide)
    positions: dict[int, list[int]] = {}
    for position, word in enumerate(right):
        for link in word.links:
            positions.setdefault(link, []).append(position)
    alignment = {(i, j) for i, w in enumerate(left) for k in w.links for j in positions.get(k, ())}
    source, target = _tokens(left), _tokens(right)
    return SentencePair(
        re.sub(r" ([,.;?'])", r"\1", " ".join(source)),
        re.sub(r"(?<=') | (?=[,.])", "", " ".join(target)),
        source,
        target,
        tuple(sorted(alignment)),
    )
