"""Text to tokens and back by the rules of Moses, as TensorFlow graph ops.

The rules are those of Moses' `tokenizer.perl -no-escape` and `detokenizer.perl`: case is kept, and
hyphenated words stay whole. The only punctuation that is normalized is the apostrophe ’ in a word,
to ': otherwise each elision would have two spellings. All ops are core TensorFlow, so the object
that prepares the training data also serves inside a SavedModel.

Moses' own script and its Python port sacremoses disagree in places. There, this follows

* sacremoses for a line's last word: abbreviations ("in the U.S.", "etc.") keep their dot there too,
  as in older versions of `tokenizer.perl`; newer ones always split it off;
* sacremoses in detokenizing every line, and in binding English "'s" to any token before it:
  `detokenizer.perl` leaves a line "<...>" as it is, and binds "'s" only to a letter or digit;
* neither for invisible characters, which are removed (`cleaning.clean`): both make tokens of soft
  hyphens and of spaces without width;
* sacremoses for U+001C to U+001F, which are whitespace; `tokenizer.perl` removes them;
* Moses for the letters: all that Perl counts as such, with vowel points and vowel signs. The tables
  of sacremoses lack Chinese, Japanese, Korean and all scripts since Unicode 6, and have the viramas
  and nuktas of Indic scripts, which Moses makes tokens of their own.

Oddities of Moses that are kept: an apostrophe at either end of a line stays on its word ("'tis",
"the dogs'"), of two apostrophes one letter apart only the first splits ("rock'n'roll" becomes
"rock 'n'roll"), and in joining, a closing curly quotation mark and French guillemets are words
like any other, a currency sign is bound to the next word, even after a number, and apostrophes in
words of the languages without elisions or contractions are quotation marks.

For languages whose abbreviations are read from sacremoses, tokens and lines are as it has them,
except Czech lines: their rules for "„", "“", decimals and "-li" are left out.
"""

import re

import tensorflow as tf

from rnnsearch_tf.config import MORE_MOSES_LANGUAGES, MOSES_LANGUAGES, check_choice
from rnnsearch_tf.text import letters, nonbreaking_prefixes
from rnnsearch_tf.text.cleaning import SPACES, Rule, apply, clean, valid_utf8
from rnnsearch_tf.text.letters import LETTER, LOWER
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK
from rnnsearch_tf.text.word_tokenizer import Tokenizer
from rnnsearch_tf.tf_functions import graph_method

# The inside of an RE2 character class, like LETTER and LOWER.
_CJK = (
    r"\x{1100}-\x{11FF}\x{2E80}-\x{A4CF}\x{A840}-\x{A87F}\x{AC00}-\x{D7AF}\x{F900}-\x{FAFF}"
    r"\x{FE30}-\x{FE4F}\x{FF65}-\x{FFDC}\x{17000}-\x{18AFF}\x{1B000}-\x{1B12F}"
    r"\x{1B170}-\x{1B2FF}\x{20000}-\x{2FFFF}"
)

# Tokenization, in the order in which the rules apply to the whole line.
_APOSTROPHE_IN_WORD: Rule = (rf"([{LETTER}\p{{N}}])’([{LETTER}])", r"\1'\2")
# [UNK], which a translation may have, is one symbol.
_SYMBOLS_AND_DOT_RUNS: Rule = (
    rf"{re.escape(SPECIAL_TOKENS[UNK])}|[^{LETTER}\p{{Nd}} .'`,\-]|\.{{2,}}",
    r" \0 ",
)
_COMMA_AFTER_NON_NUMBER: Rule = (r"([^\p{N}]),", r"\1 , ")
_COMMA_BEFORE_NON_NUMBER: Rule = (r",([^\p{N}]|$)", r" , \1")
_ELISIONS: tuple[Rule, ...] = (
    (rf"([^{LETTER}])'([^{LETTER}])", r"\1 ' \2"),
    (rf"([^{LETTER}])'([{LETTER}])", r"\1 ' \2"),
    (rf"([{LETTER}])'([^{LETTER}])", r"\1 ' \2"),
    (rf"([{LETTER}])'([{LETTER}])", r"\1' \2"),
)
_APOSTROPHES: dict[str, tuple[Rule, ...]] = {
    "en": (
        (rf"([^{LETTER}])'([^{LETTER}])", r"\1 ' \2"),
        (rf"([^{LETTER}\p{{N}}])'([{LETTER}])", r"\1 ' \2"),
        (rf"([{LETTER}])'([^{LETTER}])", r"\1 ' \2"),
        (rf"([{LETTER}])'([{LETTER}])", r"\1 '\2"),
        (r"(\p{N})'s", r"\1 's"),
    ),
    "fr": _ELISIONS,
    "it": _ELISIONS,
}
_APOSTROPHE_APART: tuple[Rule, ...] = (("'", " ' "),)  # in other languages
_CURLY_AT_END: Rule = (rf"([{LETTER}\p{{N}}])’$", r"\1'")
_APOSTROPHE_AT_END: Rule = (rf"([{LETTER}])'(\s*)$", r"\1 '\2")
_FINAL_DOT_APOSTROPHE: Rule = (r"\.'$", " . '")
_DOTTED_WORD = r".*[^.]\."
_FINAL_DOT: Rule = (r"\.$", " .")

# Detokenization: whole tokens.
_SPLIT_HYPHEN: Rule = (" @-@ ", "-")
_OPENING = r"[\p{Sc}(\[{¿¡]+"
_CLOSING = r"[,.?!:;\\%}\])]+"
_AFTER_BLANK_IN_FRENCH = r"[?!:;\\%]"
_ENGLISH_CONTRACTION = rf"'[{LETTER}].*"
_FRENCH_ELISION = rf".*[{LETTER}]'"
_STARTS_WITH_LETTER = rf"[{LETTER}].*"
_ENDS_WITH_S = ".*s"
_QUOTE = r"['\"„“`]+"
_CURLY_QUOTE: Rule = (r"^[„“]+$", '"')
_STARTS_WITH_CJK = rf"[{_CJK}].*"
_ENDS_WITH_CJK = rf".*[{_CJK}]"


def _is_first(keys: tf.Tensor) -> tf.Tensor:
    """Mask, bool [N], of the starts of runs of equal keys, int64 [N], none negative."""
    return tf.not_equal(keys, tf.concat([[-1], keys], axis=0)[:-1])


def _is_last(keys: tf.Tensor) -> tf.Tensor:
    """Mask, bool [N], of the ends of runs of equal keys, int64 [N], none negative."""
    return tf.not_equal(keys, tf.concat([keys, [-1]], axis=0)[1:])


def _of_previous(flags: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Flags, bool [N], of each token's left neighbor, False at the start of a row."""
    return tf.concat([[False], flags], axis=0)[:-1] & ~_is_first(rows)


def _of_next(flags: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Flags, bool [N], of each token's right neighbor, False at the end of a row."""
    return tf.concat([flags, [False]], axis=0)[1:] & ~_is_last(rows)


def _kept_dot_pattern(language: str, prefixes: str) -> str:
    """RE2 pattern of "WORD. NEXT" where the dot stays on its word; NEXT may be empty."""
    lists = nonbreaking_prefixes.prefix_lists(language, prefixes)
    always, before_digit = ("|".join(map(re.escape, words)) for words in lists)
    patterns = [
        rf"\S*(?:\.\S*[{LETTER}]|[{LETTER}]\S*\.)\S*\. .*",
        rf"(?:{always})\. .*",
        rf"\S+\. [{LOWER}].*",
    ]
    if before_digit:
        patterns.append(rf"(?:{before_digit})\. [0-9].*")
    return "|".join(patterns)


def _detach_final_dots(tokens: tf.RaggedTensor, kept_dot: str) -> tf.RaggedTensor:
    """Make the dot that ends a word a token of its own, unless the word and the next keep it."""
    values = tokens.values
    dotted = tf.where(tf.strings.regex_full_match(values, _DOTTED_WORD))[:, 0]
    words = tf.gather(values, dotted)
    at_end = tf.gather(_is_last(tokens.value_rowids()), dotted)
    following = tf.gather(values, tf.where(at_end, dotted, dotted + 1))
    pairs = tf.strings.join([words, " ", tf.where(at_end, "", following)])
    is_kept = tf.strings.regex_full_match(pairs, kept_dot)
    words = tf.where(is_kept, words, apply(_FINAL_DOT, words))
    parts = tf.strings.split(tf.tensor_scatter_nd_update(values, dotted[:, tf.newaxis], words))
    row_splits = tf.gather(parts.row_splits, tokens.row_splits)
    return tf.RaggedTensor.from_row_splits(parts.values, row_splits, validate=False)


def _closes_quotation(quotes: tf.Tensor, rows: tf.Tensor, possessive: tf.Tensor) -> tf.Tensor:
    """Mask, bool [Q], of the closing quotation marks: every second of equal marks in a row.

    A possessive apostrophe ("the Joneses ' house") is bound to the word before it like a closing
    mark, and closes an open quotation.
    """
    marks, mark_of = tf.unique(apply(_CURLY_QUOTE, quotes), out_idx=tf.int64)
    row_and_mark = rows * tf.size(marks, tf.int64) + mark_of
    order = tf.argsort(row_and_mark, stable=True)
    possessive = tf.gather(possessive, order)
    # The count restarts with each row and mark, and after each possessive.
    runs = tf.cumsum(tf.cast(_is_first(tf.gather(row_and_mark, order)) | possessive, tf.int64))
    toggles_before = tf.cumsum(tf.cast(~possessive, tf.int64), exclusive=True)
    at_start = tf.gather(tf.math.segment_min(toggles_before, runs), runs)
    closes = possessive | tf.equal((toggles_before - at_start) % 2, 1)
    return tf.scatter_nd(order[:, tf.newaxis], closes, tf.shape(closes, tf.int32))


class MosesTokenizer(Tokenizer):
    """Splits lines into Moses tokens and joins tokens into lines.

    Both methods are graph functions: they serve in `tf.data`, eagerly, and in a SavedModel, where
    a reloaded module has them too. They hold no state and treat each line by itself.

    `prefixes` are abbreviations as `nonbreaking_prefixes.read_prefixes` returns them; by default,
    those of the language. ValueError for a language whose abbreviations are not known.
    """

    _modules = letters, nonbreaking_prefixes

    def __init__(self, language: str, prefixes: str = "") -> None:
        if not prefixes:
            check_choice("language", language, (*MOSES_LANGUAGES, *MORE_MOSES_LANGUAGES))
        super().__init__(name=f"moses_tokenizer_{language}")
        self.language = language
        self._data = prefixes or nonbreaking_prefixes.read_prefixes(language)

    @graph_method(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Split lines, string [B], into tokens, string [B, None]; a blank line has none.

        As Moses' `tokenizer.perl -no-escape`, but [UNK] is one token, as in what models write.
        Invalid UTF-8 counts as U+FFFD; row_splits are int64.
        """
        text = clean(text)
        for rule in (
            _APOSTROPHE_IN_WORD,
            _SYMBOLS_AND_DOT_RUNS,
            _COMMA_AFTER_NON_NUMBER,
            _COMMA_BEFORE_NON_NUMBER,
            *_APOSTROPHES.get(self.language, _APOSTROPHE_APART),
            _FINAL_DOT_APOSTROPHE,
        ):
            text = apply(rule, text)
        kept_dot = _kept_dot_pattern(self.language, self._data)
        return _detach_final_dots(tf.strings.split(text), kept_dot)

    def normalize_prefix(self, text: tf.Tensor) -> tf.Tensor:
        """Read a final ’ as ', and in English split it off, as the beginning of a contraction."""
        text = apply(_CURLY_AT_END, text)
        return apply(_APOSTROPHE_AT_END, text) if self.language == "en" else text

    @graph_method(input_signature=[tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)])
    def detokenize(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Join tokens, string [B, None], into lines, string [B]; an empty row gives an empty line.

        As Moses' `detokenizer.perl`. Invalid UTF-8 counts as U+FFFD; row_splits are int64.
        """
        text = tf.strings.reduce_join(tokens, axis=1, separator=" ")
        text = apply(_SPLIT_HYPHEN, tf.strings.join([" ", valid_utf8(text), " "]))
        words = tf.strings.split(apply(SPACES, text))
        values, rows = words.values, words.value_rowids()
        pieces = tf.strings.join([tf.where(self._blank_before(values, rows), " ", ""), values])
        return tf.strings.unsorted_segment_join(pieces, rows, words.nrows())

    def _blank_before(self, values: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Mask, bool [N], of the tokens that a space separates from the token before them."""
        match = tf.strings.regex_full_match
        is_cjk = match(values, _STARTS_WITH_CJK)
        after_cjk = _of_previous(match(values, _ENDS_WITH_CJK), rows)
        binds_left = match(values, _CLOSING) | (is_cjk & after_cjk)
        binds_right = match(values, _OPENING)
        possessive = tf.zeros_like(binds_left)
        if self.language == "en":
            binds_left |= match(values, _ENGLISH_CONTRACTION)
            after_s = _of_previous(match(values, _ENDS_WITH_S), rows)
            possessive = tf.equal(values, "'") & after_s
        elif self.language in ("fr", "it"):
            before_letter = _of_next(match(values, _STARTS_WITH_LETTER), rows)
            binds_right |= match(values, _FRENCH_ELISION) & before_letter & ~is_cjk

        is_quote = match(values, _QUOTE)
        at = tf.where(is_quote)
        quotes, quote_rows, possessive = (
            tf.gather_nd(column, at) for column in (values, rows, possessive)
        )
        closes = _closes_quotation(quotes, quote_rows, possessive)
        closes = tf.tensor_scatter_nd_update(tf.zeros_like(is_quote), at, closes)
        binds_left |= closes
        binds_right |= is_quote & ~closes

        blank = ~(binds_left | _of_previous(binds_right, rows))
        if self.language == "fr":
            blank |= match(values, _AFTER_BLANK_IN_FRENCH)
        return blank & ~_is_first(rows)
