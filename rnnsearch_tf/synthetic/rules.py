"""Rules of the built-in grammar; rules.txt says how they are written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rnnsearch_tf.synthetic.lexicon import Verb
from rnnsearch_tf.synthetic.morphology import participle
from rnnsearch_tf.tables import read_tables

_ITEM = re.compile(r"[A-Z]+\d?\(.*?\)\S*|\S+")
_SYMBOL = re.compile(r"([A-Z]+)(\d?)(?:\((.*)\))?(?:@([a-z-]+))?(?:\.(\w+))?(?::(\d))?")
_WITH_OBJECT = re.compile(r"(\S+) (.*)(?:OBJ|DEF)\(([^)]*)\)")


@dataclass(frozen=True)
class Item:
    """Word or symbol of a rule; words with the same label are linked."""

    text: str  # the word, or the symbol with its digit
    label: str
    symbol: str = ""  # without the digit
    kinds: str = ""  # a condition for the noun that a new phrase is about
    tense: str = ""
    form: str = ""  # of a verb


def _items(text: str, label: str) -> tuple[Item, ...]:
    """Parse a side; words without a label get the given one or, if it is empty, their place."""
    items = []
    for token in _ITEM.findall(text):
        if match := _SYMBOL.fullmatch(token):
            symbol, digit, kinds, tense, form, own = match.groups("")
            items.append(Item(symbol + digit, own or "verb", symbol, kinds, tense, form))
        else:
            word, _, own = token.partition(":")
            place = sum(not item.symbol for item in items)
            items.append(Item(word, own or label or f"word {place}"))
    return tuple(items)


_TABLES = {**read_tables(__package__, "rules"), **read_tables(__package__, "verbs")}
# The least and the greatest number of French words of a symbol; one by default.
_BOUNDS = {name: (int(low), int(high)) for name, low, high in map(str.split, _TABLES)}
_BOUNDS |= {"GAP": (1, 4), "O": (0, 0)}


class Rule:
    """Rule, its symbols, and the numbers of French words that it can have."""

    verb: Verb | None = None
    objects = ""  # a condition for the object that stands before the verb

    def __init__(
        self,
        english: str,
        french: str,
        condition: str = "",
        weight: str = "1",
        *,
        label: str = "all",
        paired: bool = True,
    ) -> None:
        """Parse a rule; words without a label get the given one, unless they pair up."""
        unlabeled = [
            sum(not (_SYMBOL.fullmatch(token) or ":" in token) for token in _ITEM.findall(side))
            for side in (english, french)
        ]
        label = "" if paired and unlabeled[0] == unlabeled[1] else label
        self.english, self.french = _items(english, label), _items(french, label)
        self.condition, self.weight = condition, float(weight)
        bounds = [_BOUNDS.get(item.symbol, (1, 1)) for item in self.french]
        self.low, self.high = sum(low for low, _ in bounds), sum(high for _, high in bounds)
        # V and H are forms of a verb, other symbols are phrases.
        self.phrases = [item for item in self.english if item.symbol not in ("", "V", "H")]
        self.bounds = [_BOUNDS.get(item.symbol, (1, 1)) for item in self.phrases]


def _verb(english: str, french: str, subjects: str, kinds: str, weight: str = "1") -> Rule:
    """Make a rule for what follows a verb; a derivation puts the verb group before it."""
    reflexive = "se " * french.startswith("se ")
    base, _, after = english.partition(" ")
    infinitive, _, apres = french.removeprefix(reflexive).partition(" ")
    rule = Rule(after, apres, subjects, weight, label="verb")
    rule.verb = Verb(base, reflexive + infinitive, kinds)
    rule.low, rule.high = rule.low + 1, rule.high + 3
    return rule


def _derived(
    english: str, french: str, subjects: str, kinds: str, weight: str = "1"
) -> Iterator[tuple[str, Rule]]:
    """Make more rules for a verb with an object: "is helped by", "helps him", "that he helps"."""
    match = _WITH_OBJECT.fullmatch(english)
    infinitive, *after = french.split()
    if not match or len(after) != 1:
        return
    base, particle, objects = match.groups()
    if not particle and "active" in kinds:
        done = Verb(base, infinitive, kinds).participle
        fait = "/".join(participle(infinitive, f, p) for p in (False, True) for f in (False, True))
        passive = f"be/was/been {done} by DEF({subjects})", f"être {fait} par DEF"
        yield "STATE", _verb(*passive, objects, "passive", weight)
    if {"people", "person"} & set(objects.split()):
        yield "STATE", _verb(f"{base} {particle}O", infinitive, subjects, kinds, "0.5")
    rule = _verb(f"{base} {particle}", infinitive, subjects, kinds, weight)
    rule.objects = objects
    yield "GAP", rule


def _rules() -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = {name: [] for name in _BOUNDS}
    for title, rows in read_tables(__package__, "rules").items():
        rules[title.split()[0]] = [Rule(*row) for row in rows]
    for title, rows in read_tables(__package__, "verbs").items():
        for row in rows:
            for section, rule in ((title.split()[0], _verb(*row)), *_derived(*row)):
                rules[section].append(rule)
    return rules


RULES = _rules()
VERB_GROUPS = {
    tense: [Rule(*row, label="verb", paired=False) for row in rows]
    for tense, rows in read_tables(__package__, "tenses").items()
}
