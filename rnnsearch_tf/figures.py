"""Pictures: alignment matrices (Fig. 3) and BLEU over sentence length (Fig. 2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rnnsearch_tf.evaluation import LengthBin
from rnnsearch_tf.files import replacing

_INCHES_PER_WORD = 0.28
_STYLES = ("-", "--", "-.", ":")


def draw_alignment(
    path: str | Path,
    alignment: np.ndarray,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
) -> None:
    """Draw a soft alignment as the paper does: source along the top, black 0, white 1.

    Args:
        path: a PNG file.
        alignment: α, [Ty, Tx].
        source_tokens: Tx words.
        target_tokens: Ty words.
    """
    _save(_alignment_figure(alignment, source_tokens, target_tokens), path)


def paint_alignment(
    alignment: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> np.ndarray:
    """The picture that `draw_alignment` writes, as RGBA uint8 [height, width, 4]."""
    canvas = FigureCanvasAgg(_alignment_figure(alignment, source_tokens, target_tokens))
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def _alignment_figure(
    alignment: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> Figure:
    height, width = np.array(alignment.shape) * _INCHES_PER_WORD + 1.4
    figure = Figure((width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(alignment, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source_tokens)), _plain(source_tokens), rotation=90)
    axes.set_yticks(range(len(target_tokens)), _plain(target_tokens))
    axes.tick_params(length=0, labelsize=10)
    return figure


def draw_bleu_by_length(
    path: str | Path, curves: Mapping[str, Sequence[LengthBin]], marks: Sequence[int] = ()
) -> None:
    """Draw BLEU over source length, a curve for each system.

    Args:
        path: a PNG file.
        curves: system to bins.
        marks: lengths at which an upright line is drawn: the longest in training.
    """
    figure = Figure((6, 4), layout="constrained")
    axes = figure.add_subplot()
    for mark in marks:
        axes.axvline(mark, color="gray", linewidth=0.8, linestyle=":")
        axes.annotate(f"training ≤ {mark}", (mark, 0.02), xycoords=("data", "axes fraction"),
                      rotation=90, fontsize=7, color="gray", ha="right", va="bottom")  # fmt: skip
    for i, (name, bins) in enumerate(curves.items()):
        style = _STYLES[i % len(_STYLES)]
        middles = [(b.low + b.high) / 2 for b in bins]
        axes.plot(middles, [b.bleu for b in bins], style, marker="o", label=name)
    _label_bins(axes, next(iter(curves.values())))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, path)


def _label_bins(axes: Axes, bins: Sequence[LengthBin]) -> None:
    axes.set_xticks([(b.low + b.high) / 2 for b in bins], [f"{b.low}–{b.high}" for b in bins])
    axes.set_xlabel("source length (tokens)")
    axes.set_ylabel("BLEU")


def _plain(tokens: Sequence[str]) -> list[str]:
    """A dollar sign would begin a formula."""
    return [token.replace("$", r"\$") for token in tokens]


def _save(figure: Figure, path: str | Path) -> None:
    FigureCanvasAgg(figure)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, ".png") as temporary:
        figure.savefig(temporary, dpi=110)
