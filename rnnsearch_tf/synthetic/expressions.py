"""Names, numbers and set phrases of the built-in grammar, with their word alignment."""

from __future__ import annotations

from dataclasses import dataclass

from rnnsearch_tf.synthetic.linked_phrase import Phrase, pair
from rnnsearch_tf.synthetic.morphology import IL


@dataclass(frozen=True)
class Fixed:
    """Set phrase with its alignment as "i-j" pairs; without one, all words are aligned to all."""

    english: str
    french: str
    links: str = ""
    feminine: bool = False

    def phrase(self) -> Phrase:
        """Return the phrase, with links of its own."""
        said = pair(self.english, self.french, self.links)
        said.person, said.feminine = IL, self.feminine
        return said


def _fixed(table: str, gender: str = "") -> tuple[Fixed, ...]:
    rows = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return tuple(Fixed(row[0], row[1], " ".join(row[2:]), gender == "f") for row in rows)


NAMES = (
    *_fixed("Peter | Pierre \n Paul | Paul \n Henry | Henri \n Mr. Martin | M. Martin | 0-0 1-1"),
    *_fixed("Mary | Marie \n Julia | Julie \n Alice | Alice", "f"),
    *_fixed("Mrs. Martin | Mme Martin | 0-0 1-1", "f"),
)
CITIES = _fixed("""
Paris | Paris
London | Londres
Brussels | Bruxelles
Rome | Rome
Geneva | Genève
Athens | Athènes
Vienna | Vienne
Berlin | Berlin
""")
COUNTRIES = (
    *_fixed("Canada | le Canada \n Portugal | le Portugal \n Japan | le Japon"),
    *_fixed("France | la France \n Germany | la Allemagne \n Italy | la Italie", "f"),
    *_fixed("Spain | la Espagne \n Hungary | la Hongrie \n England | la Angleterre", "f"),
)
INSTITUTIONS = (
    *_fixed("the European Parliament | le Parlement européen | 0-0 1-2 2-1"),
    *_fixed("the European Union | la Union européenne | 0-0 1-2 2-1", "f"),
    *_fixed("the European Commission | la Commission européenne | 0-0 1-2 2-1", "f"),
)
AREAS = _fixed("the European Economic Area | la zone économique européenne | 0-0 1-3 2-2 3-1", "f")
NUMBERS = (
    *(("two", "deux"), ("three", "trois"), ("four", "quatre"), ("five", "cinq"), ("six", "six")),
    *(("seven", "sept"), ("eight", "huit"), ("nine", "neuf"), ("ten", "dix"), ("twenty", "vingt")),
)
MONTHS = (("January", "janvier"), ("March", "mars"), ("May", "mai"), ("October", "octobre"))
FREQUENCIES = (("often", "souvent"), ("always", "toujours"), ("sometimes", "parfois"))
MANNERS = _fixed("slowly | lentement \n quickly | rapidement \n quietly | calmement")

# By the time of the clause.
TIMES = {
    "past": _fixed("""
yesterday | hier
yesterday evening | hier soir | 0-0 1-1
last week | la semaine dernière | 1-0 1-1 0-2
last year | la année dernière | 1-0 1-1 0-2
on Monday | lundi
on Friday | vendredi
in July | en juillet | 0-0 1-1
this morning | ce matin | 0-0 1-1
"""),
    "present": _fixed("""
today | aujourd' hui
every day | chaque jour | 0-0 1-1
every evening | chaque soir | 0-0 1-1
on Mondays | le lundi | 0-0 1-1
on Sundays | le dimanche | 0-0 1-1
in winter | en hiver | 0-0 1-1
in summer | en été | 0-0 1-1
"""),
    "future": _fixed("""
tomorrow | demain
tomorrow morning | demain matin | 0-0 1-1
soon | bientôt
this evening | ce soir | 0-0 1-1
next week | la semaine prochaine | 1-0 1-1 0-2
next year | la année prochaine | 1-0 1-1 0-2
on Monday | lundi
on Friday | vendredi
in July | en juillet | 0-0 1-1
"""),
    "perfect": _fixed("today | aujourd' hui"),
    "imperfect": _fixed("last year | la année dernière | 1-0 1-1 0-2"),
    "progressive": _fixed("now | maintenant \n today | aujourd' hui"),
}
WEATHER = {
    "present": _fixed("""
it is raining | il pleut | 0-0 1-1 2-1
it is snowing | il neige | 0-0 1-1 2-1
it is cold | il fait froid | 0-0 1-1 2-2
it is late | il est tard | 0-0 1-1 2-2
"""),
    "past": _fixed("""
it was raining | il pleuvait | 0-0 1-1 2-1
it was snowing | il neigeait | 0-0 1-1 2-1
it was cold | il faisait froid | 0-0 1-1 2-2
it was late | il était tard | 0-0 1-1 2-2
"""),
    "future": _fixed("""
it will rain | il pleuvra | 0-0 1-1 2-1
it will snow | il neigera | 0-0 1-1 2-1
it will be cold | il fera froid | 0-0 1-1 2-1 3-2
"""),
}
WEATHER["habitual"] = WEATHER["present"]
