"""Inflection for the built-in grammar: French and English word forms, from a few rules each.

French verbs have five persons here, in the order *je, il, nous, vous, ils*; *tu* is never said.
"""

from functools import cache

from rnnsearch_tf.tables import read_tables

PERSONS = ("je", "il", "nous", "vous", "ils")
JE, IL, NOUS, VOUS, ILS = range(5)

_IRREGULAR = {
    infinitive: row for infinitive, *row in read_tables(__package__, "irregular_verbs")["verbs"]
}
_ENDINGS = {
    "imperfect": ("ais", "ait", "ions", "iez", "aient"),
    "future": ("ai", "a", "ons", "ez", "ont"),
}


def _first_group(infinitive: str) -> tuple[tuple[str, ...], str, str]:
    """Return the principal parts of a verb in -er, with the spelling changes before a silent e."""
    stem = infinitive[:-2]
    strong = stem
    if infinitive == "rejeter":
        strong = stem + stem[-1]
    elif stem.endswith("y"):
        strong = stem[:-1] + "i"
    elif len(stem) > 2 and stem[-2] in "eé":
        strong = stem[:-2] + "è" + stem[-1]
    future = infinitive if stem[-2] == "é" else strong + "er"  # espère, but espérera
    soft = stem + "e" * stem.endswith("g")
    present = (strong + "e", strong + "e", soft + "ons", stem + "ez", strong + "ent")
    return present, future, stem + "é"


def _principal_parts(infinitive: str) -> tuple[tuple[str, ...], str, str]:
    """Return the present, the stem of the future and the past participle."""
    if bases := [base for base in _IRREGULAR if infinitive.endswith(base)]:
        base = max(bases, key=len)
        prefix = infinitive.removesuffix(base)  # revenir is re- and venir
        present, future, done = (prefix + part for part in _IRREGULAR[base])
        return tuple(present.replace(" ", f" {prefix}").split()), future, done
    if infinitive.endswith("er"):
        return _first_group(infinitive)
    stem = infinitive[:-2]
    if infinitive.endswith("ir"):
        forms = ("is", "it", "issons", "issez", "issent")
        return tuple(stem + form for form in forms), infinitive, stem + "i"
    return tuple(stem + form for form in ("s", "", "ons", "ez", "ent")), stem + "r", stem + "u"


@cache
def conjugate(infinitive: str, tense: str) -> tuple[str, ...]:
    """Return the forms of a French verb in a simple tense, for *je, il, nous, vous, ils*."""
    present, future, _ = _principal_parts(infinitive)
    if tense == "present":
        return present
    stem = future
    if tense == "imperfect":
        stem = "ét" if infinitive == "être" else present[NOUS].removesuffix("ons")
    return tuple(stem + ending for ending in _ENDINGS[tense])


@cache
def participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """Return the past participle of a French verb in one gender and number."""
    form = _principal_parts(infinitive)[2]
    return form + "e" * feminine + "s" * (plural and (feminine or not form.endswith("s")))


def french_plural(word: str) -> str:
    """Return the plural of a French noun or masculine adjective."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("au", "eu")) and word != "bleu" else "s")


def french_feminine(adjective: str) -> str:
    """Return the feminine of a French adjective that follows a rule."""
    rules = {"e": "e", "eux": "euse", "en": "enne"}
    for ending, feminine in rules.items():
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + feminine
    return adjective + "e"


def english_plural(noun: str) -> str:
    """Return the plural of a regular English noun; it is also the -s form of a verb."""
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh", "o")) else "s")


def english_past(verb: str) -> str:
    """Return the past of a regular English verb."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


_VOWELS = frozenset("aeiouyàâäéèêëîïôöùûüœæAEIOUYÀÂÉÈÊÎÔŒ")
_MUTE_H = ("homm", "habit", "hôpit", "histoir", "honnêt", "heur", "horlog", "henri")


@cache
def begins_with_vowel(word: str) -> bool:
    """Tell whether a French word makes the word before it lose its vowel: l'homme, le héros."""
    return word[0] in _VOWELS or word.lower().startswith(_MUTE_H)
