"""BLEU over source length (Fig. 2 of the paper)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.errors import input_errors
from rnnsearch_tf.evaluation.metrics import Reference, bleu, language_tokens, sides
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.limits import Limits

_WIDTH = 10  # words


class LengthBin(NamedTuple):
    """BLEU of the sentences whose source has `low` to `high` words."""

    low: int
    high: int
    sentences: int
    bleu: float  # 0 to 100
    interval: float | None = None  # half of the 95% confidence interval of `bleu`, if it has one
    p_value: float | None = None  # of its difference from another system's, where compared


def length_bins(
    lengths: Sequence[int], bounds: Sequence[int] | None = None
) -> dict[tuple[int, int], list[int]]:
    """Sort sentences into bins by their number of words; empty bins are left out.

    Bins are ten words wide, or have upper `bounds`, above which sentences are left out. A blank one
    is in the first bin. Returns the indices of sentences by (lower, upper) bound, both ascending.
    """
    highs = bounds if bounds is not None else range(_WIDTH, max([1, *lengths]) + _WIDTH, _WIDTH)
    bins = np.searchsorted(highs, lengths)  # the first bin that is not too short
    spans = [(highs[b - 1] + 1 if b else 1, highs[b]) for b in range(len(highs))]
    rows = {span: np.flatnonzero(bins == b).tolist() for b, span in enumerate(spans)}
    return {span: chosen for span, chosen in rows.items() if chosen}


def bleu_by_length(
    translations: Sequence[str],
    references: Sequence[Reference],
    lengths: Sequence[int],
    bounds: Sequence[int] | None = None,
) -> list[LengthBin]:
    """Score each of the `length_bins` by BLEU, with its confidence interval.

    Errors as in `metrics.sides`.
    """
    references, translations, lengths = sides(
        references=references, translations=translations, lengths=lengths
    )
    bins, tokens = [], language_tokens(references)
    for span, rows in length_bins(lengths, bounds).items():
        ours, right = [translations[i] for i in rows], [references[i] for i in rows]
        score = bleu(ours, right, intervals=True, tokens=tokens)
        bins.append(LengthBin(*span, len(rows), score.score, score.interval))
    return bins


def read_by_length(path: str | Path) -> tuple[list[LengthBin], dict[str, list[LengthBin]]]:
    """Read BLEU by source length from a JSON file of `scores.TranslationScores.as_dict`.

    Returns the system's bins, and those of the others it was compared with, by name. InputError
    if the file cannot be read, or is not such a file.
    """
    with input_errors(f"{path}: not what rnnsearch-evaluate --json writes"):
        values = typed(dict[str, Any], read_json(path))
        others = typed(list[dict[str, Any]], values.get("comparisons", []), "comparisons")
        return _bins(values), {typed(str, one.get("other"), "other"): _bins(one) for one in others}


def read_test_set(path: str | Path) -> str | None:
    """Read the test set's SHA-256 from a file as in `read_by_length`; None from version 0.1.0."""
    with input_errors(path):
        return typed(str | None, read_json(path).get("test_set_sha256"), "test_set_sha256")


def _bins(values: dict[str, Any]) -> list[LengthBin]:
    bins = typed(list[LengthBin], values.get("by_length"), "by_length")
    for length_bin in bins:
        # Rounded: sacreBLEU's best score is 100.00000000000004.
        Limits(0, 100).check("bleu", round(length_bin.bleu, 9))
        Limits(0, 100).check("interval", length_bin.interval or 0.0)
    return bins
