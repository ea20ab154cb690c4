"""Built-in English-French corpus: sentences, translations and gold word alignments.

A small synchronous grammar says the same thing in both languages at once. It has what makes the
order of words differ (adjectives that swap sides, pronouns that climb over the verb, negation in
two words) and what makes the words themselves differ (agreement, elision, contraction, tenses). The
French sentence is a function of the English one. Lengths are in Moses tokens of the longer side.

The alignment is what a careful annotator would draw, with few links: a word to its translation;
an article to an article, or to the noun where English has none; a contraction to both its sources
(*du* to "of" and "the"); "not" to both *ne* and *pas*; "have eaten" to *ai mangé* word by word, but
"will eat" both to *mangera*; "did" to the auxiliary of the *passé composé*, "do" to the verb, and
in a question to *est-ce que* too; "to" to *à* or *de*, else to the infinitive; punctuation to
punctuation. No word of either side is left without a link.
"""

import contextlib
from collections.abc import Iterator

from rnnsearch_tf.synthetic import expressions, word_lists
from rnnsearch_tf.synthetic.linked_phrase import (
    Phrase,
    SentencePair,
    Word,
    finish,
    join,
    new_link,
    pair,
)
from rnnsearch_tf.synthetic.morphology import IL, ILS, JE, NOUS, VOUS
from rnnsearch_tf.synthetic.noun_phrase import Dice, coordinate
from rnnsearch_tf.synthetic.predicate import Predicates, Speechless
from rnnsearch_tf.synthetic.selectional_preferences import HUMAN, SUBJECTS, transformable
from rnnsearch_tf.synthetic.verb_group import BE, Manner, tenses, verb_group

__all__ = ["SentencePair", "generate"]

_MIN_TOKENS = 3
_MAX_PART = 14  # French words in one part of a compound sentence
_PRONOUNS = (
    *(("I", "je", JE, False), ("we", "nous", NOUS, False), ("you", "vous", VOUS, False)),
    *(("he", "il", IL, False), ("she", "elle", IL, True), ("they", "ils", ILS, False)),
)
# English, French, and the time of the subordinate clause by that of the main one.
_SUBORDINATORS = (
    ("because", "parce que", {"present": "present", "past": "past", "future": "present"}),
    ("when", "quand", {"habitual": "habitual", "past": "event"}),
    ("if", "si", {"habitual": "habitual", "future": "habitual", "conditional": "imagined"}),
    ("even though", "même si", {"present": "present", "past": "past"}),
)
_COORDINATORS = (("and", "et"), ("and", "et"), ("but", "mais"), ("so", "donc"))
_PRONOUN_FORMS = (("I", "je"), ("he", "il"), ("we", "nous"), ("you", "vous"), ("they", "ils"))


def pronoun_for(phrase: Phrase) -> Phrase:
    """Return the subject pronoun that stands for a phrase."""
    english, french = _PRONOUN_FORMS[phrase.person]
    if phrase.person == IL:
        human = phrase.noun in HUMAN
        english = ("she" if phrase.feminine else "he") if human else "it"
    if phrase.feminine and phrase.person in (IL, ILS):
        french = {IL: "elle", ILS: "elles"}[phrase.person]
    return pair(english, french).agreeing(phrase.person, phrase.feminine, phrase.noun)


class Speaker(Predicates):
    """Says one sentence."""

    def __init__(self, dice: Dice) -> None:
        super().__init__(dice)
        self.topic: Phrase | None = None  # what the next clause says more about
        self.said_of: Phrase | None = None  # the subject of the last clause

    def subject(self, room: int, kinds: str, relative: bool = True) -> Phrase:
        """Return a subject of about so many French words."""
        dice = self.dice
        if kinds == "people" and (room < 2 or dice.chance(0.3)):
            return self._pronoun() if dice.chance(0.65) else dice.pick(expressions.NAMES).phrase()
        noun = dice.pick(word_lists.nouns_of(kinds))
        if relative and room >= 7 and dice.chance(0.7):
            return self._with_relative(noun, room)
        phrase = self.thing(noun, room, "subject" if kinds in ("people", "group") else "definite")
        if kinds == "people" and room >= 5 and dice.chance(0.2):
            phrase = self.thing(noun, 2, "subject")
            other = dice.pick([n for n in word_lists.nouns_of(kinds) if n is not noun])
            return coordinate(phrase, self.thing(other, room - 3, "subject"), ("and", "et"))
        return phrase

    def _topical(self) -> Phrase:
        """Return a pronoun for the topic of the clause before."""
        before, self.topic = self.topic, None
        assert before is not None
        phrase = pronoun_for(before)
        self.feminine_plural |= phrase.feminine and phrase.plural
        return phrase

    def _pronoun(self) -> Phrase:
        choices = _PRONOUNS[:5] if self.feminine_plural else _PRONOUNS
        english, french, person, feminine = self.dice.pick(choices)
        return pair(english, french).agreeing(person, feminine)

    def _with_relative(self, noun: word_lists.Noun, room: int) -> Phrase:
        """Return a noun phrase with a clause about it: the man who ..., the letter that ..."""
        head = self.thing(noun, 2 + self.dice.between(0, 1), "subject")
        room -= len(head.french) + 1
        verbs = transformable(noun.english)
        time = self.dice.pick(("present", "past"))
        if verbs and self.dice.chance(0.6):
            verb = self.dice.pick(verbs)
            agents = word_lists.agents_of(verb)
            kinds = "people" if agents[0].kind in ("person", "kin") else agents[0].kind
            actor = self.subject(max(1, min(room - 2, 4)), kinds, relative=False)
            if actor.noun in verb.subjects and tenses(verb, time, actor.person):
                tense = self.dice.pick(tenses(verb, time, actor.person))
                group = verb_group(verb, actor, tense, Manner(agreement=head))
                return head.add(join(pair("that", "que"), actor, group))
        human = noun.kind in ("person", "leader", "kin")
        head.add(pair("who" if human else "which", "qui"))
        return head.add(self.predicate(head, time, max(room, 3)))

    def clause(self, time: str, room: int, timed: bool = False) -> Phrase:
        """Return a clause of about so many French words."""
        dice = self.dice
        weather = time in expressions.WEATHER and self.topic is None
        if weather and (room < 2 or dice.chance(0.1 if room < 6 else 0.02)):
            self.said_of = None
            return dice.pick(expressions.WEATHER[time]).phrase()
        existing = room >= 6 and time in ("present", "past", "future") and self.topic is None
        if existing and dice.chance(0.04):
            self.said_of = None
            return self._existence(time, room)
        kinds = "people" if room < 4 else dice.weighted(list(SUBJECTS), list(SUBJECTS.values()))
        if time in ("conditional", "imagined") and kinds not in ("people", "leader"):
            kinds = "people"
        subject_room = dice.between(1, max(1, min(room // 2, 9)))
        subject = self._topical() if self.topic else self.subject(subject_room, kinds)
        self.said_of, self.placed = subject, False
        room -= len(subject.french)
        predicate = self.predicate(subject, time, room)
        phrase = join(subject, predicate)
        room -= len(predicate.french)
        return self._filled(phrase, subject, predicate.tense, time, room, timed)

    def _filled(
        self, phrase: Phrase, subject: Phrase, tense: str, time: str, room: int, timed: bool
    ) -> Phrase:
        """Add a place, a purpose and a time, while there is room."""
        dice = self.dice
        active = tense not in ("saying", "state") and subject.noun in HUMAN
        if active and not self.placed and room >= 3 and dice.chance(0.6):
            location = self.location(min(room, dice.between(3, 7)))
            phrase.add(location)
            room -= len(location.french)
        if active and room >= 4 and dice.chance(0.7):
            purpose = self.predicate(subject, "infinitive", room - 1, positive=True)
            phrase.add(pair("in order to", "pour")).add(purpose)
            room -= len(purpose.french) + 1
        key = {"perfect": "perfect", "progressive": "progressive"}.get(tense, time)
        if tense == "state" and time != "future":
            key = "imperfect" if time == "past" else ""
        times = expressions.TIMES.get(key, ())
        if timed and room >= 1 and times and tense != "saying":
            when = self._when(times, key)
            if room >= 3 and dice.chance(0.4):
                return join(when, pair(",", ","), phrase)
            phrase.add(when)
        return phrase

    def _when(self, times: tuple[expressions.Fixed, ...], key: str) -> Phrase:
        """Return a time: a set phrase, a date or "two days ago"."""
        dice = self.dice
        if key in ("past", "future") and dice.chance(0.1):
            day, (month, mois) = dice.pick(("3", "8", "14", "21")), dice.pick(expressions.MONTHS)
            return pair(f"on {day} {month}", f"le {day} {mois}")
        if key == "past" and dice.chance(0.15):
            many, combien = dice.pick(expressions.NUMBERS)
            unit, french = dice.pick((("years", "ans"), ("days", "jours"), ("weeks", "semaines")))
            return pair(f"{many} {unit} ago", f"il y a {combien} {french}", "2-0 2-1 2-2 0-3 1-4")
        return dice.pick(times).phrase()

    def _existence(self, time: str, room: int) -> Phrase:
        """Return "there is": il y a."""
        kinds = self.dice.pick(("thing", "people", "animal"))
        thing = self.thing(self.dice.pick(word_lists.nouns_of(kinds)), room - 6, "indefinite")
        tense = "imperfect" if time == "past" else time
        have = {"present": "a", "imperfect": "avait", "future": "aura"}[tense]
        group = verb_group(BE, thing, tense)
        group.french = [Word(have, group.english[0].links)]
        place = self.location(room - 3 - len(thing.french))
        return join(pair("there", "il y"), group, thing, place)

    def statement(self, room: int) -> Phrase:
        """Return one or more clauses, without the full stop."""
        dice = self.dice
        time = dice.weighted(("present", "past", "future", "conditional"), (4, 5, 2, 0.8))
        self.topic = None
        whole = Phrase()
        while room > _MAX_PART:
            part = dice.between(8, min(_MAX_PART, room - 4))
            whole.add(self._part(time, part)).add(self._coordinator())
            room -= part + 2
        return whole.add(self._part(time, room))

    def _coordinator(self) -> Phrase:
        if self.dice.chance(0.15):
            return pair(";", ";")
        return pair(",", ",").add(pair(*self.dice.pick(_COORDINATORS)))

    def _part(self, time: str, room: int) -> Phrase:
        """Return a clause, alone or with a subordinate one before or after it."""
        dice = self.dice
        if time == "conditional" and room < 7:
            time = "present"
        if room < 7 or (time != "conditional" and dice.chance(0.45)):
            return self.clause(time, room, timed=True)
        if time == "present" and dice.chance(0.5):
            time = "habitual"
        fitting = [one for one in _SUBORDINATORS if time in one[2]]
        english, french, times = dice.pick(fitting)
        part = dice.between(3, room - 4)
        conjunction = pair(english, french)
        if dice.chance(0.4):
            subordinate = self.clause(times[time], part)
            self.topic = self.said_of if dice.chance(0.5) else None
            main = self.clause(time, room - part - 2, timed=times[time] == "imagined")
            return join(conjunction, subordinate, pair(",", ","), main)
        main = self.clause(time, room - part - 1)
        self.topic = self.said_of if dice.chance(0.5) else None
        return join(main, conjunction, self.clause(times[time], part, timed=False))

    def question(self, room: int) -> Phrase:
        """Return a question: with *est-ce que*, or with "who"."""
        dice = self.dice
        time = dice.weighted(("present", "past", "future"), (3, 3, 1))
        if dice.chance(0.2):
            who = pair("who", "qui")
            return who.add(self.predicate(who, time, room - 1, positive=True)).add(pair("?", "?"))
        asked = pair(*dice.pick((("why", "pourquoi"), ("when", "quand"), ("where", "où"))))
        if dice.chance(0.65):
            asked = Phrase()
        room -= 2 + len(asked.french)
        kinds = "people" if room < 5 else dice.pick(("people", "people", "leader"))
        subject = self.subject(dice.between(1, max(1, room // 3)), kinds)
        while subject.person == JE:
            subject = self.subject(2, kinds)
        predicate = self.predicate(subject, time, room - len(subject.french), support=True)
        auxiliary, link = predicate.english[0], new_link()
        est_ce_que = Phrase(
            [Word(auxiliary.text, (*auxiliary.links, link))],
            [Word("est-ce", (link,)), Word("que", (link,))],
        )
        predicate.english = predicate.english[1:]
        return join(asked, est_ce_que, subject, predicate, pair("?", "?"))

    def nobody(self, room: int) -> Phrase:
        """Return a statement about nobody."""
        nobody = pair("nobody", "personne ne")
        time = self.dice.pick(("present", "past", "future"))
        predicate = self.predicate(nobody, time, room - 3, positive=True)
        return join(nobody, predicate, pair(".", "."))

    def quotation(self, room: int) -> Phrase:
        """Return a sentence that reports another one word by word."""
        who = self.subject(2, self.dice.pick(("people", "leader")))
        says = verb_group(word_lists.VERBS["saying"][0], who, self.dice.pick(("past", "present")))
        said = self.statement(room - len(who.french) - len(says.french) - 4)
        return join(who, says, pair(': "', ": «"), said, pair('. "', ". »"))

    def sentence(self, room: int) -> Phrase:
        """Return a whole sentence of about so many French tokens."""
        dice = self.dice
        if 5 <= room <= 20 and dice.chance(0.12):
            return self.question(room - 1)
        if 5 <= room <= 20 and dice.chance(0.02):
            return self.nobody(room)
        if room >= 9 and dice.chance(0.05):
            return self.quotation(room)
        return self.statement(room - 1).add(pair(".", "."))


def generate(
    count: int, seed: int, min_length: int = 1, max_length: int = 30
) -> Iterator[SentencePair]:
    """Generate sentence pairs whose lengths are about evenly spread between the bounds.

    The length of a pair is that of its longer side in tokens. The k-th pair of a seed and bounds
    does not depend on `count`. ValueError where the bounds leave no room for a sentence, or the
    count is negative.
    """
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    if max_length < max(min_length, _MIN_TOKENS):
        raise ValueError(
            f"no sentence has {min_length} to {max_length} tokens; the shortest have {_MIN_TOKENS}"
        )
    return _generate(count, seed, max(min_length, _MIN_TOKENS), max_length)


def _generate(count: int, seed: int, low: int, high: int) -> Iterator[SentencePair]:
    dice = Dice(f"{seed} {low} {high}")
    for _ in range(count):
        wanted = dice.between(max(low, min(4, high)), high)
        length = 0
        while not low <= length <= high:
            with contextlib.suppress(Speechless):
                made = finish(Speaker(dice).sentence(wanted))
                length = max(len(made.source_tokens), len(made.target_tokens))
        yield made
