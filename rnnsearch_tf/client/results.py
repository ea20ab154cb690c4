"""What a served model finds, row by row."""

from collections.abc import Iterator
from typing import NamedTuple

from rnnsearch_tf.client.contract import Columns

_NOTHING_FOUND = -3.4e38  # slots of the n-best list that are not filled lie below


class Translation(NamedTuple):
    """A translation and its log p(y|x) in nats."""

    translation: str
    score: float


class Hypothesis(NamedTuple):
    """One of the n best translations."""

    translation: str
    score: float  # log p(y|x) in nats
    normalized_score: float  # what they are ranked by


class Alignment(NamedTuple):
    """A translation with its soft alignment, without padding."""

    translation: str
    score: float  # log p(y|x) in nats
    source_tokens: tuple[str, ...]  # the last one is </s>, as in target_tokens
    target_tokens: tuple[str, ...]
    alignment: tuple[tuple[float, ...], ...]  # for each target token, a weight per source token


class VersionStatus(NamedTuple):
    """A version of a model on a server."""

    version: int
    state: str  # START, LOADING, AVAILABLE, UNLOADING, END
    error_code: str  # OK or the name of a gRPC code
    error_message: str


def translations(columns: Columns) -> Iterator[Translation]:
    """Rows of `serving_default`."""
    return map(Translation, columns["translation"], columns["score"])


def n_best_lists(columns: Columns) -> Iterator[tuple[Hypothesis, ...]]:
    """Rows of `nbest`, best first, without slots for which nothing was found."""
    for row in zip(
        columns["translations"], columns["scores"], columns["normalized_scores"], strict=True
    ):
        yield tuple(found for found in map(Hypothesis, *row) if found.score > _NOTHING_FOUND)


def alignments(columns: Columns) -> Iterator[Alignment]:
    """Rows of `align`."""
    for translation, score, source, target, weights in zip(
        columns["translation"],
        columns["score"],
        columns["source_tokens"],
        columns["target_tokens"],
        columns["alignment"],
        strict=True,
    ):
        source, target = _unpadded(source), _unpadded(target)
        alignment = tuple(tuple(row[: len(source)]) for row in weights[: len(target)])
        yield Alignment(translation, score, source, target, alignment)


def scores(columns: Columns) -> Iterator[float]:
    """Rows of `score`: log p(y|x) in nats."""
    return iter(columns["score"])


def _unpadded(tokens: list[str]) -> tuple[str, ...]:
    length = len(tokens)
    while length and tokens[length - 1] == "":
        length -= 1
    return tuple(tokens[:length])
