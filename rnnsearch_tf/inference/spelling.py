"""Correction of typing errors: an unknown source word is read as the known word most like it."""

from collections.abc import Iterable

import tensorflow as tf

from rnnsearch_tf.text.cleaning import lowercase
from rnnsearch_tf.text.unspaced import UNSPACED
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK

_JOINERS = r"\x{200C}\x{200D}"  # within words of Persian, Sinhala and others
_WORD = rf"[\p{{L}}\p{{M}}'’-][\p{{Ll}}\p{{Lo}}\p{{Lm}}\p{{M}}{_JOINERS}'’-]+"  # no acronym
_SYLLABLES = rf"(?s).*({UNSPACED}|\p{{Hangul}}).*"  # or words; another one is no typing error
_LETTERS = 4, 40  # shorter words are one letter away from too many others
NO_ID = tf.int64.max
_GAP = "\0"  # no letter
_AT_ONCE = 64  # words, whose errors take up to 76 kB each


class SpellingCorrection(tf.Module):
    """Replaces unknown source words by known words of similar spelling.

    The corrections are tried in this order; the first that gives a known word is used:

    1. the same word in another case;
    2. two adjacent letters swapped, in the word as given, then in lowercase;
    3. one letter missing or added;
    4. one letter substituted, or moved to another position.

    If several known words match, the most frequent one is used. A word without a match is kept.
    Corrections 2 to 4 undo a single typing error (Damerau 1964, A Technique for Computer Detection
    and Correction of Spelling Errors). They never change the first letter, and are tried only on
    words of 4 to 40 letters without capitals after the first letter, so not on acronyms, and not in
    Chinese, Japanese, Korean and scripts without spaces.

    Tables index the known words with one letter left out, so that no search is needed.
    """

    def __init__(self, source: TextVectorizer):
        super().__init__()
        self._source = source
        words = source.vocabulary.tokens
        known = tf.constant(words, tf.string)
        ids = range(len(SPECIAL_TOKENS), len(words))
        in_lower_case = lowercase(known).numpy()
        self._in_lower_case = id_table((in_lower_case[i], i) for i in ids)
        can_have_errors = _can_have_errors(known).numpy()
        positions = [
            (i, words[i][:position], words[i][position], words[i][position + 1 :])
            for i in ids
            if can_have_errors[i]
            for position in range(1, len(words[i]))
        ]
        self._shortened = id_table((before + after, i) for i, before, _, after in positions)
        self._replaced = id_table((before + _GAP + after, i) for i, before, _, after in positions)
        self._moved = id_table((before + after + _GAP + x, i) for i, before, x, after in positions)

    def correct(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Put known words in place of unknown ones in the tokens of sentences, string [B, None]."""
        words = tokens.flat_values
        unknown = tf.where(self._source.lookup(words) == UNK)

        def corrected() -> tf.Tensor:
            each, indices = tf.unique(tf.gather_nd(words, unknown))
            slices = tf.reshape(tf.pad(each, [[0, -tf.size(each) % _AT_ONCE]]), [-1, _AT_ONCE])
            read = tf.map_fn(self._known_words, slices, parallel_iterations=1)
            known = tf.gather(tf.reshape(read, [-1]), indices)
            return tf.tensor_scatter_nd_update(words, unknown, known)

        return tokens.with_flat_values(tf.cond(tf.size(unknown) > 0, corrected, lambda: words))

    def _known_words(self, words: tf.Tensor) -> tf.Tensor:
        """Find the known word for each unknown one, string [U]; itself if there is none."""
        ids = self._in_lower_case.lookup(lowercase(words))
        for others in self._with_one_error(words):
            ids = tf.where(ids == NO_ID, tf.reduce_min(others, axis=1), ids)
        return tf.where(ids == NO_ID, words, self._source.spell(ids))

    def _with_one_error(self, words: tf.Tensor) -> Iterable[tf.Tensor]:
        """Yield, per kind of error, ids int64 [U, …] of known words it turns into words, [U]."""
        words = tf.where(_can_have_errors(words), words, "")
        yield self._known_ids(_exchanged(words))
        yield self._known_ids(_exchanged(lowercase(words)))  # for the first word of a sentence
        letters = _letters(words)
        each = letters[:, tf.newaxis]
        shorter = _join(tf.where(_is_at(letters), "", each))
        words = words[:, tf.newaxis]
        yield tf.concat([self._shortened.lookup(words), self._known_ids(shorter)], axis=1)
        replaced = _join(tf.where(_is_at(letters) & tf.not_equal(each, ""), _GAP, each))
        moved = tf.strings.join([shorter, letters[:, 1:]], _GAP)
        yield tf.concat([self._replaced.lookup(replaced), self._moved.lookup(moved)], axis=1)

    def _known_ids(self, words: tf.Tensor) -> tf.Tensor:
        ids = self._source.lookup(words)
        return tf.where((ids == UNK) | (_length(words) < _LETTERS[0]), NO_ID, ids)


def _can_have_errors(words: tf.Tensor) -> tf.Tensor:
    """Whether words, string [N], are long enough, and of letters: bool [N]."""
    letters = _length(words)
    is_long = (letters >= _LETTERS[0]) & (letters <= _LETTERS[1])
    has_letters = tf.strings.regex_full_match(words, _WORD)
    return is_long & has_letters & ~tf.strings.regex_full_match(words, _SYLLABLES)


def _length(words: tf.Tensor) -> tf.Tensor:
    return tf.strings.length(words, unit="UTF8_CHAR")


def _letters(words: tf.Tensor) -> tf.Tensor:
    return tf.strings.unicode_split(words, "UTF-8").to_tensor("")  # [U, L]


def _is_at(letters: tf.Tensor) -> tf.Tensor:
    """Mask of each position but the first, bool [L - 1, L]."""
    positions = tf.range(tf.shape(letters)[1])
    return positions[1:, tf.newaxis] == positions


def _exchanged(words: tf.Tensor) -> tf.Tensor:
    """Words, string [U], with two neighbors exchanged, all but the first: string [U, L - 2]."""
    letters = _letters(words)
    step = tf.cast(_is_at(letters), tf.int32)
    positions = tf.range(tf.shape(letters)[1]) + step[:-1] - step[1:]
    return _join(tf.gather(letters, positions, axis=1))


def _join(letters: tf.Tensor) -> tf.Tensor:
    """Join letters, string [U, N, L]: string [U, N]."""
    return tf.strings.reduce_join(letters, axis=2)


def id_table(pairs: Iterable[tuple[str | bytes, int]]) -> tf.lookup.StaticHashTable:
    """Make a table of pairs, the first of those with equal words; other words have `NO_ID`."""
    ids: dict[str | bytes, int] = {"": NO_ID}  # a table may not be empty
    for word, i in pairs:
        ids.setdefault(word, i)
    keys = tf.constant(list(ids), tf.string, [len(ids)])
    values = tf.constant(list(ids.values()), tf.int64, [len(ids)])
    initializer = tf.lookup.KeyValueTensorInitializer(keys, values)
    return tf.lookup.StaticHashTable(initializer, NO_ID)
