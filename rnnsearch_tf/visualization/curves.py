"""Plots of BLEU over source length (Fig. 2 of the paper) and of trainings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.visualization.image_files import RESOLUTION, save_figure

SIGNIFICANT = 0.05  # a p-value below it is
_STYLES = ("-", "--", "-.", ":")
_BETWEEN_BARS = 0.4  # tokens, so that the systems' bars stand beside each other


def draw_bleu_by_length(
    path: str | Path, curves: Mapping[str, Sequence[LengthBin]], marks: Sequence[int] = ()
) -> None:
    """Draw BLEU over source length, a curve for each system.

    The bins' 95% confidence intervals, where they have them, are drawn as bars. Of a system with
    p-values, the bins that do not differ significantly from the system it was compared with
    (p ≥ 0.05, or too few sentences for a p-value) have hollow marks.

    Args:
        path: ends in .png or .svg.
        curves: system to bins; the bins' bounds may differ.
        marks: lengths at which a vertical line is drawn: the maximum in training.

    Raises:
        InputError: another ending.
    """
    figure = Figure((6, 4), dpi=RESOLUTION, layout="constrained")
    axes = figure.add_subplot()
    for mark in marks:
        axes.axvline(mark, color="gray", linewidth=0.8, linestyle=":")
        axes.annotate(f"training ≤ {mark}", (mark, 0.02), xycoords=("data", "axes fraction"),
                      rotation=90, fontsize=7, color="gray", ha="right", va="bottom")  # fmt: skip
    for i, (name, curve) in enumerate(curves.items()):
        offset = _BETWEEN_BARS * (i - (len(curves) - 1) / 2)
        _draw_bins(axes, curve, f"C{i}{_STYLES[i % len(_STYLES)]}", offset, name)
    bins = [b for curve in curves.values() for b in curve]
    _label_bins(axes, bins)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(title=_legend_title(bins), title_fontsize=7)
    save_figure(figure, path)


def draw_training(path: str | Path, logs: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Draw −log p per token, and BLEU on the validation set, over updates.

    Args:
        path: ends in .png or .svg.
        logs: training to its evaluations, as `ModelDirectory.read_log` gives them. Drawn over
            `updates` are `train_nll_per_token` (dashed), `nll_per_token` and `bleu`, in nats per
            token and 0 to 100, where an evaluation has them.

    Raises:
        InputError: another ending, or nothing to draw of a training.
    """
    figure = Figure((10, 4), dpi=RESOLUTION, layout="constrained")
    nll_axes, bleu_axes = figure.subplots(1, 2)
    for i, (name, records) in enumerate(logs.items()):
        color = f"C{i}"
        drawn = [
            _draw_field(
                nll_axes, records, "train_nll_per_token", f"{color}--", f"{name}, training"
            ),
            _draw_field(nll_axes, records, "nll_per_token", f"{color}-", f"{name}, validation"),
            _draw_field(bleu_axes, records, "bleu", f"{color}-", name),
        ]
        if not any(drawn):
            raise InputError(f"{name}: no evaluation to draw")
    nll_axes.set_ylabel("−log p per token (nats)")
    bleu_axes.set_ylabel("BLEU on the validation set")
    for axes in (nll_axes, bleu_axes):
        axes.set_xlabel("updates")
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    save_figure(figure, path)


def _draw_bins(axes: Axes, bins: Sequence[LengthBin], style: str, offset: float, name: str) -> None:
    (line,) = axes.plot(*_points(bins, offset), style, marker="o", label=name)
    color = line.get_color()
    measured = [b for b in bins if b.interval is not None]
    if measured:
        intervals = [b.interval for b in measured]
        axes.errorbar(*_points(measured, offset), yerr=intervals, fmt="none", ecolor=color,
                      elinewidth=1, capsize=3)  # fmt: skip
    if any(b.p_value is not None for b in bins):
        alike = [b for b in bins if b.p_value is None or b.p_value >= SIGNIFICANT]
        axes.plot(*_points(alike, offset), "o", color=color, markerfacecolor="white", zorder=3)


def _points(bins: Sequence[LengthBin], offset: float) -> tuple[list[float], list[float]]:
    return [(b.low + b.high) / 2 + offset for b in bins], [b.bleu for b in bins]


def _legend_title(bins: Sequence[LengthBin]) -> str | None:
    parts = []
    if any(b.interval is not None for b in bins):
        parts.append("bars: 95% confidence")
    if any(b.p_value is not None for b in bins):
        parts.append(f"hollow: p ≥ {SIGNIFICANT}, or too few sentences")
    return "\n".join(parts) or None


def _label_bins(axes: Axes, bins: Sequence[LengthBin]) -> None:
    spans = sorted({(b.low, b.high) for b in bins})
    places = [(low + high) / 2 for low, high in spans]
    axes.set_xticks(places, [f"{low}–{high}" for low, high in spans])
    axes.set_xlabel("source length (tokens)")
    axes.set_ylabel("BLEU")


def _draw_field(
    axes: Axes, records: Sequence[Mapping[str, Any]], field: str, style: str, label: str
) -> bool:
    """Draw a field of the evaluations that have it, and return whether any has."""
    points = [(record["updates"], record[field]) for record in records if field in record]
    if points:
        axes.plot(*zip(*points, strict=True), style, marker=".", label=label)
    return bool(points)
