"""Abbreviations after which a full stop does not end a sentence, for English and French.

The abbreviations are those of Moses' `nonbreaking_prefix.en` and `nonbreaking_prefix.fr`, without
the entries that have no effect: one with a dot inside ("i.e", "S.A.R") keeps its final dot by
another rule, and one with a slash ("n/réf") is cut at the slash before the list is consulted.
"""

from rnnsearch_tf.tables import read_words

_TABLES = read_words(__package__, "nonbreaking_prefixes")

ALWAYS = {language: _TABLES[f"{language} always"] for language in ("en", "fr")}
BEFORE_DIGIT = {language: _TABLES[f"{language} before digit"] for language in ("en", "fr")}
