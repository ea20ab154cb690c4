"""The files for TensorFlow Serving: Docker, Kubernetes, nginx and the web page."""

import re
import shutil
from pathlib import Path

import rnnsearch_tf
from rnnsearch_tf.errors import InputError

_REPOSITORY = "https://github.com/rnnsearch-tf/rnnsearch_tf/blob/main"
_IMAGES = "https://raw.githubusercontent.com/rnnsearch-tf/rnnsearch_tf/main"
_PACKAGE = Path(rnnsearch_tf.__file__).parent
# Where setup.py puts them in what is installed, and where they are in the repository.
_PLACES = (_PACKAGE / "kit", _PACKAGE.parent / "export")
_LEFT_OUT = shutil.ignore_patterns("*.py", "__pycache__", "exports", ".*")


def check_kit_folder(folder: str | Path) -> None:
    """Raise an InputError where the folder is not empty."""
    if Path(folder).is_dir() and any(Path(folder).iterdir()):
        raise InputError(f"{folder}: is not empty, and nothing in it is overwritten")


def write_kit(folder: str | Path) -> None:
    """Write the files, whose README.md says what to do with them; its links lead to the repository.

    InputError as of `check_kit_folder`, OSError where the folder cannot be written.
    """
    check_kit_folder(folder)
    kit = next(place for place in _PLACES if (place / "docker-compose.yml").exists())
    shutil.copytree(kit, folder, ignore=_LEFT_OUT, dirs_exist_ok=True)
    readme = Path(folder) / "README.md"
    text = re.sub(r"(!\[[^\]]*\]\()\.\./", rf"\1{_IMAGES}/", readme.read_text("utf-8"))
    text = text.replace("](../", f"]({_REPOSITORY}/")
    readme.write_text(text, "utf-8")
