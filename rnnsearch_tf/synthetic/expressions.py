"""Names, numbers and set phrases of the built-in grammar, with their word alignment."""

from dataclasses import dataclass

from rnnsearch_tf.synthetic.linked_phrase import Phrase, pair
from rnnsearch_tf.synthetic.morphology import IL
from rnnsearch_tf.tables import read_tables


@dataclass(frozen=True)
class Fixed:
    """Set phrase with its gender, "m", "f" or none, and its alignment (see `pair`)."""

    english: str
    french: str
    gender: str = ""
    links: str = ""

    def phrase(self) -> Phrase:
        """Return the phrase, with links of its own."""
        return pair(self.english, self.french, self.links).agreeing(IL, self.gender == "f")


_TABLES = read_tables(__package__, "expressions")
_FIXED = {name: tuple(Fixed(*row) for row in rows) for name, rows in _TABLES.items()}


def _pairs(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((english, french) for english, french in _TABLES[name])


def _by_time(name: str) -> dict[str, tuple[Fixed, ...]]:
    """Return the tables "NAME TIME" by the time of the clause."""
    return {k.removeprefix(name): v for k, v in _FIXED.items() if k.startswith(name)}


NAMES = _FIXED["names"]
CITIES = _FIXED["cities"]
COUNTRIES = _FIXED["countries"]
INSTITUTIONS = _FIXED["institutions"]
AREAS = _FIXED["areas"]
MANNERS = _FIXED["manners"]
NEGATIONS = {negation.english: negation for negation in _FIXED["negations"]}
NUMBERS = _pairs("numbers")
MONTHS = _pairs("months")
FREQUENCIES = _pairs("frequencies")
TIMES = _by_time("time ")
WEATHER = _by_time("weather ")
WEATHER["habitual"] = WEATHER["present"]
