"""Picture files, whose format follows from the ending of the name, and the colors of figures."""

import contextlib
import io
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import home_path, write_atomically

if TYPE_CHECKING:  # Matplotlib is optional: an HTML page is made without it
    from matplotlib.figure import Figure

PNG, SVG, PDF, HTML = ".png", ".svg", ".pdf", ".html"
INK, PAGE = "#1f2328", "#ffffff"  # of words and lines, and behind them

_SETTINGS = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAGE),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "rnnsearch_tf",
    "pdf.fonttype": 42,  # whole fonts, whose text can be searched and copied
}
# For dark pages; viewers of SVG that know no media queries show the light colors.
_DARK = "\n".join(
    f'[style*="{field}: {light}"] {{ {field}: {dark} !important }}'
    for light, dark in ((INK, "#e6edf3"), (PAGE, "#0d1117"))
    for field in ("fill", "stroke")
)
_DARK_STYLE = f"\n@media (prefers-color-scheme: dark) {{\n{_DARK}\n}}\n</style>"
_METADATA: dict[str, dict[str, Any]] = {SVG: {"Date": None}, PDF: {"CreationDate": None}}


def image_format(path: str | Path, formats: tuple[str, ...] = (PNG, SVG, PDF)) -> str:
    """Return the format of a picture file, the ending of its name; UsageError for another."""
    ending = Path(path).suffix.lower()
    if ending not in formats:
        endings = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise UsageError(f"{path}: the name of a figure must end in {endings}")
    return ending


def figure_style() -> contextlib.AbstractContextManager[None]:
    """Draw in Matplotlib's default style with our colors, whatever the user's own style is."""
    import matplotlib.style

    return matplotlib.style.context(["default", _SETTINGS])


def drawable(text: str) -> str:
    """Replace control characters, and others that XML does not allow, with U+FFFD."""
    return "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in "\ufffe\uffff" else c
        for c in text
    )


def save_figure(figure: "Figure", path: str | Path) -> None:
    """Write a figure as PNG, SVG or PDF; equal figures give equal files.

    The text of an SVG stays text: it can be searched and copied, and the viewer's fonts draw it. On
    a dark page, an SVG is light on dark. The figure's dpi is the resolution of a PNG. The folder is
    made if it is missing.
    """
    ending = image_format(path)
    path = home_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = io.BytesIO()  # on a full disk, Matplotlib's own writing of a PDF is an AttributeError
    with figure_style():
        metadata = _METADATA.get(ending)
        figure.savefig(drawn, format=ending[1:], dpi=figure.dpi, metadata=metadata)
    content = drawn.getvalue()
    if ending == SVG:
        content = content.replace(b"</style>", _DARK_STYLE.encode(), 1)
    write_atomically(path, content)
