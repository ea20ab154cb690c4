"""Verbs, adjectives and shapes of predicate that suit a subject."""

from functools import cache

from rnnsearch_tf.synthetic import word_lists
from rnnsearch_tf.synthetic.verb_group import BE, tenses
from rnnsearch_tf.synthetic.word_lists import Adjective, Noun, Verb
from rnnsearch_tf.tables import read_tables

_TABLES = read_tables(__package__, "predicates")
# The minimum of French words in a predicate, and how often it is chosen.
SHAPES = {name: (int(words), float(often)) for name, words, often in _TABLES["shapes"]}
PASSIVE_TENSES = {time: tense for time, tense in _TABLES["passive tenses"]}
SUBJECTS = {kinds: float(often) for kinds, often in _TABLES["subjects"]}
HUMAN = frozenset(noun.english for noun in word_lists.nouns_of("people leader"))


@cache
def speakable(frame: str, noun: str, time: str, person: int) -> tuple[Verb, ...]:
    """Return the verbs of a frame that can be said of a subject at a time."""
    return tuple(
        verb
        for verb in word_lists.VERBS[frame]
        if noun in verb.subjects
        and tenses(verb, time, person)
        and not (verb.base == "arrive" and time == "infinitive")
    )


@cache
def with_object_people(noun: str, time: str, person: int) -> tuple[Verb, ...]:
    """Return the verbs of a subject that can have "him", "her" or "them" as the object."""
    verbs = speakable("transitive", noun, time, person)
    direct = [verb for verb in verbs if not verb.preposition]
    return tuple(v for v in direct if any(noun.english in HUMAN for noun in v.objects))


@cache
def with_nothing(noun: str, time: str, person: int) -> tuple[Verb, ...]:
    """Return the verbs of a subject that can have "nothing" as the object."""
    return tuple(v for v in speakable("transitive", noun, time, person) if v.denies)


@cache
def transformable(noun: str) -> tuple[Verb, ...]:
    """Return the verbs that make a good passive with a noun as the subject."""
    return tuple(
        verb
        for verb in word_lists.VERBS["transitive"]
        if not (verb.preposition or verb.particle or verb.stative)
        and any(thing.english == noun for thing in verb.objects)
    )


@cache
def adjectives_after(noun: str) -> tuple[Adjective, ...]:
    """Return the adjectives of a noun after a copula."""
    return word_lists.adjectives_of(word_lists.nouns_of(noun)[0], predicative=True)


@cache
def comparable(noun: str) -> tuple[Adjective, ...]:
    """Return the adjectives of a noun in a comparison."""
    wanted = [a for a in adjectives_after(noun) if a.comparable]
    return tuple(adjective for adjective in wanted if rivals(noun, adjective))


@cache
def rivals(noun: str, adjective: Adjective) -> tuple[Noun, ...]:
    """Return the nouns that a noun can be compared with."""
    kind = word_lists.nouns_of(word_lists.nouns_of(noun)[0].kind)
    return tuple(n for n in kind if n.english != noun and n.english in adjective.kinds)


@cache
def possible(noun: str, time: str, person: int) -> tuple[str, ...]:
    """Return the shapes of predicate that a subject can have at a time."""
    human = noun in HUMAN
    able = {shape: bool(speakable(shape, noun, time, person)) for shape in word_lists.VERBS}
    able["saying"] &= time in ("present", "past", "reported", "event")
    able["infinitive"] |= time in ("present", "habitual", "conditional") and human
    able["infinitive"] &= time != "infinitive"
    able["clitic"] = bool(with_object_people(noun, time, person))
    able["nothing"] = bool(with_nothing(noun, time, person)) and time != "infinitive"
    is_said = time != "infinitive" and (human or time != "habitual")
    being = is_said and bool(tenses(BE, time, person))
    able["copula"] = being and bool(adjectives_after(noun))
    able["comparison"] = being and bool(comparable(noun))
    able["passive"] = bool(transformable(noun)) and time in PASSIVE_TENSES and not human
    able["whereabouts"] = being and human
    return tuple(shape for shape in SHAPES if able[shape])


def weight(shape: str, room: int) -> float:
    """Return the weight of a shape: shapes that can fill a large room are preferred there."""
    minimum, usual = SHAPES[shape]
    return usual * (3 if minimum >= 6 and room >= 8 else 0.3 if minimum < 3 and room >= 6 else 1)
