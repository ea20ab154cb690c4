"""Pictures of soft alignments (Fig. 3 of the paper)."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.visualization import image_files
from rnnsearch_tf.visualization.alignment_page import AlignedSentence, alignment_page, write_page
from rnnsearch_tf.visualization.image_files import HTML, PDF, PNG, SVG

if TYPE_CHECKING:  # Matplotlib is optional: an HTML page is made without it
    from matplotlib.figure import Figure

_CELL = 0.2  # inches
_MARGIN = 0.08  # inches, around the matrix and its words
_POINTS = 10  # the words' size
_MAX_WORD = 40  # letters; longer words are cut
MAX_PIXELS = 64_000_000  # of a PNG
_MAX_SIDE = 30_000  # pixels
_RESOLUTION = 150  # dots per inch of a PNG
_MIN_RESOLUTION = 40  # dots per inch, at which 10 points are 5 to 6 pixels


def draw_alignment(
    path: str | Path,  # ends in .png, .svg, .pdf or .html
    alignment: np.ndarray,  # α, [Ty, Tx]
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    unknown_source: Sequence[int] = (),  # positions, from 0, of words that the vocabulary lacks
    unknown_target: Sequence[int] = (),
    languages: tuple[str, str] = ("", ""),  # of an HTML page's words; "": not known
) -> None:
    """Draw a soft alignment as the paper does: source along the top, black 0, white 1.

    Each cell has the same size, so that long sentences make large pictures; a PNG that would be too
    large is drawn at a lower resolution. The words of a PNG or PDF are drawn with the fonts
    installed here, those of an SVG or an HTML page with the viewer's. An HTML page is one file that
    answers pointer and keyboard, marks unknown words, and is made without Matplotlib. InputError
    for another ending, or too many words for a PNG; ValueError or TypeError for another shape of α.
    """
    ending = image_files.image_format(path, (PNG, SVG, PDF, HTML))
    if np.ndim(alignment) != 2:
        raise TypeError(f"alignment: expected α, [Ty, Tx], not {type(alignment).__name__}")
    words = tuple(source_tokens), tuple(target_tokens)
    unknown = tuple(unknown_source), tuple(unknown_target)
    pair = Alignment(*words, np.asarray(alignment), *unknown)
    if ending == HTML:
        page = alignment_page([AlignedSentence(pair)], "Soft alignment", "", *languages)
        write_page(path, page)
        return
    from rnnsearch_tf.visualization.fonts import figure_fonts

    drawn = [] if ending == SVG else [*source_tokens, *target_tokens]
    with figure_fonts(drawn) as families:
        figure = _alignment_figure(pair, families)
        if ending == PNG and figure.dpi < _MIN_RESOLUTION:
            size = f"{len(target_tokens):,} × {len(source_tokens):,} words"
            raise InputError(f"{path}: {size} are too many for a PNG; use .svg or .html")
        image_files.save_figure(figure, path)


def paint_alignment(
    alignment: np.ndarray, source_tokens: Sequence[str], target_tokens: Sequence[str]
) -> np.ndarray:
    """Return the picture that `draw_alignment` writes, as RGBA uint8 [height, width, 4]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from rnnsearch_tf.visualization.fonts import figure_fonts

    pair = Alignment(tuple(source_tokens), tuple(target_tokens), alignment)
    with figure_fonts([*source_tokens, *target_tokens]) as families:
        figure = _alignment_figure(pair, families)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def _alignment_figure(pair: Alignment, families: list[str]) -> "Figure":
    """Draw the matrix, each cell of a fixed size, with as much room as the longest words take."""
    rows, columns = np.shape(pair.weights)
    words = pair.source_tokens, pair.target_tokens
    if (columns, rows) != tuple(map(len, words)):
        raise ValueError(
            f"α is [{rows}, {columns}], but there are {len(words[1])} target and {len(words[0])} "
            "source tokens"
        )
    from matplotlib.backends.backend_agg import RendererAgg
    from matplotlib.figure import Figure

    figure = Figure((columns * _CELL, rows * _CELL), dpi=_RESOLUTION)
    axes = figure.add_axes((0, 0, 1, 1))
    weights = np.nan_to_num(pair.weights, posinf=0.0)  # NaN would be transparent, and so white
    axes.imshow(weights, cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    above, beside = ([_label(word) for word in side] for side in words)
    style: dict[str, Any] = {"parse_math": False, "fontfamily": families, "fontsize": _POINTS}
    axes.set_xticks(range(columns), above, rotation=90, **style)
    axes.set_yticks(range(rows), beside, **style)
    # Of cells and words, in inches; the cells begin at 0. A renderer of its own is a small one.
    bounds = figure.get_tightbbox(RendererAgg(1, 1, _RESOLUTION))
    left, top = _MARGIN - bounds.x0, _MARGIN + bounds.y1 - rows * _CELL
    width, height = left + columns * _CELL + _MARGIN, top + rows * _CELL + _MARGIN
    figure.set_size_inches(width, height)
    by_area = math.sqrt(MAX_PIXELS / (width * height))
    figure.set_dpi(min(_RESOLUTION, by_area, _MAX_SIDE / max(width, height)))
    axes.set_position(
        (left / width, _MARGIN / height, columns * _CELL / width, rows * _CELL / height)
    )
    return figure


def _label(word: str) -> str:
    """Return a word as it is drawn: cut if very long."""
    plain = image_files.drawable(word)
    return plain if len(plain) <= _MAX_WORD else plain[: _MAX_WORD - 1] + "…"
