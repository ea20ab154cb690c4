"""Given sentence pairs as tokens: text is tokenized, a result keeps the tokens that it has."""

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.tokenizers import Tokenizer, splits_words
from rnnsearch_tf.text.vocabulary import Vocabulary

Line = str | bytes  # bytes are UTF-8; invalid ones count as U+FFFD
Target = Line | Translation | Hypothesis


def checked_lines(text: Any) -> list[Line]:
    """Return a list of the sentences, or of the single one.

    TypeError if it is neither; InputError as `each_line`.
    """
    return list(each_line([text] if isinstance(text, Line) else _checked_list(text)))


def _checked_list(values: Any) -> Any:
    if not hasattr(values, "__len__") or not is_series(values):
        raise TypeError(
            f"expected a sentence, a str, or a list of them, not {_described(values)}; the methods "
            "that end in _stream take iterators"
        )
    return values


def is_series(values: Any) -> bool:
    """Whether a value is an iterable of its elements: a data frame or a dict gives their names."""
    is_flat = getattr(values, "ndim", 1) == 1 and not isinstance(values, Mapping)
    return is_flat and hasattr(values, "__iter__")


def each_line(lines: Iterable[Line]) -> Iterator[Line]:
    """Give the sentences one by one; TypeError for a string, or for what is not a sentence.

    InputError for a str that is not Unicode, such as one cut inside of an emoji.
    """
    if isinstance(lines, Line):
        raise TypeError("expected an iterable of sentences, not a single sentence")
    if not is_series(lines):
        raise TypeError(f"expected an iterable of sentences, not {_described(lines)}")
    for number, line in enumerate(lines, 1):
        yield checked_text(line, f"sentence {number:,}")


def checked_text(text: Any, name: str, kind: Any = Line) -> Any:
    """Return what is given; TypeError for another kind, InputError for a str that has no UTF-8."""
    if not isinstance(text, kind):
        raise TypeError(f"{name}: expected a str, not {_described(text)}")
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} is not Unicode: {error.reason}") from error
    return text


def _described(value: Any) -> str:
    return f"{reprlib.repr(value)}, of type {type(value).__name__}"


def checked_pairs(source: Sequence[Line], target: Any) -> list[tuple[Line, Target]]:
    """Pair sentences with their translations; InputError if there are not as many.

    TypeError if the sentences or the translations are not strings.
    """
    source = checked_lines(source)
    targets = [target] if isinstance(target, Target) else _checked_list(target)
    if len(source) != len(targets):
        raise InputError(f"{len(source):,} sentences, but {len(targets):,} translations")
    return list(each_pair(zip(source, targets, strict=True)))


def each_pair(pairs: Iterable[tuple[Line, Target]]) -> Iterator[tuple[Line, Target]]:
    """Give the pairs one by one; TypeError for what is not a pair, InputError as `each_line`."""
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"pair {number:,}: expected a sentence and its translation, not {_described(pair)}"
            )
        source, target = pair
        yield (
            checked_text(source, f"sentence {number:,}"),
            checked_text(target, f"translation {number:,}", Target),
        )


def checked_target(target: Any) -> Target:
    """Return a single translation; InputError for a list, TypeError for what is not a string."""
    if isinstance(target, Target):
        return checked_text(target, "the translation", Target)
    _checked_list(target)
    raise InputError("one sentence, but a list of translations")


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
    source = tokenized([source for source, _ in pairs], tokenizers[0])
    split = iter(tokenized(texts, tokenizers[1]))
    target: list[Sequence[Line]] = [
        (result.pieces or result.tokens)[:-1]
        if isinstance(result, Hypothesis)
        else next(split)[:max_length]
        for result in results
    ]
    return [tokens[:max_length] for tokens in source], target


def text_of(target: Target) -> str:
    """Return the text of a translation."""
    text = target if isinstance(target, str | bytes) else target.text
    return text.decode(errors="replace") if isinstance(text, bytes) else text


def _tokens_or_text(target: Target, in_pieces: bool, vocabulary: Vocabulary) -> Line | Hypothesis:
    """Return text, or the hypothesis of a result; its text where that has other tokens, or none.

    Tokens are another model's where the vocabulary lacks one of them.
    """
    result = target.hypotheses[0] if isinstance(target, Translation) else target
    if not isinstance(result, Hypothesis):
        return result
    # A served model of subwords sends its words, which are no tokens of a model of words.
    tokens, others = (result.pieces, ()) if in_pieces else (result.tokens, result.pieces)
    has_tokens = tokens and not others and all(token in vocabulary for token in tokens)
    return result if has_tokens else result.text


def tokenized(lines: Iterable[Line], tokenizer: Tokenizer) -> list[list[bytes]]:
    """Split lines into tokens."""
    return tokenizer.tokenize(tf.constant(list(lines), tf.string)).to_list()


def padded(tokens: Sequence[Sequence[Line]]) -> tf.Tensor:
    """Pad B rows of tokens with empty strings: string [B, T]."""
    rows = tf.ragged.constant([list(row) for row in tokens], tf.string, ragged_rank=1)
    return rows.to_tensor("")


def decoded_with_end(tokens: Sequence[Line]) -> tuple[str, ...]:
    """Decode tokens and add `</s>`."""
    return (*(t.decode() if isinstance(t, bytes) else t for t in tokens), "</s>")
