"""Abbreviations after which a full stop does not end a sentence.

Those of English and French are built in. They are those of Moses' `nonbreaking_prefix.en` and
`nonbreaking_prefix.fr`, without the entries that have no effect: one with a dot inside ("i.e",
"S.A.R") keeps its final dot by another rule, and one with a slash ("n/réf") is cut at the slash
before the list is consulted. Those of other languages are read from sacremoses when a training run
begins; the model's settings keep them.
"""

from rnnsearch_tf.extras import require_package
from rnnsearch_tf.tables import read_words

_BUILT_IN = read_words(__package__, "nonbreaking_prefixes")  # by language
_ONLY_BEFORE_DIGIT = "#"  # after an abbreviation


def read_prefixes(language: str) -> str:
    """Return the abbreviations that sacremoses has for a language, separated by spaces.

    "#" ends those that keep their dot only before a digit. Empty for a language that is built in.
    InputError if sacremoses is not installed.
    """
    if language in _BUILT_IN:
        return ""
    require_package("sacremoses")
    from sacremoses.corpus import NonbreakingPrefixes

    lines = [line.split() for line in NonbreakingPrefixes().words(language)]
    always = [line[0] for line in lines if len(line) == 1]
    marked = [line[0] for line in lines if line[1:] == ["#NUMERIC_ONLY#"]]
    alone = [word for word in dict.fromkeys(always) if word not in marked]
    return " ".join(alone + [word + _ONLY_BEFORE_DIGIT for word in marked])


def prefix_lists(language: str, prefixes: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that always keep their dot, and those that keep it only before a digit."""
    words = prefixes.split() or _BUILT_IN[language]
    marked = [word for word in words if word.endswith(_ONLY_BEFORE_DIGIT)]
    always = tuple(word for word in words if word not in marked)
    return always, tuple(word.removesuffix(_ONLY_BEFORE_DIGIT) for word in marked)
