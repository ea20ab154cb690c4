"""Plots of BLEU over source length (Fig. 2 of the paper), of training runs, and of calibration."""

import contextlib
import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.calibration import Calibration
from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.terminal import columns_of
from rnnsearch_tf.visualization.fonts import figure_fonts
from rnnsearch_tf.visualization.image_files import (
    INK,
    PAGE,
    SVG,
    drawable,
    image_format,
    save_figure,
)

SIGNIFICANT = 0.05  # a p-value below it is
# Colors that stand out against white and black, and apart for the color-blind.
_COLORS = ("#2a7fc0", "#d55e00", "#009e73", "#b95c94", "#808080", "#a6611a")
_STYLES = ("-", "--", "-.", ":")
_MARKS = "os^Dv"
_BETWEEN_BARS = 0.5  # words, so that the systems' bars stand beside each other
_WIDTH = 4.5  # inches: words of 10 points are still 7 points in a column of 80 mm
_RESOLUTION = 250  # dots per inch of a PNG
_LETTER = 0.026  # of the axis, the width of a letter of a label
_LABELS = 12  # that two lines have room for
_LONG_NAME = 24  # letters; the legend has one column for longer names
_LEGEND_WIDTH = 50  # letters of a line
_LEGEND_LINES, _LEGEND_LINE = 4, 0.19  # that there is room for; inches of each more


def draw_bleu_by_length(
    path: str | Path,
    curves: Mapping[str, Sequence[LengthBin]],
    marks: Sequence[int] = (),
    compared: Collection[str] = (),  # names of curves whose p-values were asked for
) -> None:
    """Draw BLEU over source length, a curve for each system.

    Bars show the 95% confidence intervals of the bins that have one. In the curve of a system that
    was compared with another, bins without a significant difference (p ≥ 0.05, or too few sentences
    for a p-value) have hollow marks. Vertical lines mark lengths, such as the maximum in training.
    The path ends in .png, .svg or .pdf. InputError for a curve without bins.
    """
    with _fonts(path, curves) as fonts:
        figure = _new_figure(3.4)
        axes = figure.add_subplot()
        for i, (name, curve) in enumerate(curves.items()):
            offset = _BETWEEN_BARS * (i - (len(curves) - 1) / 2)
            _draw_bins(axes, curve, i, offset, name, name in compared)
            if not curve:
                raise InputError(f"{name}: no BLEU by length to draw")
        bins = [b for curve in curves.values() for b in curve]
        _label_bins(axes, bins, marks)
        axes.set_ylim(bottom=0)
        marks = sorted(marks)
        for mark in marks:
            axes.axvline(mark, color=INK, linewidth=0.8, linestyle=":")
        labels = [f"training ≤ {mark}" for mark in marks]
        lines = _lines(axes, marks, labels)
        for mark, label, line in zip(marks, labels, lines, strict=True):
            axes.annotate(label, (mark, 1), (0, 3 + 10 * line), ("data", "axes fraction"),
                          "offset points", fontsize=8, ha="center")  # fmt: skip
        _finish(figure, path, fonts, _legend_title(bins, bool(compared)))


def draw_training(
    path: str | Path,
    logs: Mapping[str, Sequence[Mapping[str, Any]]],
    regularized: Collection[str] = (),  # names of training runs whose loss is not −log p alone
) -> None:
    """Draw −log p per token, and BLEU on the validation set, over updates.

    These are `train_nll_per_token` (dashed), `nll_per_token` and `bleu` of each training run's
    `ModelDirectory.read_log`. With label smoothing or R-Drop, the first is a loss with these terms,
    and labeled as such. InputError for a run with nothing to draw.
    """
    with _fonts(path, logs) as fonts:
        figure = _new_figure(5)
        nll_axes, bleu_axes = figure.subplots(2, 1, sharex=True)
        for i, (name, records) in enumerate(logs.items()):
            solid = {**_look(i), "linestyle": "-", "markersize": 3}
            dashed = {**solid, "linestyle": "--"}
            loss = "training loss" if name in regularized else "training"
            training, validation = _plain(f"{name}, {loss}"), _plain(f"{name}, validation")
            drawn = [
                _draw_field(nll_axes, records, "train_nll_per_token", **dashed, label=training),
                _draw_field(nll_axes, records, "nll_per_token", **solid, label=validation),
                _draw_field(bleu_axes, records, "bleu", **solid),
            ]
            if not any(drawn):
                raise InputError(f"{name}: no evaluation to draw")
        nll_axes.set_ylabel("−log p (nats per token)")
        bleu_axes.set(xlabel="updates", ylabel="BLEU (validation set)")
        bleu_axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, min_n_ticks=1))
        bleu_axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        _finish(figure, path, fonts)


def draw_reliability(path: str | Path, measured: Mapping[str, Calibration]) -> None:
    """Draw a reliability diagram: accuracy over mean probability, bin by bin, for each system.

    A calibrated system's points are on the dotted diagonal; below it, a system is too confident.
    The legend has the expected calibration errors.
    """
    with _fonts(path, measured) as fonts:
        figure = _new_figure(4.5)
        axes = figure.add_subplot()
        axes.plot([0, 1], [0, 1], ":", color=INK, linewidth=0.8)
        for i, (name, one) in enumerate(measured.items()):
            points = [b.confidence for b in one.bins], [b.accuracy for b in one.bins]
            label = _plain(f"{name}: ECE {one.error:.3f}")
            axes.plot(*points, **_look(i), label=label)
        axes.set(xlabel="confidence (probability of the predicted token)", ylabel="accuracy",
                 xlim=(0, 1), ylim=(0, 1))  # fmt: skip
        _finish(figure, path, fonts)


def _new_figure(height: float) -> Figure:
    return Figure((_WIDTH, height), dpi=_RESOLUTION, layout="constrained")


def _fonts(path: str | Path, names: Iterable[str]) -> contextlib.AbstractContextManager[list[str]]:
    """Draw in our colors, with the fonts that the names need; an SVG uses its viewer's fonts."""
    return figure_fonts([] if image_format(path) == SVG else names)


def _finish(figure: Figure, path: str | Path, fonts: list[str], title: str | None = None) -> None:
    """Add grids, and a legend above the axes, where it covers no data, and write the picture."""
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    handles, names = figure.axes[0].get_legend_handles_labels()
    columns = 1 if max(map(columns_of, names), default=0) > _LONG_NAME else 2
    names = [_wrapped(name) for name in names]
    lines = sum(name.count("\n") + 1 for name in names) / columns
    figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * max(lines - _LEGEND_LINES, 0))
    figure.legend(handles, names, loc="outside upper left", ncols=columns, frameon=False,
                  prop={"family": fonts, "size": 9}, title=title, title_fontsize=8,
                  alignment="left", handlelength=3)  # fmt: skip
    save_figure(figure, path)


def _wrapped(name: str) -> str:
    """Break a name into lines that the figure has room for."""
    return textwrap.fill(name, _LEGEND_WIDTH * len(name) // max(columns_of(name), 1))


def _plain(name: str) -> str:
    """Replace what cannot be drawn or Matplotlib reads as mathematics or an absent label."""
    escaped = drawable(name).replace("$", r"\$")
    return f" {escaped}" if name.startswith("_") else escaped


def _draw_bins(
    axes: Axes, bins: Sequence[LengthBin], i: int, offset: float, name: str, is_compared: bool
) -> None:
    """Draw the i-th system's bins, moved to the right by `offset` words."""
    look = _look(i)
    axes.plot(*_points(bins, offset), **look, label=_plain(name))
    measured = [b for b in bins if b.interval is not None]
    if measured:
        intervals = [b.interval for b in measured]
        axes.errorbar(*_points(measured, offset), yerr=intervals, fmt="none",
                      ecolor=look["color"], elinewidth=1.2, capsize=3)  # fmt: skip
    if is_compared:
        alike = [b for b in bins if b.p_value is None or b.p_value >= SIGNIFICANT]
        hollow = {**look, "linestyle": "", "markerfacecolor": PAGE}
        axes.plot(*_points(alike, offset), **hollow, zorder=3)


def _look(i: int) -> dict[str, Any]:
    """Return color, line and mark of the i-th curve."""
    color, style = _COLORS[i % len(_COLORS)], _STYLES[i % len(_STYLES)]
    return {"color": color, "linestyle": style, "marker": _MARKS[i % len(_MARKS)], "markersize": 5}


def _points(bins: Sequence[LengthBin], offset: float) -> tuple[list[float], list[float]]:
    return [(b.low + b.high) / 2 + offset for b in bins], [b.bleu for b in bins]


def _legend_title(bins: Sequence[LengthBin], has_compared: bool) -> str | None:
    parts = []
    if any(b.interval is not None for b in bins):
        parts.append("bars: 95% confidence intervals")
    if has_compared:
        parts.append(f"hollow: p ≥ {SIGNIFICANT}, or too few sentences")
    return "\n".join(parts) or None


def _label_bins(axes: Axes, bins: Sequence[LengthBin], marks: Sequence[int]) -> None:
    """Label the bins on the axis, those that two lines have room for."""
    spans = sorted({(b.low, b.high) for b in bins})
    if len(spans) == 1:  # else systems would be at opposite edges
        axes.set_xlim(spans[0][0], max(spans[0][1], *marks, 0))
    spans = spans[:: max(math.ceil(len(spans) / _LABELS), 1)]
    positions = [(low + high) / 2 for low, high in spans]
    labels = [f"{low}–{high}" for low, high in spans]
    lines = _lines(axes, positions, labels)
    placed = zip(labels, lines, strict=True)
    axes.set_xticks(positions, ["\n" * n + label if n < 2 else "" for label, n in placed])
    axes.set(xlabel="source length (words)", ylabel="BLEU")


def _lines(axes: Axes, positions: Sequence[float], labels: Sequence[str]) -> list[int]:
    """Return for each label, from left to right, the first line that has room for it."""
    left, right = axes.get_xlim()
    ends: list[float] = []  # of the last label of each line
    lines = []
    for position, label in zip(positions, labels, strict=True):
        half = _LETTER * len(label) * (right - left) / 2
        line = next((n for n, end in enumerate(ends) if end <= position - half), len(ends))
        ends[line : line + 1] = [position + half]
        lines.append(line)
    return lines


def _draw_field(axes: Axes, records: Sequence[Mapping[str, Any]], field: str, **look: Any) -> bool:
    """Draw a field of a training run's evaluations that have it; return whether any has."""
    points = [(record["updates"], record[field]) for record in records if field in record]
    if points:
        axes.plot(*zip(*points, strict=True), **look)
    return bool(points)
