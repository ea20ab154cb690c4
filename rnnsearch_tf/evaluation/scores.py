"""Scores of a test set: a table for people, and JSON."""

import dataclasses
import html
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.evaluation.calibration import Calibration
from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.metrics import (
    METRICS,
    MIN_TO_RESAMPLE,
    Reference,
    Score,
    reference_sets,
    with_interval,
)
from rnnsearch_tf.evaluation.significance import Comparison
from rnnsearch_tf.json_files import typed
from rnnsearch_tf.text.tokenizers import Tokenizer

_WIDTH = 80  # columns of the table


@dataclasses.dataclass(frozen=True)
class SetScores:
    """Scores of a set of sentences."""

    sentences: int
    scores: dict[str, Score]  # by the metrics' names in `METRICS`

    def __getitem__(self, name: str) -> Score:
        """Return the score by one metric."""
        return self.scores[name]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        scores = {name: score._asdict() for name, score in self.scores.items()}
        return {"sentences": self.sentences, **scores}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SetScores":
        """Read what `as_dict` gave; ValueError for other values."""
        scores = {name: value for name, value in values.items() if name != "sentences"}
        sentences = typed(int, values.get("sentences"), "sentences")
        return cls(sentences, typed(dict[str, Score], scores))


def in_words(lines: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Split lines into words and put blanks between these, for metrics over words."""
    joined = tf.strings.reduce_join(tokenize(lines, tokenizer), axis=1, separator=" ")
    return [line.decode() for line in joined.numpy()]


def references_in_words(references: Sequence[Reference], tokenizer: Tokenizer) -> list[Reference]:
    """Split references as `in_words` splits lines."""
    sets = [in_words(lines, tokenizer) for lines in reference_sets(references)]
    return list(zip(*sets, strict=True))


def score_set(
    translations: Sequence[str], references: Sequence[Reference], tokenizer: Tokenizer
) -> SetScores:
    """Score detokenised translations by every metric, with 95% confidence intervals."""
    text = translations, references
    words = in_words(translations, tokenizer), references_in_words(references, tokenizer)
    scores = {}
    for name, metric in METRICS.items():
        ours, theirs = words if metric.on_words else text
        scores[name] = metric.score(ours, theirs, intervals=True)
    return SetScores(len(references), scores)


class TranslationScores(NamedTuple):
    """Scores of a test set."""

    all: SetScores
    no_unknown: SetScores | None  # of sentences without [UNK], also in the reference, if any
    by_length: list[LengthBin]
    replaced: SetScores | None = None  # of all with [UNK] replaced, where that was tried
    comparison: Comparison | None = None  # with another system, where one was given
    calibration: Calibration | None = None  # of the next token, where it was measured

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {
            **self.all.as_dict(),
            "no_unknown": self.no_unknown.as_dict() if self.no_unknown else None,
            "unknown_replaced": self.replaced.as_dict() if self.replaced else None,
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
            "comparison": self.comparison.as_dict() if self.comparison else None,
            "calibration": self.calibration and self._calibration(self.calibration),
        }

    @staticmethod
    def _calibration(measured: Calibration) -> dict[str, Any]:
        return {**measured._asdict(), "bins": [one._asdict() for one in measured.bins]}

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def table(self) -> str:
        """Return a table for people."""
        sections = [_sets(self), _by_length(self.by_length)]
        if self.comparison:
            sections.append(_comparison(self.comparison, self.by_length))
        if self.calibration:
            sections.append(_calibration(self.calibration))
        sections.append(_signatures(self.all))
        return "\n".join("\n".join([*section, ""]) for section in sections)


# --- the table ------------------------------------------------------------------------------------


def _sets(scores: TranslationScores) -> list[str]:
    columns = {
        "all": scores.all,
        "[UNK] replaced": scores.replaced,
        "no unknown words": scores.no_unknown,
    }
    sets = [column for column in columns.values() if column]
    return [
        _row("", (title for title, column in columns.items() if column)),
        _row("sentences", (f"{one.sentences:,}" for one in sets)),
        *(_row(METRICS[n].title, (one[n] for one in sets)) for n in scores.all.scores),
    ]


def _row(title: str, values: Iterable[object]) -> str:
    return f"{title:16}" + "".join(f"  {value!s:>16}" for value in values)


def _by_length(bins: Sequence[LengthBin]) -> list[str]:
    rows = [_row(_span(b), (f"{b.sentences:,}", with_interval(b.bleu, b.interval))) for b in bins]
    return [_row("source tokens", ("sentences", "BLEU")), *rows]


def _comparison(comparison: Comparison, bins: Sequence[LengthBin]) -> list[str]:
    differences = [
        _difference(METRICS[name].title, d.score, d.other, d.p_value)
        for name, d in comparison.differences.items()
    ]
    by_length = [
        _difference(_span(ours), ours.bleu, theirs.bleu, theirs.p_value)
        for ours, theirs in zip(bins, comparison.by_length, strict=True)
    ]
    method = f"p by paired bootstrap resampling; BLEU: {comparison.differences['bleu'].signature}"
    return [
        f"other: {comparison.other}",
        f"{'':16}  {'this':>9}  {'other':>9}  difference  {'p':>6}",
        *differences,
        "BLEU by source tokens",
        *by_length,
        *_wrapped(method),
    ]


def _difference(title: str, score: float, other: float, p_value: float | None) -> str:
    p = "–" if p_value is None else f"{p_value:.3f}"
    return f"{title:16}  {score:9.2f}  {other:9.2f}  {score - other:+10.2f}  {p:>6}"


def _calibration(measured: Calibration) -> list[str]:
    rows = [
        _row(f"p {one.low:.1f}-{one.high:.1f}",
             (f"{one.tokens:,}", f"{one.confidence:.4f}", f"{one.accuracy:.4f}"))
        for one in measured.bins
    ]  # fmt: skip
    error = f"expected calibration error of the next token: {measured.error:.4f}"
    return [error, _row("", ("tokens", "mean p", "right")), *rows]


def _signatures(scores: SetScores) -> list[str]:
    lines = _wrapped(
        "± is half of the 95% confidence interval; there is none of fewer than "
        f"{MIN_TO_RESAMPLE} sentences, nor of a BLEU of 0, and no p of so few."
    )
    for name, score in scores.scores.items():
        metric = METRICS[name]
        lines += _wrapped(metric.with_note(score.signature), f"{metric.title:16}  ")
    return lines


def _wrapped(text: str, title: str = "") -> list[str]:
    """Break text at blanks, and signatures behind "|"."""
    lines = textwrap.wrap(
        text.replace("|", "| "),
        _WIDTH,
        initial_indent=title,
        subsequent_indent=" " * len(title),
        break_long_words=False,
    )
    return [line.replace("| ", "|") for line in lines]


def _span(length_bin: LengthBin) -> str:
    return f"{length_bin.low}-{length_bin.high}"
