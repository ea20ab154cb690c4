"""Prefixes of translations as text: what the search must begin with."""

import tensorflow as tf

from rnnsearch_tf.decoding.prefix import Prefix, PrefixConstraint, Spelling, fits
from rnnsearch_tf.text.cleaning import visible
from rnnsearch_tf.text.subwords import BLANK, BYTE
from rnnsearch_tf.text.tokenizers import splits_words
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import PAD, SPECIAL_TOKENS, UNK

_SPACE_AT_END = r"(.* )?"
_NO_TEXT = "\0"  # in place of a special token: a cleaned text has no NUL
_NO_LETTER = r"[^\p{L}\p{N}\p{M}].*"


def read_prefix(
    text: tf.Tensor, target: TextVectorizer, max_length: int
) -> tuple[tf.RaggedTensor, PrefixConstraint]:
    """Read prefixes of translations, string [R].

    Returns the words that must come first, as they were given, string [R, None], and the constraint
    for the search.

    The first `max_length` tokens are read. A space at the end says that the last word is whole:
    another word or punctuation follows. Without it, the last word (in scripts without spaces, all
    that follows the last space) may be unfinished: the translation has a word that begins with it.
    It still counts as whole if there are `max_length` tokens, or if the vocabulary lacks it and has
    no word that begins with it. Words that the vocabulary lacks are [UNK].
    """
    spelling = _spelling(target)
    text = visible(text)
    tokens = target.read(target.tokenizer.normalize_prefix(text), max_length)
    ids = target.ids(tokens)[:, :-1]
    lengths = tokens.row_lengths()
    start = _last_word_start(tokens, spelling)
    positions = tf.ragged.range(lengths)
    in_last_word = positions.flat_values >= tf.gather(start, positions.value_rowids())
    last_word = _last_word(tokens, ids, in_last_word, spelling)
    unfinished = ~tf.strings.regex_full_match(text, _SPACE_AT_END)
    unfinished &= (lengths > 0) & (lengths < max_length)
    unfinished &= _is_known(ids, in_last_word, last_word, spelling)
    forced = tf.where(unfinished, start, lengths)
    prefix = Prefix(
        tf.RaggedTensor.from_tensor(ids.to_tensor(PAD), lengths=forced).to_tensor(PAD),
        tf.where(unfinished, last_word, ""),
        ~unfinished & (lengths > 0),
    )
    given = tf.RaggedTensor.from_tensor(tokens.to_tensor(""), lengths=forced)
    return given, PrefixConstraint(prefix, spelling)


def with_first(words: tf.RaggedTensor, first: tf.Tensor) -> tf.RaggedTensor:
    """Put the given words, padded string [R, P], in place of the first ones, string [R, None]."""
    positions = tf.ragged.range(words.row_lengths()).flat_values
    first = tf.pad(first, [[0, 0], [0, 1]], constant_values="")
    last = tf.shape(first, tf.int64)[1] - 1
    given = tf.gather_nd(
        first, tf.stack([words.value_rowids(), tf.minimum(positions, last)], axis=1)
    )
    return words.with_flat_values(tf.where(tf.equal(given, ""), words.flat_values, given))


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
    # Whether each piece begins a new word when it follows the piece of a word.
    pairs = tf.stack([tf.fill([len(known)], f"{BLANK}a"), tokens], axis=1)
    numbers = target.tokenizer.word_numbers(tf.RaggedTensor.from_tensor(pairs))
    begins = numbers.to_tensor()[:, 1] > 0
    return Spelling(texts, begins | tf.strings.regex_full_match(texts, _NO_LETTER), are_parts=True)


def _last_word_start(tokens: tf.RaggedTensor, spelling: Spelling) -> tf.Tensor:
    """Position of the token with which the last word begins, int64 [R]; 0 of an empty row."""
    positions = tf.ragged.range(tokens.row_lengths())
    if spelling.are_parts:
        begins = tf.strings.regex_full_match(tokens.flat_values, f"{BLANK}.*")
        positions = positions.with_flat_values(tf.where(begins, positions.flat_values, 0))
    return tf.maximum(tf.reduce_max(positions, axis=1), 0)  # of an empty row, the least int64


def _last_word(
    tokens: tf.RaggedTensor, ids: tf.RaggedTensor, in_last_word: tf.Tensor, spelling: Spelling
) -> tf.Tensor:
    """The characters of the last words, string [R]."""
    texts = tf.gather(spelling.texts, ids.flat_values)
    texts = tf.where(ids.flat_values == UNK, tokens.flat_values, texts)
    texts = ids.with_flat_values(tf.where(in_last_word, texts, ""))
    return tf.strings.reduce_join(texts.to_tensor(""), axis=1)


def _is_known(
    ids: tf.RaggedTensor, in_last_word: tf.Tensor, last_word: tf.Tensor, spelling: Spelling
) -> tf.Tensor:
    """Whether the last words have no unknown token, or a word begins with them: bool [R]."""
    unknown = ids.with_flat_values((ids.flat_values == UNK) & in_last_word)
    begins = fits(last_word[:, tf.newaxis], spelling._replace(are_parts=False))
    return ~tf.reduce_any(unknown.to_tensor(False), axis=1) | tf.reduce_any(begins, axis=[1, 2])
