"""Verbs in both languages: tenses, negation, adverbs, clitic pronouns and agreement."""

from dataclasses import dataclass
from functools import cache

from rnnsearch_tf.synthetic.expressions import NEGATIONS
from rnnsearch_tf.synthetic.linked_phrase import Phrase, Word, new_link, pair, words
from rnnsearch_tf.synthetic.morphology import IL, ILS, JE, conjugate, participle
from rnnsearch_tf.synthetic.word_lists import Verb


def _auxiliary(base: str, third: str, past: str, participle: str, ing: str, french: str) -> Verb:
    """Make a verb that anybody can be the subject of, in every tense."""
    forms = (base, third, past, participle, ing)
    return Verb(*forms, "", french, "", frozenset(), core=True, common=True, stative=True)


BE = _auxiliary("be", "is", "was", "been", "being", "être")
CAN = _auxiliary("can", "can", "could", "", "", "pouvoir")
MUST = _auxiliary("must", "must", "should", "", "", "devoir")

_SIMPLE_FRENCH = {
    "present": "present",
    "progressive": "present",
    "past progressive": "imperfect",
    "imperfect": "imperfect",
    "imagined": "imperfect",
    "future": "future",
    "conditional": "conditional",
}
_COMPOUND_FRENCH = {"past": "present", "perfect": "present", "pluperfect": "imperfect"}
_REFLEXIVE = ("me", "se", "nous", "vous", "se")


@dataclass
class Manner:
    """Manner of a verb, beside its tense."""

    negation: str = ""  # a key of `NEGATIONS`, or nothing
    adverb: tuple[str, str] | None = None  # of the middle of the sentence, with its French
    clitic: Phrase | None = None  # an object pronoun ("her", *la*), in French before the verb
    agreement: Phrase | None = None  # an object for a participle after it to agree with
    support: bool = False  # whether English must have an auxiliary, to ask a question with


PLAIN = Manner()


@cache
def tenses(verb: Verb, time: str, person: int) -> tuple[str, ...]:
    """Return the tenses in which a verb is said of a time, with a subject of a person.

    Few verbs are said in every tense, so that the vocabulary stays small.
    """
    third = person in (IL, ILS)
    often = verb.core or third
    if time == "past":
        during = ("past progressive",) if verb.progressive and verb.core else ()
        return (("imperfect",) if often else ()) if verb.stative else ("past", "past", *during)
    if time == "reported":
        before = (("imperfect",) if often else ()) if verb.stative else ("pluperfect",)
        return before + (("conditional",) if verb.core or (verb.common and person == IL) else ())
    if time == "habitual":
        return ("present",) if often else ()
    if time == "event":
        return () if verb.stative else ("past",)
    if time == "imagined":
        return ("imagined",) if verb.stative and verb.core else ()
    if time == "present":
        now = ("present", "present") if often else ()
        during = ("progressive",) if verb.progressive and often and not verb.stative else ()
        return now + during + (() if verb.stative else ("perfect",))
    if time == "future":
        return ("future",) if verb.core or (verb.common and third) else ()
    if time == "conditional":
        return ("conditional",) if verb.core or (verb.common and person == IL) else ()
    return (time,)


def _english(verb: Verb, tense: str, person: int, support: bool) -> tuple[str, str]:
    """Return the auxiliary and the main verb, either of which may be empty."""
    if verb.base == "be" and tense in ("present", "past", "imperfect", "imagined"):
        return _finite_be(tense, person), ""
    if verb.base in ("can", "must"):
        return (verb.past if tense == "conditional" else verb.base), ""
    third = person == IL
    if tense == "present":
        does = "does" if third else "do"
        return (does, verb.base) if support else ("", verb.third if third else verb.base)
    if tense in ("past", "imperfect", "imagined"):
        return ("did", verb.base) if support else ("", verb.past)
    if tense in ("progressive", "past progressive"):
        return _finite_be("present" if tense == "progressive" else "past", person), verb.ing
    if tense == "perfect":
        return ("has" if third else "have"), verb.participle
    if tense == "pluperfect":
        return "had", verb.participle
    if tense == "conditional" and verb.base == "want":
        return "would", "like"
    return {"future": "will", "conditional": "would", "infinitive": ""}[tense], verb.base


def _finite_be(tense: str, person: int) -> str:
    if tense == "present":
        return "am" if person == JE else "is" if person == IL else "are"
    return "was" if person in (JE, IL) and tense != "imagined" else "were"


def _french(
    verb: Verb, subject: Phrase, tense: str, manner: Manner, main: int, auxiliary: int
) -> tuple[list[Word], list[Word], list[Word]]:
    """Return the words before, in, and after the finite French verb, with two English links."""
    infinitive, _, rest = verb.french.partition(" ")
    link = (main,)
    before = [Word(_REFLEXIVE[subject.person], link)] if verb.reflexive else []
    before += manner.clitic.french if manner.clitic else []
    tail = words(rest, main)
    if tense == "infinitive":
        return before, [Word(infinitive, link)], tail
    if tense in _SIMPLE_FRENCH:
        form = conjugate(infinitive, _SIMPLE_FRENCH[tense])[subject.person]
        return before, [Word(form, link)], tail
    having = "être" if verb.with_etre else "avoir"
    finite = conjugate(having, _COMPOUND_FRENCH[tense])[subject.person]
    controller = subject if verb.with_etre else manner.agreement
    done = participle(infinitive)
    if controller:
        done = participle(infinitive, controller.feminine, controller.plural)
    return before, [Word(finite, (auxiliary,))], [Word(done, link), *tail]


def verb_group(verb: Verb, subject: Phrase, tense: str, manner: Manner = PLAIN) -> Phrase:
    """Return a verb with all that clusters around it, without its subject and objects.

    In a question or a negation, its first English word is the auxiliary. The tense is one that
    `tenses` names, or "infinitive".
    """
    support = manner.support or manner.negation in ("not", "not yet")
    helper, verb_form = _english(verb, tense, subject.person, support)
    main = new_link()
    auxiliary = new_link() if helper and verb_form else main
    before, finite, after = _french(verb, subject, tense, manner, main, auxiliary)
    negation = NEGATIONS[manner.negation].phrase() if manner.negation else Phrase()
    adverb = pair(*manner.adverb) if manner.adverb else Phrase()
    compound = tense in _COMPOUND_FRENCH
    english = [Word(helper, (auxiliary if compound else main,))] if helper else []
    late = manner.negation == "nothing"
    english += ([] if late else negation.english) + adverb.english
    english += words(verb_form, main) + words(verb.particle, main)
    english += manner.clitic.english if manner.clitic else []
    english += negation.english if late else []
    french = negation.french[:1] + before + finite + negation.french[1:] + adverb.french + after
    return Phrase(english, french)


def preposition(verb: Verb, group: Phrase) -> Phrase:
    """Add the preposition that only French has, or that translates the English particle."""
    if not verb.preposition:
        return group
    link = new_link()
    place = next((i for i, w in enumerate(group.english) if w.text == verb.particle), -1)
    word = group.english[place]
    links = (link,) if verb.particle else (*word.links, link)
    group.english[place] = Word(word.text, links)
    group.french.append(Word(verb.preposition, (link,)))
    return group
