"""Words of the built-in grammar: translations, inflection, and the words they go with.

A noun has a *kind* (person, food, idea, ...); adjectives and verbs say which kinds they go with, so
that doctors eat soup and parliaments adopt laws. An English word has one translation in each frame
it occurs in: the French sentence is a function of the English one. An underscore is a space.
"""

from dataclasses import dataclass
from functools import cache

from rnnsearch_tf.synthetic import morphology as forms
from rnnsearch_tf.tables import read_tables


@dataclass(frozen=True, eq=False)
class Noun:
    """Noun in both languages; an empty plural marks a mass noun."""

    english: str
    english_plural: str
    french: str
    french_plural: str
    feminine: bool
    kind: str


@dataclass(frozen=True, eq=False)
class Adjective:
    """Adjective; the rank orders English adjectives, and French ones the other way round."""

    english: str
    french: dict[tuple[bool, bool], str]  # by (feminine, plural)
    euphonic: str  # the form before a vowel, masculine singular: bel, nouvel, vieil
    kinds: frozenset[str]
    before: bool  # stands before its noun in French
    predicative: bool
    attributive: bool
    comparable: bool
    rank: int


@dataclass(frozen=True, eq=False)
class Verb:
    """Verb with its subjects and objects."""

    base: str
    third: str
    past: str
    participle: str
    ing: str
    particle: str
    french: str
    preposition: str
    subjects: frozenset[str]
    objects: tuple[Noun, ...] = ()
    reflexive: bool = False
    with_etre: bool = False
    core: bool = False  # said in every tense and person
    common: bool = False  # said in fewer; the rest in fewer still, to keep the vocabulary small
    stative: bool = False  # its English past is a French imparfait
    progressive: bool = False
    denies: bool = False  # can have "nothing" as the object


def _noun(kind: str, english: str, french: str, gender: str) -> Noun:
    english, _, english_plural = english.partition("/")
    french, _, french_plural = french.partition("/")
    mass = kind in ("dish", "drink", "money")
    return Noun(
        english,
        "" if mass else english_plural or forms.english_plural(english),
        french,
        "" if mass else french_plural or forms.french_plural(french),
        gender == "f",
        kind,
    )


NOUNS = {
    kind: tuple(_noun(kind, *row) for row in rows)
    for kind, rows in read_tables(__package__, "nouns").items()
}

_GROUPINGS = {"people": ("person", "kin")}


@cache
def nouns_of(description: str) -> tuple[Noun, ...]:
    """Return the nouns that words such as "food", "house" or "thing-tree" stand for."""
    chosen: list[Noun] = []
    for item in description.split():
        name, *excluded = item.split("-")
        everything = [noun for kind in NOUNS.values() for noun in kind]
        kinds = _GROUPINGS.get(name, (name,))
        named = [noun for noun in everything if noun.kind in kinds or noun.english == name]
        chosen += [noun for noun in named if noun.english not in excluded]
    return tuple(chosen)


def _adjective(english: str, french: str, kinds: str, flags: str) -> Adjective:
    masculine, *rest = french.split()
    feminine = rest[0] if rest else forms.french_feminine(masculine)
    return Adjective(
        english,
        {
            (False, False): masculine,
            (False, True): forms.french_plural(masculine),
            (True, False): feminine,
            (True, True): feminine + "s",
        },
        rest[1] if len(rest) > 1 else masculine,
        frozenset(noun.english for noun in nouns_of(kinds)),
        "b" in flags,
        "a" not in flags,
        "p" not in flags,
        "c" in flags,
        int(flags[-1]),
    )


ADJECTIVES = tuple(_adjective(*row) for row in read_tables(__package__, "adjectives")["adjectives"])


@cache
def adjectives_of(noun: Noun, predicative: bool = False) -> tuple[Adjective, ...]:
    """Return the adjectives that go with a noun, before it or after a copula."""
    wanted = [a for a in ADJECTIVES if noun.english in a.kinds]
    return tuple(a for a in wanted if (a.predicative if predicative else a.attributive))


def _verb(english: str, french: str, subjects: str, objects: str, flags: str) -> Verb:
    english, _, particle = english.partition(" + ")
    french, _, preposition = french.partition(" + ")
    base, *parts = english.split()
    past, participle = parts or (forms.english_past(base),) * 2
    return Verb(
        base,
        forms.english_plural(base),
        past,
        participle,
        forms.english_ing(base),
        particle,
        french.replace("_", " "),
        preposition,
        frozenset(noun.english for noun in nouns_of(subjects)),
        nouns_of(objects),
        reflexive="R" in flags,
        with_etre="E" in flags or "R" in flags,
        core="C" in flags,
        common="C" in flags or "c" in flags,
        stative="S" in flags,
        progressive="P" in flags,
        denies="N" in flags,
    )


VERBS = {
    frame: tuple(_verb(*row) for row in rows)
    for frame, rows in read_tables(__package__, "verbs").items()
}


@cache
def agents_of(verb: Verb) -> tuple[Noun, ...]:
    """Return the nouns that can be the subject of a verb."""
    return tuple(n for kind in NOUNS.values() for n in kind if n.english in verb.subjects)
