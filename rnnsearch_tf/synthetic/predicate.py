"""Predicates in both languages, from "sleeps" to "says that ..."."""

from dataclasses import dataclass

from rnnsearch_tf.synthetic import expressions, word_lists
from rnnsearch_tf.synthetic import selectional_preferences as preferences
from rnnsearch_tf.synthetic.linked_phrase import Phrase, Word, new_link, pair
from rnnsearch_tf.synthetic.morphology import IL, ILS, participle
from rnnsearch_tf.synthetic.noun_phrase import Dice, any_of, describe, noun_phrase
from rnnsearch_tf.synthetic.verb_group import BE, CAN, MUST, Manner, preposition, tenses, verb_group
from rnnsearch_tf.synthetic.word_lists import Noun, Verb

CLITICS = (("him", "le", IL, False), ("her", "la", IL, True), ("them", "les", ILS, False))


@dataclass
class Request:
    """Arguments of `Predicates.predicate`."""

    subject: Phrase
    time: str
    room: int
    support: bool
    positive: bool

    @property
    def situation(self) -> tuple[str, str, int]:
        """Noun, time and person, by which verbs are chosen."""
        return self.subject.noun, self.time, self.subject.person


class Speechless(Exception):
    """Nothing can be said of a subject at a time in so few words: start again."""


class Predicates:
    """Says things of subjects, with choices from dice."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        # Whether women or feminine things were mentioned: "they" would then be ambiguous, *ils* or
        # *elles*, and is not said any more.
        self.feminine_plural = False
        self.placed = False  # whether the clause being said has a place already

    def thing(
        self, noun: Noun, room: int, allowed: str = "all", plural: bool | None = None
    ) -> Phrase:
        """Return a noun phrase; see noun_phrase.noun_phrase."""
        phrase = noun_phrase(self.dice, noun, max(room, 2), allowed, plural)
        self.feminine_plural |= phrase.plural and phrase.feminine
        return phrase

    def location(self, room: int) -> Phrase:
        """Return a place where something is or happens."""
        dice = self.dice
        if room < 3 or dice.chance(0.15):
            return pair("in", "à").add(dice.pick(expressions.CITIES).phrase())
        if dice.chance(0.1):
            return self.in_country("in")
        if dice.chance(0.5):
            noun = dice.pick(word_lists.nouns_of("space-country-region"))
            return pair("in", "dans").add(self.thing(noun, room - 1, "the", plural=False))
        noun = dice.pick(word_lists.nouns_of("public"))
        if room < 5 or dice.chance(0.7):
            return pair("at", "à").add(self.thing(noun, room - 1, "the", plural=False))
        near = dice.pick((("near", "près de"), ("behind", "derrière")))
        return pair(*near).add(self.thing(noun, room - 2, "the", plural=False))

    def in_country(self, english: str) -> Phrase:
        """Return "in" or "to" a country: en France, but au Canada."""
        country = self.dice.pick(expressions.COUNTRIES).phrase()
        french = "à"
        if country.feminine:
            french, country.french = "en", country.french[1:]
        return pair(english, french).add(country)

    def predicate(
        self, subject: Phrase, time: str, room: int, support: bool = False, positive: bool = False
    ) -> Phrase:
        """Say something of a subject, which the verb agrees with, in about so many French words."""
        request = Request(subject, time, room, support, positive or support)
        possible = preferences.possible(*request.situation)
        shapes = [s for s in possible if preferences.SHAPES[s][0] <= room]
        shapes = [s for s in shapes if not (support and s == "saying")]
        if not shapes:
            raise Speechless
        shape = self.dice.weighted(shapes, [preferences.weight(s, room) for s in shapes])
        said: Phrase = getattr(self, "_" + shape)(request)
        return said

    def clause(self, time: str, room: int) -> Phrase:
        """Return a clause, to be subordinated; a speaker defines it."""
        raise NotImplementedError

    def _manner(self, request: Request, verb: Verb, tense: str) -> Manner:
        """Choose a negation, an adverb, or neither."""
        dice = self.dice
        if request.time in ("event", "imagined", "habitual"):
            hardly = request.time == "event" or request.positive or dice.chance(0.8)
            return Manner("" if hardly else "not", support=request.support)
        if tense == "infinitive" or request.positive or dice.chance(0.68):
            adverb = None
            if tense in ("perfect", "pluperfect") and dice.chance(0.2):
                adverb = ("already", "déjà")
            return Manner(adverb=adverb, support=request.support)
        if tense == "present" and not verb.stative and dice.chance(0.5):
            return Manner(adverb=dice.pick(expressions.FREQUENCIES))
        if tense in ("perfect", "pluperfect"):
            return Manner(dice.pick(("not yet", "never")))
        if tense in ("present", "imperfect") and dice.chance(0.3):
            return Manner(dice.pick(("never", "no longer")) if not verb.stative else "no longer")
        return Manner("never" if tense == "future" and dice.chance(0.3) else "not")

    def _chosen(self, request: Request, verbs: tuple[Verb, ...]) -> tuple[Verb, str]:
        verb = self.dice.pick(verbs)
        return verb, self.dice.pick(tenses(verb, request.time, request.subject.person))

    def _group(self, request: Request, verb: Verb, tense: str, manner: Manner) -> Phrase:
        """Return the words of a verb, with the preposition before its object."""
        group = preposition(verb, verb_group(verb, request.subject, tense, manner))
        group.tense = "state" if verb.stative else tense
        return group

    def _verb(self, request: Request, frame: str) -> tuple[Verb, Manner, Phrase]:
        """Choose a verb of a frame, and how to say it."""
        verb, tense = self._chosen(request, preferences.speakable(frame, *request.situation))
        manner = self._manner(request, verb, tense)
        return verb, manner, self._group(request, verb, tense, manner)

    def _object(self, verb: Verb, noun: Noun, manner: Manner, room: int) -> Phrase:
        """Return an object: plain, or "cheese" in general, or "any cheese" after a negation."""
        dice, mass = self.dice, not noun.english_plural
        if verb.base == "love" and mass:
            thing = describe(noun, [], False)
            thing.french.insert(0, Word("la" if noun.feminine else "le", thing.french[0].links))
            return thing
        free = not (verb.stative or verb.preposition or noun.kind in ("leader", "kin"))
        if manner.negation and free and dice.chance(0.6):
            return any_of(dice, noun, room)
        if free and not mass and not manner.negation and room < 4 and dice.chance(0.12):
            bare = describe(noun, [], True)
            bare.french.insert(0, Word("des", bare.french[0].links))
            return bare
        return self.thing(noun, room, "all" if free and not manner.negation else "definite")

    def _transitive(self, request: Request) -> Phrase:
        verb, manner, group = self._verb(request, "transitive")
        room = request.room - len(group.french)
        return group.add(self._object(verb, self.dice.pick(verb.objects), manner, room))

    def _intransitive(self, request: Request) -> Phrase:
        verb, _, group = self._verb(request, "intransitive")
        if verb.base in ("work", "sing", "dance") and self.dice.chance(0.2):
            group.add(self.dice.pick(expressions.MANNERS).phrase())
        return group

    def _happening(self, request: Request) -> Phrase:
        return self._verb(request, "happening")[2]

    def _clitic(self, request: Request) -> Phrase:
        verbs = preferences.with_object_people(*request.situation)
        verb, tense = self._chosen(request, verbs)
        manner = self._manner(request, verb, tense)
        choices = CLITICS[:2] if self.feminine_plural else CLITICS
        english, french, person, feminine = self.dice.pick(choices)
        clitic = pair(english, french).agreeing(person, feminine)
        clitic.french[0] = clitic.french[0]._replace(clitic=True)
        manner.clitic = manner.agreement = clitic
        return self._group(request, verb, tense, manner)

    def _nothing(self, request: Request) -> Phrase:
        verbs = preferences.with_nothing(*request.situation)
        group = self._group(request, *self._chosen(request, verbs), Manner("nothing"))
        group.tense = "state"
        return group

    def _giving(self, request: Request) -> Phrase:
        verb, manner, group = self._verb(request, "giving")
        room = request.room - len(group.french) - 1
        given = self._object(verb, self.dice.pick(verb.objects), manner, room // 2)
        person = self.dice.pick(word_lists.nouns_of("people"))
        receiver = self.thing(person, room - len(given.french), "definite")
        return group.add(given).add(pair("to", "à")).add(receiver)

    def _motion(self, request: Request) -> Phrase:
        _, _, group = self._verb(request, "motion")
        self.placed = True
        named = self._named_place("to", 0.2, 0.15)
        if named:
            return group.add(named)
        noun = self.dice.pick(word_lists.nouns_of("public"))
        room = request.room - len(group.french) - 1
        return group.add(pair("to", "à")).add(self.thing(noun, room, "the", plural=False))

    def _named_place(self, english: str, city: float, country: float) -> Phrase | None:
        """Return "in" or "to" a city or a country, with the probabilities of these, or nothing."""
        if self.dice.chance(city):
            return pair(english, "à").add(self.dice.pick(expressions.CITIES).phrase())
        return self.in_country(english) if self.dice.chance(country) else None

    def _saying(self, request: Request) -> Phrase:
        subject, time = request.subject, request.time
        verb, tense = self._chosen(request, preferences.speakable("saying", *request.situation))
        group = verb_group(verb, subject, tense).add(pair("that", "que"))
        said = "reported" if tense in ("past", "pluperfect", "imperfect") else "present"
        if said == "present" and time != "infinitive":
            times = ("future",) if verb.base == "hope" else ("present", "present", "past", "future")
            said = self.dice.pick(times)
        group.tense = "saying"
        return group.add(self.clause(said, request.room - len(group.french)))

    def _infinitive(self, request: Request) -> Phrase:
        subject, time = request.subject, request.time
        verbs = preferences.speakable("infinitive", *request.situation)
        if time in ("present", "habitual", "conditional"):
            verbs = (CAN, MUST, *verbs) if self.dice.chance(0.7) else (CAN, MUST)
        verb, tense = self._chosen(request, verbs)
        manner = self._manner(request, verb, tense)
        if verb.base in ("can", "must"):
            manner = Manner(self.dice.pick(("", "not")) * (not request.positive))
        manner.support = request.support
        group = verb_group(verb, subject, tense, manner)
        room = request.room - len(group.french) - bool(verb.preposition)
        inner = self.predicate(subject, "infinitive", room, positive=True)
        group.tense = inner.tense if inner.tense in ("state", "saying") else tense
        if verb.base in ("can", "must"):
            return group.add(inner)
        links = inner.english[0].links
        if verb.preposition:
            links = (new_link(),)
            group.french.append(Word(verb.preposition, links))
        group.english.append(Word("to", links))
        return group.add(inner)

    def _being(self, request: Request) -> Phrase:
        tense = self.dice.pick(tenses(BE, request.time, request.subject.person))
        group = verb_group(BE, request.subject, tense, self._manner(request, BE, tense))
        group.tense = "state"
        return group

    def _copula(self, request: Request) -> Phrase:
        dice, subject = self.dice, request.subject
        adjective = dice.pick(preferences.adjectives_after(subject.noun))
        group = self._being(request)
        form = adjective.french[subject.feminine, subject.plural]
        if request.room >= 3 and adjective.rank <= 1 and dice.chance(0.35):
            group.add(pair(*dice.pick((("very", "très"), ("too", "trop")))))
        return group.add(pair(adjective.english, form))

    def _comparison(self, request: Request) -> Phrase:
        dice, subject = self.dice, request.subject
        adjective = dice.pick(preferences.comparable(subject.noun))
        group = self._being(request)
        group.add(pair(*dice.pick((("more", "plus"), ("less", "moins")))))
        form = adjective.french[subject.feminine, subject.plural]
        group.add(pair(adjective.english, form)).add(pair("than", "que"))
        others = preferences.rivals(subject.noun, adjective)
        room = request.room - len(group.french)
        return group.add(self.thing(dice.pick(others), room, "definite"))

    def _passive(self, request: Request) -> Phrase:
        subject, dice = request.subject, self.dice
        verb = dice.pick(preferences.transformable(subject.noun))
        tense = preferences.PASSIVE_TENSES[request.time]
        group = verb_group(BE, subject, tense, Manner(support=request.support))
        done = participle(verb.french, subject.feminine, subject.plural)
        group.add(pair(verb.participle, done)).add(pair("by", "par"))
        agent = dice.pick(word_lists.agents_of(verb))
        group.tense = tense
        return group.add(self.thing(agent, request.room - len(group.french), "definite"))

    def _dwelling(self, request: Request) -> Phrase:
        _, _, group = self._verb(request, "dwelling")
        named = self._named_place("in", 0.4, 0.3)
        if named:
            return group.add(named)
        noun = self.dice.pick(word_lists.nouns_of("house village city"))
        room = request.room - len(group.french) - 1
        return group.add(pair("in", "dans")).add(self.thing(noun, room, "definite", plural=False))

    def _whereabouts(self, request: Request) -> Phrase:
        group = self._being(request)
        return group.add(self.location(request.room - len(group.french)))
