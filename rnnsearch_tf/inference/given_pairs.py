"""Given sentence pairs as tokens: text is tokenized, a result keeps the tokens that it has."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.given_texts import Line, Target, described, each_line, each_pair, is_series
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.tokenizers import Tokenizer, splits_words
from rnnsearch_tf.text.vocabulary import EOS, SPECIAL_TOKENS, Vocabulary


def checked_lines(text: Any) -> list[Line]:
    """Return a list of the sentences, or of the single one.

    TypeError if it is neither; InputError as `each_line`.
    """
    return list(each_line([text] if isinstance(text, Line) else _checked_list(text)))


def _checked_list(values: Any) -> Any:
    if not hasattr(values, "__len__") or not is_series(values):
        raise TypeError(
            f"expected a sentence, a str, or a list of them, not {described(values)}; the methods "
            "that end in _stream take iterators"
        )
    return values


def checked_pairs(source: Any, target: Any) -> list[tuple[Line, Target]]:
    """Pair a sentence, or a list of them, with translations; InputError if there are not as many.

    TypeError if the sentences or the translations are not strings.
    """
    lines = checked_lines(source)
    targets = [target] if isinstance(target, Target) else _checked_list(target)
    if isinstance(source, Line) and not isinstance(target, Target):
        raise InputError("one sentence, but a list of translations")
    if len(lines) != len(targets):
        raise InputError(f"{len(lines):,} sentences, but {len(targets):,} translations")
    return list(each_pair(zip(lines, targets, strict=True)))


def tokens_of_pairs(
    pairs: Sequence[tuple[Line, Target]],
    tokenizers: tuple[Tokenizer, Tokenizer],
    vocabulary: Vocabulary,  # of the target
    max_length: int,
) -> tuple[list[Sequence[Line]], list[Sequence[Line]]]:
    """Split sentences and translations into up to `max_length` tokens each, without `</s>`."""
    in_pieces = splits_words(tokenizers[1])
    results = [_tokens_or_text(target, in_pieces, vocabulary) for _, target in pairs]
    texts = [result for result in results if not isinstance(result, Hypothesis)]
    source = tokenize([source for source, _ in pairs], tokenizers[0]).to_list()
    split = iter(tokenize(texts, tokenizers[1]).to_list())
    target: list[Sequence[Line]] = [
        (result.pieces or result.tokens)[:-1]
        if isinstance(result, Hypothesis)
        else next(split)[:max_length]
        for result in results
    ]
    return [tokens[:max_length] for tokens in source], target


def _tokens_or_text(target: Target, in_pieces: bool, vocabulary: Vocabulary) -> Line | Hypothesis:
    """Return a text, or a result's hypothesis; only its text if it lacks tokens of the model.

    Tokens are another model's if the vocabulary lacks one of them.
    """
    result = target.hypotheses[0] if isinstance(target, Translation) else target
    if not isinstance(result, Hypothesis):
        return result
    # A served model of subwords sends its words, which are no tokens of a model of words.
    tokens, others = (result.pieces, ()) if in_pieces else (result.tokens, result.pieces)
    has_tokens = tokens and not others and all(token in vocabulary for token in tokens)
    return result if has_tokens else result.text


def ragged(tokens: Sequence[Sequence[Line]]) -> tf.RaggedTensor:
    """Return B rows of tokens, string [B, None]."""
    return tf.ragged.constant([list(row) for row in tokens], tf.string, ragged_rank=1)


def padded(tokens: Sequence[Sequence[Line]]) -> tf.Tensor:
    """Pad B rows of tokens with empty strings: string [B, T]."""
    return ragged(tokens).to_tensor("")


def decoded_with_end(tokens: Sequence[Line]) -> tuple[str, ...]:
    """Decode tokens and add `</s>`."""
    return (*(t.decode() if isinstance(t, bytes) else t for t in tokens), SPECIAL_TOKENS[EOS])
