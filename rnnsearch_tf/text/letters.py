"""Letters and small letters as Perl's IsAlpha and IsLower have them, for RE2 character classes.

Perl goes by Unicode's properties Alphabetic and Lowercase, but RE2 knows general categories only.
The tables hold what the categories lack, mostly vowel points and vowel signs.
"""

from rnnsearch_tf.tables import read_words

_TABLES = read_words(__package__, "letters")


def _ranges(name: str) -> str:
    """Write a table of code points and ranges, such as AA and 2B0-2B8, inside an RE2 class."""
    ends = (item.split("-") for item in _TABLES[name])
    return "".join("-".join(rf"\x{{{code}}}" for code in item) for item in ends)


LETTER = r"\p{L}\p{Nl}" + _ranges("other alphabetic")
LOWER = r"\p{Ll}" + _ranges("other lowercase")
