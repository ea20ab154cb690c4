"""Noun phrases in both languages: determiners, adjectives on the proper side, complements."""

import random
from collections.abc import Sequence
from typing import TypeVar

from rnnsearch_tf.synthetic import expressions, word_lists
from rnnsearch_tf.synthetic.linked_phrase import Phrase, Word, join, new_link, pair, words
from rnnsearch_tf.synthetic.morphology import IL, ILS, begins_with_vowel
from rnnsearch_tf.synthetic.word_lists import Adjective, Noun
from rnnsearch_tf.tables import read_tables

T = TypeVar("T")


class Dice:
    """Random choices that stay the same on every platform and version of Python."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return one item, all equally likely."""
        return items[int(self._random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Return one item, chosen in proportion to its weight."""
        rest = self._random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            rest -= weight
            if rest < 0:
                return item
        return items[-1]

    def between(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))


_TABLES = read_tables(__package__, "noun_phrases")
_POSSESSIVES = tuple(english for english, *_ in _TABLES["possessives"])
_ARTICLES = {word: forms for word, *forms in (*_TABLES["articles"], *_TABLES["possessives"])}
_EUPHONIC = {"ce": "cet", "ma": "mon", "sa": "son"}
_OWNERS = {noun: kinds for noun, kinds in _TABLES["owners"]}


def _owners(noun: Noun) -> str:
    return _OWNERS.get(noun.english) or _OWNERS.get(noun.kind, "")


def choose_adjectives(dice: Dice, noun: Noun, room: int) -> list[Adjective]:
    """Choose up to two adjectives for a noun, in their English order."""
    chosen: list[Adjective] = []
    fitting = word_lists.adjectives_of(noun)
    limit = 1 if noun.kind in ("person", "leader", "kin", "animal") and dice.chance(0.7) else 2
    while fitting and len(chosen) < min(room, limit):
        one = dice.pick(fitting)
        chosen.append(one)
        fitting = tuple(a for a in fitting if a.rank != one.rank and not a.before & one.before)
    return sorted(chosen, key=lambda a: a.rank)


def describe(noun: Noun, adjectives: list[Adjective], plural: bool) -> Phrase:
    """Put adjectives before the English noun, and each on its own side of the French one."""
    phrase = pair(noun.english_plural if plural else noun.english, "")
    link = phrase.english[0].links[0]
    phrase.french = words(noun.french_plural if plural else noun.french, link)
    for adjective in reversed(adjectives):
        link = new_link()
        form = adjective.french[noun.feminine, plural]
        phrase.english.insert(0, Word(adjective.english, (link,)))
        if not adjective.before:
            phrase.french.append(Word(form, (link,)))
            continue
        if not (noun.feminine or plural) and begins_with_vowel(phrase.french[0].text):
            form = adjective.euphonic
        phrase.french.insert(0, Word(form, (link,)))
    return phrase.agreeing(ILS if plural else IL, noun.feminine, noun.english)


def determine(phrase: Phrase, english: str, french: str) -> Phrase:
    """Put a determiner, of any number of words, in front of a noun phrase."""
    link = new_link()
    if begins_with_vowel(phrase.french[0].text):
        french = _EUPHONIC.get(french, french)
    phrase.english = words(english, link) + phrase.english
    phrase.french = words(french, link) + phrase.french
    return phrase


def article(phrase: Phrase, english: str) -> Phrase:
    """Put "the", "a", "this" or a possessive in front; the French one agrees."""
    french = _ARTICLES[english][2 if phrase.plural else int(phrase.feminine)]
    return determine(phrase, "these" if english == "this" and phrase.plural else english, french)


def some(phrase: Phrase, adjectives: list[Adjective], mass: bool) -> Phrase:
    """Put "some" in front: du, de la, de l', des, and de before an adjective in the plural."""
    if mass:
        return determine(phrase, "some", "de la" if phrase.feminine else "de le")
    return determine(phrase, "some", "de" if any(a.before for a in adjectives) else "des")


def any_of(dice: Dice, noun: Noun, room: int) -> Phrase:
    """Return the object of a negated verb: "any apples", pas de pommes."""
    plural = bool(noun.english_plural)
    return determine(describe(noun, choose_adjectives(dice, noun, room - 2), plural), "any", "de")


def _quantified(dice: Dice, phrase: Phrase, allowed: str) -> Phrase:
    if dice.chance(0.4):
        return determine(phrase, *dice.pick(_TABLES["quantifiers"]))
    if allowed == "all" and dice.chance(0.2):
        all_of = pair("all", "toutes" if phrase.feminine else "tous")
        determine(phrase, "the", "les")
        phrase.english[:0], phrase.french[:0] = all_of.english, all_of.french
        return phrase
    return determine(phrase, *dice.pick(expressions.NUMBERS))


def choose_determiner(
    dice: Dice, noun: Noun, phrase: Phrase, adjectives: list[Adjective], allowed: str
) -> Phrase:
    """Choose a determiner that goes with the noun and its number."""
    mass = not noun.english_plural
    if allowed == "the":
        return article(phrase, "the")
    if noun.kind == "kin" and allowed != "indefinite" and dice.chance(0.7):
        return article(phrase, dice.pick(_POSSESSIVES))
    if allowed == "definite" or (allowed != "indefinite" and dice.chance(0.4)):
        return article(phrase, dice.pick(("the", "the", "the", "this")))
    if mass:
        return some(phrase, adjectives, mass)
    owned = noun.kind in ("thing", "text", "animal", "opening")
    if owned and allowed == "all" and dice.chance(0.3):
        return article(phrase, dice.pick(_POSSESSIVES))
    if phrase.plural and noun.kind not in ("leader", "group"):
        if dice.chance(0.4):
            return some(phrase, adjectives, mass)
        return _quantified(dice, phrase, allowed)
    if phrase.plural or noun.kind in ("leader", "group"):
        return article(phrase, "the")
    if allowed == "all" and dice.chance(0.15):
        return determine(phrase, "every", "chaque")
    return article(phrase, "a")


def _owner(dice: Dice, noun: Noun, room: int) -> Phrase:
    """Return somebody or something that a noun can belong to."""
    kinds = _owners(noun)
    if kinds == "country" or (kinds.startswith("group") and dice.chance(0.3)):
        pool = expressions.AREAS + expressions.INSTITUTIONS
        return dice.pick(expressions.COUNTRIES if room < 4 or kinds == "country" else pool).phrase()
    owner = dice.pick(word_lists.nouns_of(kinds))
    plural = owner.kind in ("person", "group") and dice.chance(0.3)
    adjectives = choose_adjectives(dice, owner, dice.between(0, room - 2))
    return article(describe(owner, adjectives, plural), "the")


def complement(dice: Dice, noun: Noun, head: Phrase, room: int) -> Phrase:
    """Give a noun its owner: "the X of the Y", or "the Y's X" for one single person."""
    owner = _owner(dice, noun, room)
    link = new_link()
    if owner.plural or not set(_owners(noun).split()) & {"person", "kin"}:
        if _owners(noun) == "country" and owner.feminine:
            owner.french = owner.french[1:]  # la reine d'Espagne, but le roi du Portugal
        return article(head, "the").add(pair("of", "de")).add(owner)
    french = _ARTICLES["the"][2 if head.plural else int(head.feminine)]
    whole = Phrase(
        [*owner.english, Word("'s", (link,)), *head.english],
        [Word(french, (link,)), *head.french, Word("de", (link,)), *owner.french],
    )
    return whole.agreeing(head.person, head.feminine, head.noun)


def noun_phrase(
    dice: Dice, noun: Noun, room: int, allowed: str = "all", plural: bool | None = None
) -> Phrase:
    """Return a noun phrase of about so many French words, two at least.

    Allowed determiners are "all", "definite" (what may go after *de*), "indefinite", "the", or
    "subject" (no "every" and "all the", whose negation would be ambiguous).
    """
    if plural is None:
        is_one = noun.kind == "leader" or noun.english in ("mother", "father")
        plural = bool(noun.english_plural) and not is_one and dice.chance(0.3)
    with_owner = _owners(noun) != "" and allowed != "indefinite" and room >= 4 and dice.chance(0.7)
    adjectives = choose_adjectives(dice, noun, room - 2 - 3 * with_owner)
    if noun.kind == "group" and not adjectives and room == 3:
        institution = dice.pick(expressions.INSTITUTIONS).phrase()
        institution.noun = noun.english
        return institution
    phrase = describe(noun, adjectives, plural)
    if with_owner:
        return complement(dice, noun, phrase, room - len(phrase.french) - 1)
    return choose_determiner(dice, noun, phrase, adjectives, allowed)


def coordinate(first: Phrase, second: Phrase, conjunction: tuple[str, str]) -> Phrase:
    """Join two noun phrases with "and"; together they are masculine unless both are feminine."""
    whole = join(first, pair(*conjunction), second)
    return whole.agreeing(ILS, first.feminine and second.feminine, first.noun)
