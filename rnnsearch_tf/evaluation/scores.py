"""Scores of a test set: a table for people, and JSON."""

import dataclasses
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.metrics import (
    METRICS,
    MIN_TO_RESAMPLE,
    Reference,
    Score,
    in_words,
    references_in_words,
    with_interval,
)
from rnnsearch_tf.evaluation.significance import Comparison
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.limits import Limits
from rnnsearch_tf.text.tokenizers import Tokenizer


@dataclasses.dataclass(frozen=True)
class SetScores:
    """Scores of a set of sentences.

    Attributes:
        sentences: their number.
        scores: by the metrics' names in `METRICS`.
    """

    sentences: int
    scores: dict[str, Score]

    def __getitem__(self, name: str) -> Score:
        """Return the score by one metric."""
        return self.scores[name]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        scores = {name: score._asdict() for name, score in self.scores.items()}
        return {"sentences": self.sentences, **scores}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SetScores":
        """Read what `as_dict` gave.

        Raises:
            ValueError: other values.
        """
        scores = {name: value for name, value in values.items() if name != "sentences"}
        sentences = typed(int, values.get("sentences"), "sentences")
        return cls(sentences, typed(dict[str, Score], scores))


def score_set(
    translations: Sequence[str], references: Sequence[Reference], tokenizer: Tokenizer
) -> SetScores:
    """Score a set of sentences by every metric, with 95% confidence intervals.

    Args:
        translations: detokenised text.
        references: likewise, one or several of each sentence.
        tokenizer: splits the target language into words.
    """
    text = translations, references
    words = in_words(translations, tokenizer), references_in_words(references, tokenizer)
    scores = {}
    for name, metric in METRICS.items():
        ours, theirs = words if metric.on_words else text
        scores[name] = metric.score(ours, theirs, intervals=True)
    return SetScores(len(references), scores)


class TranslationScores(NamedTuple):
    """Scores of a test set.

    Attributes:
        all: of all sentences.
        no_unknown: of those without unknown words in themselves and in the reference; None
            without such.
        by_length: BLEU over source length.
        replaced: of all sentences with [UNK] replaced, where that was tried.
        comparison: with another system, where one was given.
    """

    all: SetScores
    no_unknown: SetScores | None
    by_length: list[LengthBin]
    replaced: SetScores | None = None
    comparison: Comparison | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            **self.all.as_dict(),
            "no_unknown": self.no_unknown.as_dict() if self.no_unknown else None,
            "unknown_replaced": self.replaced.as_dict() if self.replaced else None,
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
            "comparison": self.comparison.as_dict() if self.comparison else None,
        }

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def table(self) -> str:
        """Return a table for people."""
        sections = [_sets(self), _by_length(self.by_length)]
        if self.comparison:
            sections.append(_comparison(self.comparison, self.by_length))
        sections.append(_signatures(self.all))
        return "\n".join("\n".join([*section, ""]) for section in sections)


def read_by_length(path: str | Path) -> tuple[list[LengthBin], dict[str, list[LengthBin]]]:
    """Read BLEU by source length from a JSON file of `TranslationScores.as_dict`.

    Returns:
        The system's bins; and the other system's by its name, where there is one.

    Raises:
        InputError: the file cannot be read, or is not such a file.
    """
    try:
        values = typed(dict[str, Any], read_json(path))
        comparison = typed(dict[str, Any] | None, values.get("comparison"), "comparison")
        others = {}
        if comparison:
            others[typed(str, comparison.get("other"), "other")] = _bins(comparison)
        return _bins(values), others
    except ValueError as error:
        raise InputError(f"{path}: not what rnnsearch-evaluate --json writes: {error}") from error


def _bins(values: dict[str, Any]) -> list[LengthBin]:
    bins = typed(list[LengthBin], values.get("by_length"), "by_length")
    for length_bin in bins:
        # Rounded: sacreBLEU's best score is 100.00000000000004.
        Limits(0, 100).check("bleu", round(length_bin.bleu, 9))
        Limits(0, 100).check("interval", length_bin.interval or 0.0)
    return bins


# --- the table ------------------------------------------------------------------------------------


def _sets(scores: TranslationScores) -> list[str]:
    titles = (METRICS[name].title for name in scores.all.scores)
    rows = {
        "all": scores.all,
        "[UNK] replaced": scores.replaced,
        "no unknown words": scores.no_unknown,
    }
    return [
        f"{'':16}  sentences{_cells(titles)}",
        *(
            f"{title:16}  {row.sentences:9,}{_cells(row.scores.values())}"
            for title, row in rows.items()
            if row
        ),
    ]


def _cells(values: Iterable[object]) -> str:
    return "".join(f"  {value!s:>15}" for value in values)


def _by_length(bins: Sequence[LengthBin]) -> list[str]:
    rows = [
        f"{_span(b):16}  {b.sentences:9,}{_cells([with_interval(b.bleu, b.interval)])}"
        for b in bins
    ]
    return [f"{'source tokens':16}  sentences{_cells(['BLEU'])}", *rows]


def _comparison(comparison: Comparison, bins: Sequence[LengthBin]) -> list[str]:
    differences = [
        _difference(METRICS[name].title, d.score, d.other, d.p_value)
        for name, d in comparison.differences.items()
    ]
    by_length = [
        _difference(_span(ours), ours.bleu, theirs.bleu, theirs.p_value)
        for ours, theirs in zip(bins, comparison.by_length, strict=True)
    ]
    return [
        f"{'':16}  {'this':>9}  {'other':>9}  difference  {'p':>6}   other: {comparison.other}",
        *differences,
        "BLEU by source tokens",
        *by_length,
        f"p by paired bootstrap resampling; BLEU: {comparison.differences['bleu'].signature}",
    ]


def _difference(title: str, score: float, other: float, p_value: float | None) -> str:
    p = "–" if p_value is None else f"{p_value:.3f}"
    return f"{title:16}  {score:9.2f}  {other:9.2f}  {score - other:+10.2f}  {p:>6}"


def _signatures(scores: SetScores) -> list[str]:
    metrics = [(METRICS[name], score.signature) for name, score in scores.scores.items()]
    return [
        "± is half of the 95% confidence interval; there is none of fewer than "
        f"{MIN_TO_RESAMPLE} sentences, nor of a BLEU of 0, and no p of so few.",
        *(f"{metric.title:16}  {metric.with_note(signature)}" for metric, signature in metrics),
    ]


def _span(length_bin: LengthBin) -> str:
    return f"{length_bin.low}-{length_bin.high}"
