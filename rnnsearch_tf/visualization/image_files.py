"""Picture files, whose format follows from the ending of the name."""

from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import replacing

PNG, SVG, HTML = ".png", ".svg", ".html"
RESOLUTION = 110  # dots per inch of a PNG


def image_format(path: str | Path, formats: tuple[str, ...] = (PNG, SVG)) -> str:
    """Return the format of a picture file: the ending of its name.

    Args:
        path: the file.
        formats: the endings that are allowed.

    Raises:
        InputError: it has another ending.
    """
    ending = Path(path).suffix.lower()
    if ending not in formats:
        endings = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise InputError(f"{path}: the name of a picture must end in {endings}")
    return ending


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as PNG or SVG; equal figures are equal files.

    The text of an SVG stays text: it can be searched and copied, and the viewer's fonts draw it.

    Args:
        figure: the picture; its dpi are a PNG's resolution.
        path: ends in .png or .svg; its folder is made where it is missing.

    Raises:
        InputError: another ending.
    """
    ending = image_format(path)
    FigureCanvasAgg(figure)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if ending == SVG else {}
    settings = {"svg.fonttype": "none", "svg.hashsalt": "rnnsearch_tf"}
    with replacing(path, ending) as temporary, matplotlib.rc_context(settings):
        figure.savefig(temporary, dpi=figure.dpi, metadata=metadata)
