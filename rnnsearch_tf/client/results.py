"""Results of a served model, row by row: `rnnsearch_tf.results` from the columns of its answers."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rnnsearch_tf.client.contract import Columns
from rnnsearch_tf.results import (
    Hypothesis,
    Translation,
    received_score,
    received_scores,
    received_weights,
)

_WORDS = ("words", "word_scores")  # exports of version 0.1.0 lack them
_UNKNOWN = "[UNK]"  # what a model reads in place of a token that its vocabulary lacks


class VersionStatus(NamedTuple):
    """A version of a model on a server."""

    version: int
    state: str  # START, LOADING, AVAILABLE, UNLOADING, END
    error_code: str  # OK or the name of a gRPC code
    error_message: str


def translations(lines: Sequence[str], columns: Columns) -> Iterator[Translation]:
    """Read the rows of `serving_default`: texts and scores."""
    for line, text, score in zip(lines, columns["translation"], columns["score"], strict=True):
        yield Translation(line, (), (Hypothesis(text, (), received_score(score), None),))


def n_best_lists(lines: Sequence[str], columns: Columns) -> Iterator[Translation]:
    """Read the rows of `nbest`: several hypotheses, without the empty slots."""
    names = ("translations", "scores", "normalized_scores")
    new = (columns.get(name, [[[]] * len(row) for row in columns["scores"]]) for name in _WORDS)
    for line, *row in zip(lines, *(columns[name] for name in names), *new, strict=True):
        first, *others = (
            _in_words(text, words, word_scores, score, received_score(normalized_score))
            for text, score, normalized_score, words, word_scores in zip(*row, strict=True)
        )
        found = (other for other in others if other.score > -math.inf)
        yield Translation(line, (), (first, *found))


def alignments(lines: Sequence[str], columns: Columns) -> Iterator[Translation]:
    """Read the rows of `align`: tokens and α without padding."""
    import numpy as np  # a client that asks for no alignments does without

    names = ("translation", "score", "source_tokens", "target_tokens", "alignment")
    as_read: Iterable[list[str] | None] = columns.get("model_input", [None] * len(lines))
    each_words = columns.get("word_scores", [[]] * len(lines))
    for line, text, score, source, target, weights, read, word_scores in zip(
        lines, *(columns[name] for name in names), as_read, each_words, strict=True
    ):
        source, target = _unpadded(source), _unpadded(target)
        rows = [row[: len(source)] for row in weights[: len(target)]]
        alignment = np.array(rows, np.float32).reshape(len(target), len(source))
        hypothesis = Hypothesis(
            text, target, received_score(score), None, received_weights(alignment),
            word_scores=received_scores(word_scores[: len(target)]),
        )  # fmt: skip
        unknown = None if read is None else _unknown(source, read)
        yield Translation(line, source, (hypothesis,), unknown)


def _unknown(source: Sequence[str], read: Sequence[str]) -> tuple[int, ...]:
    """Find the words that the model reads as [UNK], or as a word that is spelled like them."""
    each = enumerate(zip(source, read, strict=False))
    return tuple(place for place, (word, other) in each if other == _UNKNOWN or other != word)


def given_in_words(texts: Sequence[str], columns: Columns) -> Iterator[Hypothesis]:
    """Read the rows of `score` with the words of the given translations and their scores."""
    scores = columns["score"]
    new = (columns.get(name, [[]] * len(scores)) for name in _WORDS)
    for text, score, words, word_scores in zip(texts, scores, *new, strict=True):
        yield _in_words(text, words, word_scores, score, None)


def scores(lines: Sequence[str], columns: Columns) -> Iterator[float]:
    """Read the rows of `score`: log p(y|x) in nats."""
    del lines
    return map(received_score, columns["score"])


def _in_words(
    text: str, words: list[str], word_scores: list[float], score: float, normalized: float | None
) -> Hypothesis:
    tokens = _unpadded(words)
    own = received_scores(word_scores[: len(tokens)])
    return Hypothesis(text, tokens, received_score(score), normalized, word_scores=own)


def _unpadded(tokens: list[str]) -> tuple[str, ...]:
    length = len(tokens)
    while length and tokens[length - 1] == "":
        length -= 1
    return tuple(tokens[:length])
