"""Pictures: alignment matrices (Fig. 3) and BLEU over sentence length (Fig. 2)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rnnsearch_tf.evaluation import LengthBin
from rnnsearch_tf.files import replacing
from rnnsearch_tf.translator import Translator

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
    height, width = np.array(alignment.shape) * _INCHES_PER_WORD + 1.4
    figure = Figure((width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.imshow(alignment, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(source_tokens)), _plain(source_tokens), rotation=90)
    axes.set_yticks(range(len(target_tokens)), _plain(target_tokens))
    axes.tick_params(length=0, labelsize=10)
    _save(figure, path)


def draw_translation(path: str | Path, translator: Translator, sentence: str) -> None:
    """Translate a sentence and draw the alignment it was translated by.

    Args:
        path: a PNG file.
        translator: the model.
        sentence: not blank.
    """
    found = {name: x.numpy()[0] for name, x in translator.align(tf.constant([sentence])).items()}
    source, target = (
        [token.decode() for token in found[name]] for name in ("source_tokens", "target_tokens")
    )
    draw_alignment(path, found["alignment"], source, target)


def draw_bleu_by_length(path: str | Path, curves: Mapping[str, Sequence[LengthBin]]) -> None:
    """Draw BLEU over source length, a curve for each system.

    Args:
        path: a PNG file.
        curves: system to bins.
    """
    figure = Figure((6, 4), layout="constrained")
    axes = figure.add_subplot()
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
