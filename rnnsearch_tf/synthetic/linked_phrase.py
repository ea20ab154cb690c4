"""Phrases in two languages at once, and the finishing touches that make text of them.

Every word carries the numbers of its *links*; an English and a French word are aligned when they
have a link in common. So phrases can be joined, reordered and merged on either side without
counting positions: only `finish` turns links into an alignment.
"""

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from rnnsearch_tf.synthetic.morphology import begins_with_vowel

_links = count()


def new_link() -> int:
    """Return a link that no other word has."""
    return next(_links)


class Word(NamedTuple):
    """Token of one language with its links to the other."""

    text: str
    links: tuple[int, ...]
    clitic: bool = False  # the pronoun "le", which does not contract: de le voir


@dataclass
class Phrase:
    """Words in both languages, each in its own order, with the features that others agree with."""

    english: list[Word] = field(default_factory=list)
    french: list[Word] = field(default_factory=list)
    person: int = 1  # an index into the forms of a French verb: je, il, nous, vous, ils
    feminine: bool = False
    noun: str = "friend"  # the English noun by which a verb recognises its subject
    tense: str = ""  # that of a predicate's verb

    @property
    def plural(self) -> bool:
        """Whether predicates agree in the plural."""
        return self.person >= 2

    def agreeing(self, person: int, feminine: bool, noun: str = "friend") -> "Phrase":
        """Set the features, and return this phrase."""
        self.person, self.feminine, self.noun = person, feminine, noun
        return self

    def add(self, other: "Phrase") -> "Phrase":
        """Append another phrase on both sides, and return this one."""
        self.english += other.english
        self.french += other.french
        return self


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


def words(text: str, link: int) -> list[Word]:
    """Split text at spaces into words with one common link."""
    return [Word(token, (link,)) for token in text.split()]


def pair(english: str, french: str, links: str = "") -> Phrase:
    """Make a phrase, with links of its own, of two texts of tokens with spaces between them.

    `links` is their alignment, "i-j" pairs. Without it, words are linked one by one, or, where
    their numbers differ, all to all.
    """
    count = len(english.split())
    if not links and count != len(french.split()):
        link = new_link()
        return Phrase(words(english, link), words(french, link))
    left: list[list[int]] = [[] for _ in english.split()]
    right: list[list[int]] = [[] for _ in french.split()]
    for item in links.split() or [f"{i}-{i}" for i in range(count)]:
        i, _, j = item.partition("-")
        link = new_link()
        left[int(i)].append(link)
        right[int(j)].append(link)
    return Phrase(
        [Word(text, tuple(own)) for text, own in zip(english.split(), left, strict=True)],
        [Word(text, tuple(own)) for text, own in zip(french.split(), right, strict=True)],
    )


def join(*phrases: Phrase) -> Phrase:
    """Put phrases one after the other, in the same order in both languages."""
    return functools.reduce(Phrase.add, phrases, Phrase())


_CONTRACTIONS = {
    ("de", "le"): "du",
    ("de", "les"): "des",
    ("à", "le"): "au",
    ("à", "les"): "aux",
    ("can", "not"): "cannot",
}
_ELIDED = ("le", "la", "de", "je", "ne", "que", "se", "me", "jusque", "puisque", "lorsque")
_AN_EXCEPTIONS = ("uni", "use", "euro", "one")
_AN_H = ("honest", "hour")


def _elide(text: str, following: str) -> str:
    """Return a French word as it stands before another one: l'homme, s'il, but le héros."""
    if text in _ELIDED and begins_with_vowel(following):
        return text[:-1] + "'"
    if text == "si" and following in ("il", "ils"):
        return "s'"
    return text


def _contract(side: Iterable[Word]) -> list[Word]:
    """Merge de + le into du, and their links; elision goes first: de l'eau."""
    merged: list[Word] = []
    for word in side:
        last = merged[-1] if merged else None
        together = _CONTRACTIONS.get((last.text, word.text)) if last and not word.clitic else None
        if last and together:
            merged[-1] = Word(together, last.links + word.links)
        else:
            merged.append(word)
    return merged


def _article(text: str, following: str) -> str:
    if text != "a":
        return text
    after = following.lower()
    vowel = after[0] in "aeiou" and not after.startswith(_AN_EXCEPTIONS)
    return "an" if vowel or after.startswith(_AN_H) else "a"


def _finished(side: list[Word], spelled: Callable[[str, str], str]) -> list[Word]:
    """Spell each word as it stands before the next one, then contract."""
    following = [word.text for word in side[1:]] + ["."]
    pairs = zip(side, following, strict=True)
    return _contract(word._replace(text=spelled(word.text, after)) for word, after in pairs)


def _capitalised(tokens: list[str]) -> tuple[str, ...]:
    """Capitalise the first word, and the first word of a quotation."""
    quoted = [
        i + 1 for i, t in enumerate(tokens) if t == "«" or (t == '"' and tokens[i - 1] == ":")
    ]
    for start in [0, *quoted]:
        tokens[start] = tokens[start][0].upper() + tokens[start][1:]
    return tuple(tokens)


def _spelled_english(tokens: tuple[str, ...]) -> str:
    """Write tokens as text, the way Moses' detokeniser does."""
    text = re.sub(r" ([,.;:?!'])", r"\1", " ".join(tokens))
    return re.sub(r'" (.*?) "', r'"\1"', text)


def _spelled_french(tokens: tuple[str, ...]) -> str:
    """Write tokens as text, the way Moses' detokeniser does: a space before ? ! : ; « and »."""
    return re.sub(r"(?<=') | (?=[,.])", "", " ".join(tokens))


def finish(phrase: Phrase) -> SentencePair:
    """Elide, contract, capitalise and write out a whole sentence; links become an alignment."""
    english = _finished(phrase.english, _article)
    french = _finished(phrase.french, _elide)
    places: dict[int, list[int]] = {}
    for position, word in enumerate(french):
        for link in word.links:
            places.setdefault(link, []).append(position)
    alignment = {(i, j) for i, w in enumerate(english) for k in w.links for j in places.get(k, ())}
    source = _capitalised([word.text for word in english])
    target = _capitalised([word.text for word in french])
    texts = _spelled_english(source), _spelled_french(target)
    return SentencePair(*texts, source, target, tuple(sorted(alignment)))
