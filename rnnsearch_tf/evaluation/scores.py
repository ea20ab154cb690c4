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
    language_tokens,
    reference_sets,
    sides,
    with_interval,
)
from rnnsearch_tf.evaluation.significance import Comparison
from rnnsearch_tf.json_files import plain, typed
from rnnsearch_tf.terminal import columns_of
from rnnsearch_tf.text.tokenizers import Tokenizer

_WIDTH = 80  # columns of the table
_TITLE = 18  # of them, for titles


@dataclasses.dataclass(frozen=True)
class SetScores:
    """Scores of a set of sentences."""

    sentences: int
    scores: dict[str, Score]  # by the metrics' names in `METRICS`

    def __getitem__(self, name: str) -> Score:
        """Return the score by one metric."""
        return self.scores[name]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        return plain({"sentences": self.sentences, **self.scores})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "SetScores":
        """Read what `as_dict` gave; ValueError for other values."""
        scores = {name: value for name, value in values.items() if name != "sentences"}
        sentences = typed(int, values.get("sentences"), "sentences")
        return cls(sentences, typed(dict[str, Score], scores))


def in_words(lines: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Split lines into words and put spaces between these, for metrics over words."""
    joined = tf.strings.reduce_join(tokenize(lines, tokenizer), axis=1, separator=" ")
    return [line.decode() for line in joined.numpy()]


def score_set(
    translations: Sequence[str],
    references: Sequence[Reference],
    tokenizer: Tokenizer,
    rows: Sequence[int] | None = None,
) -> SetScores:
    """Score detokenized translations, all or those of some rows, by every metric.

    Scores have 95% confidence intervals. Errors as in `sides`.
    """
    references, translations = sides(references=references, translations=translations)
    tokens = language_tokens(references)
    if rows is not None:
        translations = [translations[i] for i in rows]
        references = [references[i] for i in rows]
    text = translations, references
    sets = [in_words(lines, tokenizer) for lines in reference_sets(references)]
    words = in_words(translations, tokenizer), list(zip(*sets, strict=True))
    scores = {}
    for name, metric in METRICS.items():
        ours, theirs = words if metric.on_words else text
        score = metric.score(ours, theirs, intervals=True, tokens=tokens)
        if metric.on_words:  # sacreBLEU does not know whose words they are
            name_of_words = tokenizer.name.replace("_tokenizer", "")
            signature = score.signature.replace("tok:none", f"tok:none({name_of_words})")
            score = score._replace(signature=signature)
        scores[name] = score
    return SetScores(len(references), scores)


class TranslationScores(NamedTuple):
    """Scores of a test set."""

    all: SetScores
    no_unknown: SetScores | None  # of sentences without [UNK], also in the reference, if any
    by_length: list[LengthBin]
    replaced: SetScores | None = None  # of all with [UNK] replaced, if that was tried
    comparisons: Sequence[Comparison] = ()  # with other systems
    calibration: Calibration | None = None  # of the next token, where it was measured

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        return plain(
            {
                **self.all.as_dict(),
                "no_unknown": self.no_unknown,
                "unknown_replaced": self.replaced,
                "by_length": self.by_length,
                "comparisons": self.comparisons,
                "calibration": self.calibration,
            }
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"

    def table(self) -> str:
        """Return a table for people."""
        sections = [_sets(self), _by_length(self.by_length)]
        if self.comparisons:
            sections.append(_systems(self))
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
    room = _TITLE - columns_of(title)
    title += " " * room if room >= 0 else f"\n{'':{_TITLE}}"  # else it gets a line
    return title + "".join(f"  {value!s:>16}" for value in values)


def _by_length(bins: Sequence[LengthBin]) -> list[str]:
    rows = [_row(_span(b), (f"{b.sentences:,}", with_interval(b.bleu, b.interval))) for b in bins]
    return [_row("source words", ("sentences", "BLEU")), *rows]


def _systems(scores: TranslationScores) -> list[str]:
    first = scores.comparisons[0].differences
    lines = [
        _row("systems", (METRICS[name].title for name in first)),
        _row("this", (scores.all[name] for name in first)),
    ]
    for comparison in scores.comparisons:
        each = comparison.differences.values()
        others = (with_interval(d.other, d.other_interval) for d in each)
        lines.append(_row(comparison.other, others))
        lines.append(_row("  difference, p", (_change(d.score, d.other, d.p_value) for d in each)))
    lines.append("BLEU by source words")
    for comparison in scores.comparisons:
        lines.append(_row(comparison.other, ("this", "other", "difference, p")))
        for ours, theirs in zip(scores.by_length, comparison.by_length, strict=True):
            change = _change(ours.bleu, theirs.bleu, theirs.p_value)
            both = (with_interval(one.bleu, one.interval) for one in (ours, theirs))
            lines.append(_row(_span(ours), (*both, change)))
    method = f"p by paired bootstrap resampling; BLEU: {first['bleu'].signature}"
    return [*lines, *_wrapped(f"difference: this system minus the other; {method}")]


def _change(score: float, other: float, p_value: float | None) -> str:
    return f"{score - other:+8.2f}  {'–' if p_value is None else format(p_value, '.3f'):>6}"


def _calibration(measured: Calibration) -> list[str]:
    rows = [
        _row(f"p {one.low:.1f}-{one.high:.1f}",
             (f"{one.tokens:,}", f"{one.confidence:.4f}", f"{one.accuracy:.4f}"))
        for one in measured.bins
    ]  # fmt: skip
    error = f"expected calibration error of the next token: {measured.error:.4f}"
    return [error, _row("", ("tokens", "confidence", "accuracy")), *rows]


def _signatures(scores: SetScores) -> list[str]:
    lines = _wrapped(
        "± is half of the 95% confidence interval. It is omitted for a score of 0 and, like p, for "
        f"fewer than {MIN_TO_RESAMPLE} sentences."
    )
    for name, score in scores.scores.items():
        metric = METRICS[name]
        lines += _wrapped(metric.with_note(score.signature), f"{metric.title:{_TITLE}}  ")
    return lines


def _wrapped(text: str, title: str = "") -> list[str]:
    """Break text at spaces, and signatures after "|"."""
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
