"""Pictures to files; a file's ending says of which kind it is."""

from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import replacing

PNG, SVG, HTML = ".png", ".svg", ".html"
RESOLUTION = 110  # dots per inch of a PNG


def image_format(path: str | Path, kinds: tuple[str, ...] = (PNG, SVG)) -> str:
    """The kind of picture that a file is to be, by its ending.

    Args:
        path: the file.
        kinds: the endings that are allowed.

    Raises:
        InputError: it has another ending.
    """
    kind = Path(path).suffix.lower()
    if kind not in kinds:
        endings = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        raise InputError(f"{path}: the name of a picture must end in {endings}")
    return kind


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG; equal figures are equal files.

    The text of an SVG stays text: it can be searched and copied, and the viewer's fonts draw it.

    Args:
        figure: a PNG has its resolution.
        path: ends in .png or .svg; its folder is made where it is missing.

    Raises:
        InputError: another ending.
    """
    kind = image_format(path)
    FigureCanvasAgg(figure)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if kind == SVG else {}
    settings = {"svg.fonttype": "none", "svg.hashsalt": "rnnsearch_tf"}
    with replacing(path, kind) as temporary, matplotlib.rc_context(settings):
        figure.savefig(temporary, dpi=figure.dpi, metadata=metadata)
