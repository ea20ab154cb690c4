"""BLEU over source length (Fig. 2 of the paper)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.evaluation.metrics import Reference, bleu


class LengthBin(NamedTuple):
    """BLEU of the sentences whose source has `low` to `high` words."""

    low: int
    high: int
    sentences: int
    bleu: float  # 0 to 100
    interval: float | None = None  # half of the 95% confidence interval of `bleu`, where asked for
    p_value: float | None = None  # of its difference from another system's, where compared


def length_bins(
    lengths: Sequence[int], width: int = 10, bounds: Sequence[int] | None = None
) -> dict[tuple[int, int], list[int]]:
    """Sort sentences into bins by their words; empty bins are left out.

    Bins have one width, or upper `bounds`; longer sentences are left out then. Returns the indices
    of sentences by (lower, upper) bound, both ascending.
    """
    highs = bounds if bounds is not None else range(width, max([1, *lengths]) + width, width)
    bins = np.searchsorted(highs, lengths)  # the first bin that is not too short
    spans = [(highs[b - 1] + 1 if b else 1, highs[b]) for b in range(len(highs))]
    rows = {span: np.flatnonzero(bins == b).tolist() for b, span in enumerate(spans)}
    return {span: chosen for span, chosen in rows.items() if chosen}


def bleu_by_length(
    translations: Sequence[str],
    references: Sequence[Reference],
    lengths: Sequence[int],
    width: int = 10,
    bounds: Sequence[int] | None = None,
    intervals: bool = False,
) -> list[LengthBin]:
    """Score each of the `length_bins` by BLEU, with its confidence interval where asked for."""
    bins = []
    for span, rows in length_bins(lengths, width, bounds).items():
        score = bleu([translations[i] for i in rows], [references[i] for i in rows], intervals)
        bins.append(LengthBin(*span, len(rows), score.score, score.interval))
    return bins
