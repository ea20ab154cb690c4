"""Fonts for words of any script, among those that are installed."""

import contextlib
import functools
import unicodedata
import warnings
from collections.abc import Iterable, Iterator

import matplotlib
from matplotlib import font_manager

from rnnsearch_tf.visualization.image_files import figure_style

DEFAULT = "sans-serif"
_NO_GLYPH_OF_ITS_OWN = ("Cc", "Cf", "Zs", "Zl", "Zp")  # categories: controls, joiners, spaces
NO_FONT = (
    "no installed font has some of the letters that are drawn: they are boxes in this figure. "
    "Install a font that has them (the Noto fonts have most scripts), or write .svg or .html, "
    "which are shown in the viewer's fonts"
)

NOT_SHAPED = (
    "letters of cursive or right-to-left scripts are drawn separately, from left to right, in this "
    "figure; Matplotlib 3.11 or newer shapes them, as do viewers of .svg and .html"
)
_SHAPES = (3, 11)  # Matplotlib's version that shapes text


def font_families(texts: Iterable[str]) -> list[str]:
    """Return the families that Matplotlib needs to draw texts: its own, then others for the rest.

    Warns where no installed font has a letter, or where letters join or run from the right and
    this Matplotlib does not shape them, once each.
    """
    letters = frozenset(letter for text in texts for letter in text if _is_drawn(letter))
    families, missing = _families_for(letters)
    if missing:
        _warn_once(NO_FONT)
    if matplotlib.__version_info__ < _SHAPES and any(map(_needs_shaping, letters)):
        _warn_once(NOT_SHAPED)
    return list(families)


@contextlib.contextmanager
def figure_fonts(texts: Iterable[str]) -> Iterator[list[str]]:
    """Draw in our colors, and yield the families that texts need.

    Matplotlib's warnings of each letter are silenced; `font_families` has warned once of all.
    """
    with figure_style():
        families = font_families(texts)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            yield families


@functools.cache
def _warn_once(text: str) -> None:
    # `figure_fonts` has `catch_warnings`, which makes Python forget what it has shown.
    warnings.warn(text, stacklevel=3)


@functools.lru_cache(maxsize=1_000)
def _families_for(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return families, and the letters that none of them has."""
    default = font_manager.findfont(font_manager.FontProperties(family=[DEFAULT]))
    families, missing = [DEFAULT], _lacking(default, letters)
    # Matplotlib's last resort has a box for every letter.
    fonts = (font for font in font_manager.fontManager.ttflist if "Last Resort" not in font.name)
    for font in sorted(fonts, key=lambda font: ("Sans" not in font.name, font.name)):
        if not missing:
            break
        left = _lacking(font.fname, missing)
        if left != missing:
            families.append(font.name)
            missing = left
    return tuple(families), missing


def _lacking(path: str, letters: frozenset[str]) -> frozenset[str]:
    try:
        font = font_manager.get_font(path)
    except (OSError, RuntimeError):  # uninstalled since the list was made, or damaged
        return letters
    return frozenset(letter for letter in letters if not font.get_char_index(ord(letter)))


def _needs_shaping(letter: str) -> bool:
    """Whether it is Hebrew, Arabic or the like, or a vowel sign of an Indic script."""
    return unicodedata.bidirectional(letter) in ("R", "AL") or unicodedata.category(letter) == "Mc"


def _is_drawn(letter: str) -> bool:
    is_variation_selector = "\ufe00" <= letter <= "\ufe0f"
    return unicodedata.category(letter) not in _NO_GLYPH_OF_ITS_OWN and not is_variation_selector
