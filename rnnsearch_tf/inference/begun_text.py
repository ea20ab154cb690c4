"""Begun translations as text: what the search must begin with."""

import tensorflow as tf

from rnnsearch_tf.decoding.prefix import Begun, Prefix, Spelling, fits
from rnnsearch_tf.text.cleaning import valid_utf8
from rnnsearch_tf.text.subwords import BLANK, BYTE
from rnnsearch_tf.text.tokenizers import splits_words
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import PAD, SPECIAL_TOKENS, UNK

_BLANK_END = r"(?s)(.*[\s\x{85}\x{A0}\p{Z}])?"
_NO_TEXT = "\0"  # in place of a special token: a cleaned text has no NUL
_NO_LETTER = r"[^\p{L}\p{N}\p{M}].*"


def read_begun(
    text: tf.Tensor, target: TextVectorizer, max_length: int
) -> tuple[tf.RaggedTensor, Begun]:
    """Read begun translations, string [R].

    Returns the words that must come first, as they were given, string [R, None], and what the
    search takes.

    The first `max_length` tokens are read. A space at the end says that the last word is whole:
    another word or punctuation follows. Without it the last word (where words are not separated by
    spaces, what follows the last space) may be unfinished: what follows begins with its characters.
    It is whole all the same where there are `max_length` tokens, or where the vocabulary lacks it
    and has no word that begins with it. Words that the vocabulary lacks are [UNK].
    """
    spelling = _spelling(target)
    text = valid_utf8(text)
    tokens = target.read(target.tokenizer.begun(text), max_length)
    lengths = tokens.row_lengths()
    ids = target.ids(tokens)[:, :-1]
    texts = tf.gather(spelling.texts, ids.flat_values)
    texts = ids.with_flat_values(tf.where(ids.flat_values == UNK, tokens.flat_values, texts))
    places = tf.ragged.range(lengths)
    if spelling.are_parts:
        starts = tf.strings.regex_full_match(tokens.flat_values, f"{BLANK}.*")
    else:
        starts = tf.ones_like(places.flat_values, tf.bool)
    last = places.with_flat_values(tf.where(starts, places.flat_values, 0))
    last = tf.maximum(tf.reduce_max(last, axis=1), 0)  # of an empty row, the least int64
    is_last = places.flat_values >= tf.gather(last, places.value_rowids())
    rest = tf.strings.reduce_join(
        texts.with_flat_values(tf.where(is_last, texts.flat_values, "")).to_tensor(""), axis=1
    )
    is_open = ~tf.strings.regex_full_match(text, _BLANK_END)
    is_open &= (lengths > 0) & (lengths < max_length) & _is_known(ids, is_last, rest, spelling)
    forced = tf.where(is_open, last, lengths)
    prefix = Prefix(
        tf.RaggedTensor.from_tensor(ids.to_tensor(PAD), lengths=forced).to_tensor(PAD),
        tf.where(is_open, rest, ""),
        ~is_open & (lengths > 0),
    )
    given = tf.RaggedTensor.from_tensor(tokens.to_tensor(""), lengths=forced)
    return given, Begun(prefix, spelling)


def with_first(words: tf.RaggedTensor, first: tf.Tensor) -> tf.RaggedTensor:
    """Put the given words, padded string [R, P], in place of the first ones, string [R, None]."""
    places = tf.ragged.range(words.row_lengths()).flat_values
    first = tf.pad(first, [[0, 0], [0, 1]], constant_values="")
    last = tf.shape(first, tf.int64)[1] - 1
    given = tf.gather_nd(first, tf.stack([words.value_rowids(), tf.minimum(places, last)], axis=1))
    return words.with_flat_values(tf.where(given == "", words.flat_values, given))


def _spelling(target: TextVectorizer) -> Spelling:
    """Written form of the words of a vocabulary; in bytes, where a piece is a byte."""
    known = target.vocabulary.tokens
    ids = tf.range(len(known))
    tokens = target.tokens(tf.RaggedTensor.from_row_lengths(ids, [len(known)])).flat_values
    texts = tf.where(ids < len(SPECIAL_TOKENS), _NO_TEXT, tokens)
    if not splits_words(target.tokenizer):
        return Spelling(texts, tf.ones_like(ids, tf.bool), are_parts=False)
    if pieces := [i for i, token in enumerate(known) if BYTE.fullmatch(token)]:
        spelled = [bytes.fromhex(known[i][3:-1]) for i in pieces]
        texts = tf.tensor_scatter_nd_update(texts, [[i] for i in pieces], spelled)
    # Behind the piece of a word, where each piece is a word of its own or not.
    pairs = tf.stack([tf.fill([len(known)], f"{BLANK}a"), tokens], axis=1)
    numbers = target.tokenizer.word_numbers(tf.RaggedTensor.from_tensor(pairs))
    begins = numbers.to_tensor()[:, 1] > 0
    return Spelling(texts, begins | tf.strings.regex_full_match(texts, _NO_LETTER), are_parts=True)


def _is_known(
    ids: tf.RaggedTensor, is_last: tf.Tensor, rest: tf.Tensor, spelling: Spelling
) -> tf.Tensor:
    """Whether the last words have no unknown token, or a word begins with them: bool [R]."""
    unknown = ids.with_flat_values((ids.flat_values == UNK) & is_last)
    begins = fits(rest[:, tf.newaxis], spelling._replace(are_parts=False))
    return ~tf.reduce_any(unknown.to_tensor(False), axis=1) | tf.reduce_any(begins, axis=[1, 2])
