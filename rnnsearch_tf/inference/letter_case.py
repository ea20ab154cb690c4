"""Correction of letter case, so that a subword model reads words in their usual spelling."""

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
# A word of four letters or more that does not begin with a capital. A pattern for the opposite,
# lines without such a word, would take more memory than RE2 allows.
_NOT_IN_TITLE_CASE = rf"(?:.*[^\p{{L}}\p{{M}}])?[^\P{{L}}\p{{Lu}}]{_LETTER}{{3}}.*"
_FEWEST_CHANGES = 4
# Three groups: what precedes the first letters, these, and what may follow. No web address fits.
_WORD = (
    rf"([^\p{{L}}\p{{M}}\p{{N}}]*)({_LETTER}+)"
    r"((?:['’-][\p{L}\p{M}'’-]*)?[^\p{L}\p{M}\p{N}]*)"
)
_WHOLE_WORD = re.compile(rf"{BLANK}[^\W\d_]+")
_KEPT = r".*\p{N}.*|\P{L}*(\p{Lu}\p{M}*\.){2,}\P{L}*"  # with a digit, or U.S.
_ACRONYM = r".*\p{Lu}[\p{M}.]*\p{Lu}.*"


class LetterCaseCorrection(tf.Module):
    """Respells lines in capitals, in lower case or in title case as in the training text.

    Such lines are rare there: their words are split into many subwords, and names in lower case are
    not recognized. Each word of such a line becomes the first piece of the vocabulary that has its
    letters, that is, the most frequent spelling: "EUROPE" and "europe" become "Europe". Other words
    become lower case, except words with digits, capitals with dots ("U.S."), and acronyms in lines
    in title case. The first letter of a line stays a capital.

    A line is in capitals if it has no letter in lower case or of a script without cases, and at
    least two words with two adjacent capitals: one acronym is left alone. It is in title case if
    its words of four letters or more begin with capitals, and at least four of its words are pieces
    that are usually written otherwise: names of people and institutions are left alone.

    A respelled line is cut to `max_length` tokens; if that would take a whole word, the line is
    read as it was written.
    """

    def __init__(self, source: TextVectorizer, max_length: int):
        super().__init__()
        self._source = source
        self._max_length = max_length
        ids = [i for i, x in enumerate(source.vocabulary.tokens) if _WHOLE_WORD.fullmatch(x)]
        pieces = self._spell(tf.constant(ids, tf.int64))
        self._ids = id_table(zip(lowercase(pieces).numpy(), ids, strict=True))

    def correct(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the tokens of sentences, string [B, None], other ones where words change."""
        lines = tf.strings.strip(self._source.tokenizer.detokenize(tokens))
        patterns = (_IN_CAPITALS, _IN_LOWER_CASE, _NOT_IN_TITLE_CASE)
        in_capitals, in_lower, is_other = (
            tf.strings.regex_full_match(lines, pattern) for pattern in patterns
        )
        is_one_case = in_capitals | in_lower | ~is_other

        def corrected() -> tf.RaggedTensor:
            read = self._read(lines, in_capitals, in_lower)
            again = self._source.read(read, self._max_length)
            # A line that was cut within a character has lost it: its words would be fewer.
            has_same_words = self._count_words(again) == self._count_words(tokens)
            is_read = is_one_case & (read != lines) & has_same_words
            rows = tf.range(tokens.nrows())
            order = tf.where(is_read, tokens.nrows() + rows, rows)
            return tf.gather(tf.concat([tokens, again], axis=0), order)

        return tf.cond(tf.reduce_any(is_one_case), corrected, lambda: tokens)

    def _count_words(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Return the number of the last word of sentences, string [B, None], from 0: int64 [B]."""
        return tf.reduce_max(self._source.tokenizer.word_numbers(tokens), axis=1)

    def _read(self, lines: tf.Tensor, in_capitals: tf.Tensor, in_lower: tf.Tensor) -> tf.Tensor:
        """Respell the words of lines, string [R]; a line in neither other case is in title case."""
        is_title = ~(in_capitals | in_lower)
        words = tf.strings.split(lines, " ")
        given = words.flat_values
        is_acronym = tf.strings.regex_full_match(given, _ACRONYM)
        is_kept = tf.repeat(is_title, words.row_lengths()) & is_acronym
        is_kept |= tf.strings.regex_full_match(given, _KEPT)
        usual, is_known = self._usual(lowercase(given))
        read = words.with_flat_values(tf.where(is_kept, given, usual))
        text = tf.strings.reduce_join(read, axis=1, separator=" ")
        text = tf.where(in_lower, text, _capitalized(text))
        changes = tf.cast(is_known & (read.flat_values != given), tf.int32)
        changes = tf.reduce_sum(words.with_flat_values(changes), axis=1)
        return tf.where(is_title & (changes < _FEWEST_CHANGES), lines, text)

    def _usual(self, words: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Respell words in lower case, string [N], as usual, and mark known ones, bool [N]."""
        before, letters, after = (apply((f"^{_WORD}$", rf"\{part}"), words) for part in (1, 2, 3))
        ids = self._ids.lookup(letters)
        is_known = tf.strings.regex_full_match(words, _WORD) & (ids != NO_ID)
        spelled = tf.strings.join([before, self._spell(ids), after])
        return tf.where(is_known, spelled, words), is_known

    def _spell(self, ids: tf.Tensor) -> tf.Tensor:
        """Look up pieces, int64 [N], without the space before them: string [N]."""
        return apply((f"^{BLANK}", ""), self._source.spell(ids))


def _capitalized(lines: tf.Tensor) -> tf.Tensor:
    beginning = apply((r"^(\P{L}*\p{L}?).*", r"\1"), lines)
    capital = tf.strings.upper(apply(("i", "I"), beginning), "utf-8")  # else by the locale
    return tf.strings.join([capital, apply((r"^\P{L}*\p{L}?", ""), lines)])
