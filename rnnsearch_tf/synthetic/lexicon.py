"""Nouns, adjectives and verbs of the built-in grammar, with the properties that rules ask for.

An English word has one translation in each of its uses.
"""

from dataclasses import dataclass
from functools import cache

from rnnsearch_tf.synthetic import morphology
from rnnsearch_tf.synthetic.morphology import IL, ILS, PERSONS
from rnnsearch_tf.tables import read_tables


@cache
def is_true(condition: str, properties: frozenset[str]) -> bool:
    """Tell whether a condition is true; rules.txt says how they are written."""
    return all(
        any(
            (not name or name in properties) and properties.isdisjoint(without)
            for name, *without in (alternative.split("-") for alternative in part.split())
        )
        for part in condition.split(",")
        if part.strip()
    )


@dataclass(frozen=True, eq=False)
class Head:
    """Noun, name or pronoun in one number: what other words agree with."""

    english: str
    french: str
    person: int  # an index into PERSONS
    feminine: bool
    properties: frozenset[str]  # the noun and its kinds, its number and gender

    @property
    def plural(self) -> bool:
        """Whether predicates agree in the plural."""
        return self.person > IL


def _head(english: str, french: str, person: int, feminine: bool, kinds: set[str]) -> Head:
    number = "plural" if person > IL else "mass" if "mass" in kinds else "singular"
    spoken = {"third", number} if person in (IL, ILS) else {"speaker"}
    properties = kinds | spoken | {"f" if feminine else "m"}
    return Head(english, french, person, feminine, frozenset(properties))


@cache
def together(first: Head, second: Head) -> Head:
    """Return what agrees with "X and Y": masculine, unless both are feminine."""
    kinds = set(first.properties - {"singular", "m", "f"})
    return _head("", "", ILS, first.feminine and second.feminine, kinds)


def _heads(kinds: str, english: str, french: str, gender: str, person: str = "il") -> list[Head]:
    """Return the uses of a noun, the singular twice: it is more frequent."""
    english, _, several = english.partition("/")
    french, _, plusieurs = french.partition("/")
    common = gender == "f", {english, *kinds.split()}
    single = _head(english, french, PERSONS.index(person), *common)
    if {"mass", "one"} & common[1]:
        return [single]
    several = several or morphology.english_plural(english)
    return [single] * 2 + [
        _head(several, plusieurs or morphology.french_plural(french), ILS, *common)
    ]


HEADS = tuple(
    head
    for kinds, rows in read_tables(__package__, "nouns").items()
    for row in rows
    for head in _heads(kinds, *row)
)
CLITICS = tuple(head for head in HEADS if "clitic" in head.properties)
_ADJECTIVES = read_tables(__package__, "adjectives")["adjectives"]


def _adjective(french: str) -> str:
    """Return the four forms, with slashes between them, of a masculine and its feminine."""
    masculine, *rest = french.split()
    plain = masculine.split("~")[0]
    feminine = rest[0] if rest else morphology.french_feminine(plain)
    return "/".join((masculine, feminine, morphology.french_plural(plain), feminine + "s"))


@cache
def adjectives(symbol: str, head: Head) -> list[tuple[str, str]]:
    """Return the adjectives, with their French forms, of a symbol that go with a noun."""
    return [
        (english, _adjective(french))
        for english, french, nouns, symbols in _ADJECTIVES
        if symbol in symbols.split() and is_true(nouns, head.properties)
    ]


class Verb:
    """Verb in both languages."""

    def __init__(self, english: str, french: str, kinds: str) -> None:
        """Make a verb of "base[/past[/participle]]" and "[se ]infinitive"."""
        self.base, *rest = english.split("/")
        self.past, *rest = rest or [morphology.english_past(self.base)]
        self.participle = rest[0] if rest else self.past
        self.reflexive = french.startswith("se ")
        self.infinitive = french.removeprefix("se ")
        self.kinds = frozenset(kinds.split())
        self.with_etre = self.reflexive or "etre" in self.kinds

    def in_english(self, form: str, person: int) -> str:
        """Return the "base", "s" (the present), "past" or "participle" as a subject has it."""
        if self.base == "be" and form in ("s", "past"):
            return {"s": ("am", "is", "are"), "past": ("was", "was", "were")}[form][min(person, 2)]
        if form == "s":
            inflected = person == IL and "modal" not in self.kinds
            return morphology.english_plural(self.base) if inflected else self.base
        return {"base": self.base, "past": self.past, "participle": self.participle}[form]

    def in_french(self, form: str, subject: Head, before: Head | None) -> str:
        """Return the "infinitive", the "participle" or a tense as a subject has it.

        The participle agrees with the subject after *être*, else with an object before it.
        """
        if form == "infinitive":
            return self.infinitive
        if form != "participle":
            return morphology.conjugate(self.infinitive, form)[subject.person]
        one = subject if self.with_etre else before
        if not one:
            return morphology.participle(self.infinitive)
        return morphology.participle(self.infinitive, one.feminine, one.plural)

    def auxiliary(self, tense: str, subject: Head) -> str:
        """Return *avoir* or *être* as a subject has it."""
        return morphology.conjugate("être" if self.with_etre else "avoir", tense)[subject.person]
