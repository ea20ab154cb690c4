"""Results of a served model, row by row: `rnnsearch_tf.results` from its inputs and outputs."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rnnsearch_tf.client.contract import Columns
from rnnsearch_tf.results import (
    Hypothesis,
    Translation,
    received_score,
    received_scores,
    received_weights,
)
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK


class VersionStatus(NamedTuple):
    """A version of a model on a server."""

    version: int
    state: str  # START, LOADING, AVAILABLE, UNLOADING, END
    error_code: str  # OK or the name of a gRPC code
    error_message: str


def translations(columns: Columns) -> Iterator[Translation]:
    """Read the rows of `serving_default`: texts and scores."""
    for line, text, score in _rows(columns, "text", "translation", "score"):
        yield Translation(line, (), (Hypothesis(text, (), received_score(score), None),))


def n_best_lists(columns: Columns) -> Iterator[Translation]:
    """Read the rows of `nbest`: several hypotheses, without the empty slots."""
    names = ("text", "translations", "words", "word_scores", "scores", "normalized_scores")
    for line, *row in _rows(columns, *names):
        each: Iterator[tuple[Any, ...]] = itertools.zip_longest(*row, fillvalue=[])
        first, *others = (
            _in_words(text, words, word_scores, score, received_score(normalized))
            for text, words, word_scores, score, normalized in each
        )
        found = (other for other in others if other.score > -math.inf)
        yield Translation(line, (), (first, *found))


def alignments(columns: Columns) -> Iterator[Translation]:
    """Read the rows of `align`: tokens and α without padding."""
    import numpy as np  # a client that asks for no alignments does without

    names = ("text", "translation", "score", "source_tokens", "target_tokens", "alignment")
    for line, text, score, source, target, weights, read, word_scores in _rows(
        columns, *names, "model_input", "word_scores"
    ):
        source, target = _unpadded(source), _unpadded(target)
        rows = [row[: len(source)] for row in weights[: len(target)]]
        alignment = np.array(rows, np.float32).reshape(len(target), len(source))
        hypothesis = Hypothesis(
            text, target, received_score(score), None, received_weights(alignment),
            word_scores=received_scores(word_scores[: len(target)]),
        )  # fmt: skip
        unknown = _unknown(source, read) if read else None
        yield Translation(line, source, (hypothesis,), unknown)


def _unknown(source: Sequence[str], read: Sequence[str]) -> tuple[int, ...]:
    """Find the words that the model reads as [UNK], or as another word with a similar spelling."""
    each = enumerate(zip(source, read, strict=False))
    return tuple(
        position
        for position, (word, other) in each
        if other == SPECIAL_TOKENS[UNK] or other.lower() != word.lower()
    )


def given_in_words(columns: Columns) -> Iterator[Hypothesis]:
    """Read the rows of `score`: the given translations, their words and scores."""
    for row in _rows(columns, "translation", "words", "word_scores", "score"):
        yield _in_words(*row)


def _rows(columns: Columns, *names: str) -> Iterator[tuple[Any, ...]]:
    """Iterate over the rows of some columns; those that exports of version 0.1.0 lack are empty."""
    missing: list[Any] = [[]] * len(columns["text"])
    return zip(*(columns.get(name, missing) for name in names), strict=True)


def _in_words(
    text: str,
    words: list[str],
    word_scores: list[float],
    score: float,
    normalized: float | None = None,
) -> Hypothesis:
    tokens = _unpadded(words)
    own = received_scores(word_scores[: len(tokens)])
    return Hypothesis(text, tokens, received_score(score), normalized, word_scores=own)


def _unpadded(tokens: list[str]) -> tuple[str, ...]:
    length = len(tokens)
    while length and tokens[length - 1] == "":
        length -= 1
    return tuple(tokens[:length])
