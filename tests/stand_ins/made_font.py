"""Font for letters that no installed font has."""

from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager

# Of a private use area.
FIRST, SECOND, THIRD = "\U00100002", "\U00100003", "\U00100005"


def install_font(path: Path, name: str, letters: str) -> None:
    """Install a font in which each letter is a filled square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 1000), (1000, 1000), (1000, 0)):
        pen.lineTo(point)
    pen.closePath()
    glyphs = {"square": pen.glyph(), ".notdef": TTGlyphPen(None).glyph()}
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "square"])
    builder.setupCharacterMap({ord(letter): "square" for letter in letters})
    builder.setupGlyf(glyphs)
    builder.setupHorizontalMetrics({glyph: (1000, 0) for glyph in glyphs})
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupNameTable({"familyName": name, "styleName": "Regular"})
    builder.setupOS2(usWeightClass=400)
    builder.setupPost()
    builder.save(path)
    font_manager.fontManager.addfont(path)
