"""Fonts for words of any script, among those that are installed."""

import functools
import unicodedata
import warnings
from collections.abc import Iterable

import matplotlib
from matplotlib import font_manager

DEFAULT = "sans-serif"
_NO_GLYPH_OF_ITS_OWN = ("Cc", "Cf", "Zs", "Zl", "Zp")  # categories: controls, joiners, spaces
NO_FONT = (
    "no installed font has some of the letters that are drawn: they are boxes in this picture. "
    "Install a font that has them (the Noto fonts have most scripts), or write .svg or .html, "
    "which are shown in the viewer's fonts"
)

NOT_ARRANGED = (
    "letters that join, or run from the right, are drawn one by one from the left in this picture: "
    "Matplotlib 3.11 arranges them, and so does the viewer of .svg and .html"
)
_ARRANGES = (3, 11)  # Matplotlib's version


def font_families(texts: Iterable[str]) -> list[str]:
    """The families that Matplotlib needs to draw texts: its own, then those for what it lacks.

    Warns where no installed font has a letter, or where letters join or run from the right and
    this Matplotlib does not arrange them (`UserWarning`s of one text each, so that Python shows
    them once).
    """
    letters = frozenset(letter for text in texts for letter in text if _is_drawn(letter))
    families, missing = _families_for(letters)
    if missing:
        warnings.warn(NO_FONT, stacklevel=2)
    if matplotlib.__version_info__ < _ARRANGES and any(map(_is_arranged, letters)):
        warnings.warn(NOT_ARRANGED, stacklevel=2)
    return list(families)


@functools.lru_cache(maxsize=1_000)
def _families_for(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Families, and the letters that none of them has."""
    default = font_manager.findfont(font_manager.FontProperties(family=[DEFAULT]))
    families, missing = [DEFAULT], _lacking(default, letters)
    for font in _installed() if missing else ():
        left = _lacking(font.fname, missing)
        if left != missing:
            families.append(font.name)
            missing = left
        if not missing:
            break
    return tuple(families), missing


def _installed() -> list[font_manager.FontEntry]:
    """Upright fonts of the usual weight before others, those without serifs first among them."""

    def rank(font: font_manager.FontEntry) -> tuple[bool, bool, bool, str]:
        usual = str(font.weight) in ("400", "normal", "regular", "book")
        return font.style != "normal", not usual, "Sans" not in font.name, font.name

    # Matplotlib's last resort has a box for every letter.
    fonts = (font for font in font_manager.fontManager.ttflist if "Last Resort" not in font.name)
    return sorted(fonts, key=rank)


def _lacking(path: str, letters: frozenset[str]) -> frozenset[str]:
    try:
        font = font_manager.get_font(path)
    except (OSError, RuntimeError):  # uninstalled since the list was made, or damaged
        return letters
    return frozenset(letter for letter in letters if not font.get_char_index(ord(letter)))


def _is_arranged(letter: str) -> bool:
    """Hebrew, Arabic and their like, and the vowel signs of Indic scripts."""
    return unicodedata.bidirectional(letter) in ("R", "AL") or unicodedata.category(letter) == "Mc"


def _is_drawn(letter: str) -> bool:
    is_variation_selector = "\ufe00" <= letter <= "\ufe0f"
    return unicodedata.category(letter) not in _NO_GLYPH_OF_ITS_OWN and not is_variation_selector
