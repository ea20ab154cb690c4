"""Given pairs as the model's tokens, and words in place of subwords: what people read."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.given_texts import Line, Target
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.tokenizers import Tokenizer, splits_words
from rnnsearch_tf.text.vectorizer import ragged
from rnnsearch_tf.text.vocabulary import EOS, SPECIAL_TOKENS, Vocabulary

_END = SPECIAL_TOKENS[EOS]


class Words(NamedTuple):
    """The words of a sentence."""

    words: tuple[str, ...]  # `</s>` last
    unknown: tuple[int, ...]  # the positions of those with a token that the vocabulary lacks
    numbers: Sequence[int]  # the word, from 0, of each token

    def sums(self, scores: Sequence[float]) -> tuple[float, ...]:
        """Sum scores of the tokens over each word; no scores have no sums."""
        sums = [0.0] * len(self.words) if scores else []
        for number, score in zip(self.numbers, scores, strict=False):
            sums[number] += score
        return tuple(sums)


class Side:
    """One of the two languages of a model."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: Vocabulary):
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.has_subwords = splits_words(tokenizer)

    def words(self, rows: Sequence[Sequence[Line]]) -> list[Words]:
        """Return the words of sentences whose tokens, without `</s>`, are given."""
        tokens = [decoded_with_end(row) for row in rows]
        unknown = [self.vocabulary.unknown(row) for row in tokens]
        if not self.has_subwords:
            return list(map(Words, tokens, unknown, (range(len(row)) for row in tokens)))
        pieces = ragged([row[:-1] for row in tokens])
        words = self.tokenizer.words(pieces).to_list()
        numbers = self.tokenizer.word_numbers(pieces).to_list()
        return [
            Words(
                decoded_with_end(row),
                tuple(sorted({of[position] for position in positions})),
                [*of, len(row)],
            )
            for row, of, positions in zip(words, numbers, unknown, strict=True)
        ]


def tokens_of_pairs(
    pairs: Sequence[tuple[Line, Target]], source: Side, target: Side, max_length: int
) -> tuple[list[Sequence[Line]], list[Sequence[Line]]]:
    """Split sentences and translations into up to `max_length` tokens each, without `</s>`.

    A result of `translate` keeps the tokens that it has.
    """
    results = [_tokens_or_text(given, target) for _, given in pairs]
    texts = [result for result in results if not isinstance(result, Hypothesis)]
    sources = tokenize([given for given, _ in pairs], source.tokenizer).to_list()
    split = iter(tokenize(texts, target.tokenizer).to_list())
    targets: list[Sequence[Line]] = [
        (result.pieces or result.tokens)[:-1]
        if isinstance(result, Hypothesis)
        else next(split)[:max_length]
        for result in results
    ]
    return [tokens[:max_length] for tokens in sources], targets


def _tokens_or_text(given: Target, side: Side) -> Line | Hypothesis:
    """Return a text, or a result's hypothesis; only its text if its tokens are not the model's.

    They are another model's if the vocabulary lacks one of them, and several sentences', which the
    model never reads together, if there is a `</s>` after each.
    """
    result = given.hypotheses[0] if isinstance(given, Translation) else given
    if not isinstance(result, Hypothesis):
        return result
    # A served subword model sends words, which are not tokens of a word model.
    tokens, others = (result.pieces, ()) if side.has_subwords else (result.tokens, result.pieces)
    has_tokens = tokens and not others and all(token in side.vocabulary for token in tokens)
    return result if has_tokens and _END not in tokens[:-1] else result.text


def in_words(translations: list[Translation], source: Side, target: Side) -> list[Translation]:
    """Return translations whose tokens are words; `pieces` are the tokens that they had.

    Scores of words are the sums of those of pieces.
    """
    if not (source.has_subwords or target.has_subwords):
        return translations
    sources = source.words([t.source_tokens[:-1] for t in translations])
    targets = target.words([h.tokens[:-1] for t in translations for h in t.hypotheses])
    each_target = iter(targets)

    def of_words(hypothesis: Hypothesis) -> Hypothesis:
        read, scores = next(each_target), hypothesis.word_scores
        return dataclasses.replace(
            hypothesis, tokens=read.words, word_scores=read.sums(scores),
            pieces=hypothesis.tokens, piece_scores=scores,
        )  # fmt: skip

    return [
        dataclasses.replace(
            translation,
            source_tokens=read.words,
            unknown=read.unknown,
            hypotheses=tuple(map(of_words, translation.hypotheses)),
        )
        for translation, read in zip(translations, sources, strict=True)
    ]


def decoded_with_end(tokens: Sequence[Line]) -> tuple[str, ...]:
    """Decode tokens and add `</s>`."""
    return (*(t.decode() if isinstance(t, bytes) else t for t in tokens), _END)


def scores_of_words(scores: tf.RaggedTensor, numbers: tf.RaggedTensor) -> tf.RaggedTensor:
    """Sum log p of the tokens of each word, `</s>` last: float32 [B, None] to float32 [B, None].

    `numbers` has the index of each token's word, int64 [B, None], without `</s>`.
    """
    numbers, counts = _with_end_number(numbers)
    before = tf.cumsum(counts, exclusive=True)
    segments = numbers.flat_values + tf.gather(before, numbers.value_rowids())
    return tf.RaggedTensor.from_row_lengths(
        tf.math.segment_sum(scores.flat_values, segments), counts
    )


def alignment_of_words(
    weights: tf.Tensor, source_numbers: tf.RaggedTensor, target_numbers: tf.RaggedTensor
) -> tf.Tensor:
    """Make α of words from α of tokens.

        α'_IJ = 1/|I| Σ_{i in I} Σ_{j in J} α_ij     tokens i of target word I, j of source word J

    Rows still sum to 1. α is float32 [B, Ty + 1, Tx + 1], `</s>` last, zero at padding, and α'
    float32 [B, words + 1, words + 1]; the numbers are the word of each token, int64 [B, None],
    without `</s>`.
    """
    source, target = _membership(source_numbers), _membership(target_numbers)
    sums = tf.matmul(target, tf.matmul(weights, source), transpose_a=True)
    return sums / tf.maximum(tf.reduce_sum(target, axis=1), 1)[:, :, tf.newaxis]


def _membership(numbers: tf.RaggedTensor) -> tf.Tensor:
    """1 where a token [B, T + 1] belongs to a word, `</s>` being one, else 0: [B, T + 1, words]."""
    numbers, counts = _with_end_number(numbers)
    return tf.one_hot(numbers.to_tensor(-1), tf.cast(tf.reduce_max(counts), tf.int32))


def _with_end_number(numbers: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Add the number of `</s>`, the last word; also return the counts of words, int64 [B]."""
    ends = tf.maximum(tf.reduce_max(numbers, axis=1), -1) + 1  # of an empty row, the least int64
    return tf.concat([numbers, ends[:, tf.newaxis]], axis=1), ends + 1
