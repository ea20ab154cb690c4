"""Models that ship with the package, by their names."""

from pathlib import Path

import rnnsearch_tf

FOLDER = Path(rnnsearch_tf.__file__).parent / "pretrained"
DEFAULT = "europarl-en-fr"  # what `rnnsearch-translate` translates with


def find_model(path: str | Path) -> Path:
    """Return a model's folder: `path`, or where there is none, what ships under that name."""
    shipped = FOLDER / path
    is_name = len(Path(path).parts) == 1 and not Path(path).exists()
    return shipped if is_name and shipped.is_dir() else Path(path)
