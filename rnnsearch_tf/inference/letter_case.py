"""Lines in one letter case: a subword model reads their words in the usual spelling."""

import re

import tensorflow as tf

from rnnsearch_tf.inference.spelling import NO_ID, id_table
from rnnsearch_tf.text.cleaning import apply, lowercase
from rnnsearch_tf.text.subwords import BLANK
from rnnsearch_tf.text.vectorizer import TextVectorizer

_OTHERS = r"(?:[^\p{Ll}\p{Lo}]|[ªº])*"  # no letter in lower case, nor of a script without cases
_TWO = rf"{_OTHERS}\p{{Lu}}\p{{M}}*\p{{Lu}}{_OTHERS}"
_IN_CAPITALS = f"{_TWO} {_TWO}"
_IN_LOWER_CASE = r"[^\p{Lu}\p{Lt}]*\p{Ll}[^\p{Lu}\p{Lt}]*"
_LETTER = r"[\p{L}\p{M}]"
_NO_LETTERS = r"[^\p{L}\p{M}]+"
_TITLE_WORD = rf"(?:{_LETTER}{{1,3}}|\p{{Lu}}{_LETTER}{{3,}})"
_IN_TITLE_CASE = rf"(?:{_NO_LETTERS})?(?:{_TITLE_WORD}{_NO_LETTERS})+(?:{_TITLE_WORD})?"
_FEWEST_CHANGES = 4
# What is before the first letters, these, and what may follow: no web address.
_WORD = rf"([^\p{{L}}\p{{M}}\p{{N}}]*)({_LETTER}+)((?:['’-].*)?[^\p{{L}}\p{{M}}\p{{N}}]*)"
_IS_WORD = re.compile(rf"{BLANK}[^\W\d_]+")
_WITH_NUMBER = r".*\p{N}.*"
_CAPITALIZED = r"[^\p{L}]*\p{Lu}\p{M}*\p{Ll}.*"


class LetterCaseCorrection(tf.Module):
    """Reads lines in capitals, in lower case or in title case as the training text is written.

    There, such lines are rare: their words are split into many subwords, and names in lower case
    are not recognized. Each word of such a line becomes the first piece of the vocabulary that has
    its letters, so the most frequent spelling: "EUROPE" and "europe" become "Europe". All other
    words become lower case, but for those with digits, and acronyms in title case. The first letter
    of a line stays a capital.

    A line is in capitals if it has no letter in lower case or of a script without cases, and at
    least two words with two adjacent capitals: one acronym is left alone. It is in title case if
    its words of four letters or more begin with capitals, and at least four of its words are pieces
    that are usually written otherwise: names of people and institutions are left alone.
    """

    def __init__(self, source: TextVectorizer):
        super().__init__()
        self._source = source
        ids = [i for i, x in enumerate(source.vocabulary.tokens) if _IS_WORD.fullmatch(x)]
        pieces = self._spell(tf.constant(ids, tf.int64))
        self._ids = id_table(zip(lowercase(pieces).numpy(), ids, strict=True))

    def correct(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the tokens of sentences, string [B, None], other ones where words change."""
        lines = tf.strings.strip(self._source.tokenizer.detokenize(tokens))
        patterns = (_IN_CAPITALS, _IN_LOWER_CASE, _IN_TITLE_CASE)
        kinds = [tf.strings.regex_full_match(lines, pattern) for pattern in patterns]
        rows = tf.where(tf.reduce_any(kinds, axis=0))[:, 0]

        def corrected() -> tf.RaggedTensor:
            given = tf.gather(lines, rows)
            read = self._read(given, *(tf.gather(kind, rows) for kind in kinds[:2]))
            changed = tf.where(read != given)[:, 0]
            again = self._source.tokenizer.tokenize(tf.gather(read, changed))
            order = tf.range(tokens.nrows(), dtype=tf.int64)
            added = tokens.nrows() + tf.range(tf.size(changed, tf.int64), dtype=tf.int64)
            places = tf.gather(rows, changed)[:, tf.newaxis]
            order = tf.tensor_scatter_nd_update(order, places, added)
            return tf.gather(tf.concat([tokens, again], axis=0), order)

        return tf.cond(tf.size(rows) > 0, corrected, lambda: tokens)

    def _read(self, lines: tf.Tensor, in_capitals: tf.Tensor, in_lower: tf.Tensor) -> tf.Tensor:
        """Respell the words of lines, string [R], which are in title case if in neither other."""
        is_title = ~(in_capitals | in_lower)
        words = tf.strings.split(lines, " ")
        given = words.flat_values
        is_acronym = ~tf.strings.regex_full_match(given, _CAPITALIZED)
        is_kept = tf.repeat(is_title, words.row_lengths()) & is_acronym
        is_kept |= tf.strings.regex_full_match(given, _WITH_NUMBER)
        usual, is_known = self._usual(lowercase(given))
        read = words.with_flat_values(tf.where(is_kept, given, usual))
        text = tf.strings.reduce_join(read, axis=1, separator=" ")
        text = tf.where(in_lower, text, _capitalized(text))
        changes = tf.cast(is_known & (read.flat_values != given), tf.int32)
        changes = tf.reduce_sum(words.with_flat_values(changes), axis=1)
        return tf.where(is_title & (changes < _FEWEST_CHANGES), lines, text)

    def _usual(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Respell words in lower case, string [N]; and say which are known, bool [N]."""
        before, letters, after = (apply((f"^{_WORD}$", rf"\{part}"), words) for part in (1, 2, 3))
        ids = self._ids.lookup(letters)
        is_known = tf.strings.regex_full_match(words, _WORD) & (ids != NO_ID)
        spelled = tf.strings.join([before, self._spell(ids), after])
        return tf.where(is_known, spelled, words), is_known

    def _spell(self, ids: tf.Tensor) -> tf.Tensor:
        """Look up pieces, int64 [N], without the space before them: string [N]."""
        return apply((f"^{BLANK}", ""), self._source.spell(ids))


def _capitalized(lines: tf.Tensor) -> tf.Tensor:
    first = apply(("^(.).*", r"\1"), lines)
    capital = tf.strings.upper(apply(("i", "I"), first), "utf-8")  # else by the locale
    return tf.strings.join([capital, apply(("^.", ""), lines)])
