"""Results as HTML for notebooks: without scripts or other files, in the colors of the page."""

import html
import math
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.terminal import columns_of

_CELL = 16  # px
_LETTER = 7.3  # px, the width of a monospaced font's letters at 12 px
_LONGEST = 24  # letters of a word that are written beside the matrix
_FAINTEST = 0.02  # weights below it are left black


def result_html(
    source: str, unknown: Sequence[str], translations: Sequence[tuple[str, str]], drawing: str
) -> str:
    """Show a sentence, its translations, best first, each with its score, and a drawing below."""
    [best, *others] = [
        f'<bdi>{html.escape(text)}</bdi> <small style="opacity:.75">{score}</small>'
        for text, score in translations
    ]
    rows = [f'<div><bdi style="opacity:.75">{html.escape(source)}</bdi></div>']
    if unknown:
        words = ", ".join(f"<bdi>{html.escape(word)}</bdi>" for word in unknown)
        rows.append(f"<div><small>not in the vocabulary: {words}</small></div>")
    rows.append(f'<div style="font-size:1.2em">{best}</div>')
    rows += [f"<div>{other}</div>" for other in others]
    return f"<div>{''.join(rows)}{drawing}</div>"


def alignment_svg(source: Sequence[str], target: Sequence[str], weights: Any) -> str:
    """Draw α, [Ty, Tx], as the paper does: source along the top, 0 black, 1 white.

    Weights that are not finite are left black. A tooltip shows a cell's weight.
    """
    left, top = (max(map(_width, words)) + _CELL // 2 for words in (target, source))
    width, height = len(source) * _CELL, len(target) * _CELL
    middle = _CELL * 0.75  # of a line of text
    above = (
        f'<text transform="translate({left + j * _CELL + middle:g} {top - 4:g}) rotate(-90)">'
        f"{_label(word)}</text>"
        for j, word in enumerate(source)
    )
    beside = (
        f'<text x="{left - 4:g}" y="{top + i * _CELL + middle:g}" text-anchor="end">'
        f"{_label(word)}</text>"
        for i, word in enumerate(target)
    )
    cells = (
        f'<rect x="{j * _CELL}" y="{i * _CELL}" width="{_CELL}" height="{_CELL}" opacity='
        f'"{weight:.2f}"><title>{_label(target[i])} ← {_label(source[j])}: {weight:.0%}</title>'
        "</rect>"
        for i, row in enumerate(weights.tolist())
        for j, weight in enumerate(row)
        if _FAINTEST <= weight < math.inf
    )
    return (
        f'<svg role="img" aria-label="Soft alignment" viewBox="0 0 {left + width + 1:g} '
        f'{top + height + 1:g}" width="{left + width + 1:g}" style="max-width:100%;'
        'font:12px monospace;direction:ltr" fill="currentColor">'
        f'<rect x="{left:g}" y="{top:g}" width="{width}" height="{height}" fill="#000" '
        f'stroke="currentColor"/>{"".join((*above, *beside))}'
        f'<g transform="translate({left:g} {top:g})" fill="#fff">{"".join(cells)}</g></svg>'
    )


def _label(word: str) -> str:
    return html.escape(word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…")


def _width(word: str) -> float:
    """Estimate the width of a label in px."""
    return columns_of(word[:_LONGEST]) * _LETTER
