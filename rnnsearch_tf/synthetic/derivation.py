"""Derivations of the built-in grammar: a sentence and its translation, rule by rule."""

import random
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import NamedTuple

from rnnsearch_tf.synthetic.lexicon import CLITICS, HEADS, Head, Verb, adjectives, is_true, together
from rnnsearch_tf.synthetic.morphology import IL
from rnnsearch_tf.synthetic.rules import RULES, VERB_GROUPS, Item, Rule
from rnnsearch_tf.synthetic.sentence_pair import Word

_REFLEXIVE = ("me", "se", "nous", "vous", "se")


class Scope(NamedTuple):
    """Words and features that a rule is applied to."""

    head: Head | None = None  # the noun of a phrase, or the subject
    tense: str = ""
    negative: bool = False
    object: Head | None = None  # that stands before its verb: a pronoun, or "the cake" that he ate


@dataclass
class Phrase:
    """Words in both languages, each in its own order, and what others agree with."""

    sides: tuple[list[Word], list[Word]]  # English, French
    head: Head | None


class Speechless(Exception):
    """No rule can say this."""


@cache
def _applicable(symbol: str, scope: Scope, kinds: str) -> list[tuple[Rule, list[Head | None]]]:
    """Return the rules for a symbol, each with the heads that it can have."""
    heads = [h for h in HEADS if is_true(kinds, h.properties)] if kinds else [scope.head]
    others = frozenset((scope.tense, "negative" if scope.negative else ""))
    known = [(head, others | head.properties if head else others) for head in heads]
    before = scope.object.properties if scope.object else frozenset()
    rules = [rule for rule in RULES[symbol] if is_true(rule.objects, before)]
    fitting = [(rule, [h for h, said in known if is_true(rule.condition, said)]) for rule in rules]
    return [(rule, heads) for rule, heads in fitting if heads]


@cache
def _weights(symbol: str, scope: Scope, kinds: str, room: int) -> list[float]:
    rules = _applicable(symbol, scope, kinds)
    return [rule.weight * _fit(rule.low, room, rule.high) for rule, _ in rules]


@cache
def _groups(verb: Verb, scope: Scope) -> list[Rule]:
    """Return the verb groups for a verb in a tense, with a subject."""
    assert scope.head
    properties = scope.head.properties | verb.kinds
    return [group for group in VERB_GROUPS[scope.tense] if is_true(group.condition, properties)]


class Derivation:
    """Derives one sentence, at random."""

    def __init__(self, generator: random.Random) -> None:
        # Each draw is one `random()`, in Python 3.10 to 3.13; `choice` would make another corpus.
        self._draw = generator.choices
        self._links = count()

    def expand(self, symbol: str, scope: Scope, room: int, kinds: str = "") -> Phrase:
        """Say a symbol in about `room` French words; `kinds`, if given, are those of a new head."""
        head, before = None if kinds else scope.head, scope.object if symbol == "GAP" else None
        known = Scope(head, scope.tense, scope.negative, before)
        options = _applicable(symbol, known, kinds)
        weights = list(_weights(symbol, known, kinds, room))
        while any(weights):
            rule, heads = option = self._draw(options, weights)[0]
            try:
                return self._apply(rule, scope._replace(head=self._draw(heads)[0]), room)
            except Speechless:
                weights[options.index(option)] = 0
        raise Speechless

    def _apply(self, rule: Rule, scope: Scope, room: int) -> Phrase:
        """Say the symbols of a rule, then its words, which agree with the head."""
        english, french = rule.english, rule.french
        if rule.verb:
            groups = _groups(rule.verb, Scope(scope.head, scope.tense))
            if not groups:
                raise Speechless
            fits = [group.weight * _fit(group.low, room - rule.low + 1, room) for group in groups]
            group = self._draw(groups, fits)[0]
            english, french = group.english + english, group.french + french
            scope = scope._replace(negative=any(item.text == "ne" for item in group.french))
            room += 1 - group.low
        phrases: dict[str, Phrase] = {}
        for item, share in zip(rule.phrases, self._shares(rule, room - rule.low), strict=True):
            said = phrases[item.text] = self._say(item, scope, share)
            if item.text in ("SUBJ", "WHO", "CLAUSE"):
                scope = scope._replace(head=said.head)
            if item.text == "O":
                scope = scope._replace(object=said.head)
            if item.text == "SECOND" and said.head and (first := phrases["FIRST"].head):
                scope = scope._replace(head=together(first, said.head))
        links = {item.label: (next(self._links),) for item in english + french}
        sides: tuple[list[Word], list[Word]] = ([], [])
        for side, items in enumerate((english, french)):
            for item in items:
                if item.text in phrases:
                    sides[side].extend(phrases[item.text].sides[side])
                elif text := _word(item, rule.verb, scope, side):
                    sides[side].append(Word(text, links[item.label]))
        return Phrase(sides, scope.head)

    def _shares(self, rule: Rule, spare: int) -> list[int]:
        """Give each symbol of a rule words to say, at random within its bounds."""
        later = sum(high - low for low, high in rule.bounds)
        shares = []
        for low, high in rule.bounds:
            later -= high - low
            most = max(0, min(spare, high - low))
            more = self._draw(range(max(0, min(most, spare - later)), most + 1))[0]
            spare -= more
            shares.append(low + more)
        return shares

    def _say(self, item: Item, scope: Scope, room: int) -> Phrase:
        """Say a symbol of a rule."""
        head = self._draw(CLITICS)[0] if item.symbol == "O" else scope.head
        if item.symbol in ("N", "O") and head:
            return self._linked(head.english, head.french, head)
        if item.symbol in tuple("ABCQR") and head:
            fitting = adjectives(item.symbol, head)
            if not fitting:
                raise Speechless
            english, forms = self._draw(fitting)[0]
            french = _declined(forms, head)
            return self._linked(
                english, french if item.symbol == "B" else french.split("~")[0], head
            )
        if item.symbol == "THAT":
            scope = scope._replace(object=head)
        if item.tense:
            scope = scope._replace(tense=item.tense)
        return self.expand(item.symbol, scope, room, item.kinds)

    def _linked(self, english: str, french: str, head: Head) -> Phrase:
        link = (next(self._links),)
        sides = [[Word(text, link) for text in side.split()] for side in (english, french)]
        return Phrase((sides[0], sides[1]), head)


def _fit(low: int, room: int, high: int) -> float:
    """Return how well a rule fills the room; one that is too long is a last resort."""
    return 1 if low <= room <= high else 0.02 if high < room else 1e-6


def _declined(text: str, head: Head) -> str:
    """Return the form of a French word that agrees with a head; rules.txt has their order."""
    forms = text.split("/")
    wanted = head.feminine + (2 * head.plural if len(forms) > 2 else 0)
    return forms[min(wanted, len(forms) - 1)]


def _word(item: Item, verb: Verb | None, scope: Scope, french: int) -> str:
    """Return a word that agrees with the head, or "" for a pronoun that the verb does not take."""
    head = scope.head
    if not head or not (item.symbol or "/" in item.text):
        return item.text
    if not item.symbol:
        singular, _, others = item.text.partition("/")
        return _declined(item.text, head) if french else singular if head.person == IL else others
    assert verb
    if item.symbol == "O":
        return _REFLEXIVE[head.person] if verb.reflexive else ""
    if item.symbol == "H":
        return verb.auxiliary(item.form, head)
    if french:
        return verb.in_french(item.form, head, scope.object)
    return verb.in_english(item.form, head.person)
