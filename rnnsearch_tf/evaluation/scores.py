"""All that is said of a model's translations of a test set: a table for people, and JSON."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.metrics import (
    LengthBin,
    Score,
    bleu,
    bleu_by_length,
    chrf,
    ter,
    tokenized_bleu,
)
from rnnsearch_tf.evaluation.significance import Comparison
from rnnsearch_tf.text.tokenizers import Tokenizer

_NAMES = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER", "tokenized_bleu": "BLEU, tokenised"}
_NOTES = {"ter": " (less is better)", "tokenized_bleu": " (the model's tokens, cased)"}


class SetScores(NamedTuple):
    """Every metric of a set of sentences."""

    sentences: int
    bleu: Score
    chrf: Score
    ter: Score
    tokenized_bleu: Score

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        scores = {name: getattr(self, name)._asdict() for name in _NAMES}
        return {"sentences": self.sentences, **scores}


class TranslationScores(NamedTuple):
    """The scores of a test set.

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
        """For JSON."""
        return {
            **self.all.as_dict(),
            "no_unknown": self.no_unknown.as_dict() if self.no_unknown else None,
            "unknown_replaced": self.replaced.as_dict() if self.replaced else None,
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
            "comparison": self.comparison.as_dict() if self.comparison else None,
        }

    def table(self) -> str:
        """For people."""
        sections = [_sets(self), _by_length(self.all, self.by_length)]
        if self.comparison:
            sections.append(_comparison(self.comparison, self.by_length))
        sections.append(_signatures(self.all))
        return "\n".join("\n".join([*section, ""]) for section in sections)


def score_translations(
    translations: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    known: Sequence[int],
    tokenizer: Tokenizer,
) -> TranslationScores:
    """Score translations against references, with 95% confidence intervals.

    Args:
        translations: detokenised text.
        references: likewise.
        lengths: tokens of each source sentence, without `</s>`.
        known: which sentences have no unknown word, from 0.
        tokenizer: of the target language.
    """
    of_known = [translations[i] for i in known], [references[i] for i in known]
    return TranslationScores(
        score_set(translations, references, tokenizer),
        score_set(*of_known, tokenizer) if known else None,
        bleu_by_length(translations, references, lengths, intervals=True),
    )


def read_by_length(path: str | Path) -> tuple[list[LengthBin], dict[str, list[LengthBin]]]:
    """Read BLEU by source length from a file of what `as_dict` gives, as JSON.

    Returns:
        The system's bins; and the other system's by its name, where there is one.

    Raises:
        InputError: the file cannot be read, or is not such a file.
    """
    try:
        values = json.loads(Path(path).read_text("utf-8"))
        comparison = values.get("comparison")
        others = {comparison["other"]: _bins(comparison)} if comparison else {}
        return _bins(values), others
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: not what rnnsearch-evaluate --json writes") from error


def _bins(values: dict[str, Any]) -> list[LengthBin]:
    return [LengthBin(**fields) for fields in values["by_length"]]


def score_set(
    translations: Sequence[str], references: Sequence[str], tokenizer: Tokenizer
) -> SetScores:
    """Every metric, with 95% confidence intervals; arguments as `score_translations`."""
    return SetScores(
        len(references),
        bleu(translations, references, intervals=True),
        chrf(translations, references, intervals=True),
        ter(translations, references, intervals=True),
        tokenized_bleu(translations, references, tokenizer, intervals=True),
    )


# --- the table ------------------------------------------------------------------------------------


def _sets(scores: TranslationScores) -> list[str]:
    head = "".join(f"  {title:>15}" for title in _NAMES.values())
    rows = {
        "all": scores.all,
        "[UNK] replaced": scores.replaced,
        "no unknown words": scores.no_unknown,
    }
    return [
        f"{'':16}  sentences{head}",
        *(f"{title:16}  {row.sentences:9,}{_row(row)}" for title, row in rows.items() if row),
    ]


def _row(found: SetScores) -> str:
    scores = (getattr(found, name) for name in _NAMES)
    return "".join(f"  {_with_interval(score.score, score.interval):>15}" for score in scores)


def _by_length(whole: SetScores, bins: Sequence[LengthBin]) -> list[str]:
    rows = [
        f"{_span(b):16}  {b.sentences:9,}  {_with_interval(b.bleu, b.interval):>15}" for b in bins
    ]
    return [f"{'source tokens':16}  sentences  {'BLEU':>15}", *rows]


def _comparison(found: Comparison, bins: Sequence[LengthBin]) -> list[str]:
    differences = [
        _difference(_NAMES[name], d.score, d.other, d.p_value)
        for name, d in found.differences().items()
    ]
    by_length = [
        _difference(_span(ours), ours.bleu, theirs.bleu, theirs.p_value)
        for ours, theirs in zip(bins, found.by_length, strict=True)
    ]
    return [
        f"{'':16}  {'this':>9}  {'other':>9}  difference  {'p':>6}   other: {found.other}",
        *differences,
        "BLEU by source tokens",
        *by_length,
        f"p by paired bootstrap resampling; BLEU: {found.bleu.signature}",
    ]


def _difference(title: str, score: float, other: float, p_value: float | None) -> str:
    p = "–" if p_value is None else f"{p_value:.3f}"
    return f"{title:16}  {score:9.2f}  {other:9.2f}  {score - other:+10.2f}  {p:>6}"


def _signatures(whole: SetScores) -> list[str]:
    return [
        "± is half of the 95% confidence interval.",
        *(
            f"{title:16}  {getattr(whole, name).signature}{_NOTES.get(name, '')}"
            for name, title in _NAMES.items()
        ),
    ]


def _span(length_bin: LengthBin) -> str:
    return f"{length_bin.low}-{length_bin.high}"


def _with_interval(score: float, interval: float | None) -> str:
    return f"{score:.2f}" + (f" ± {interval:.2f}" if interval is not None else "")
