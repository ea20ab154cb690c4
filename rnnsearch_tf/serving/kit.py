"""The files for TensorFlow Serving: Docker, Kubernetes, nginx and the web page."""

import re
import shutil
import stat
import tempfile
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
    """Raise an InputError unless the folder is empty or has only what a Mac's Finder leaves."""
    if Path(folder).is_dir() and {path.name for path in Path(folder).iterdir()} - {".DS_Store"}:
        raise InputError(f"{folder}: is not empty, and nothing was overwritten")


def write_kit(folder: str | Path) -> None:
    """Write the files, whose README.md says what to do with them; its links lead to the repository.

    InputError as in `check_kit_folder`, OSError if the folder cannot be written.
    """
    check_kit_folder(folder)
    folder = Path(folder)
    kits = [place for place in _PLACES if (place / "docker-compose.yml").exists()]
    if not kits:
        raise InputError("this installation lacks the files of the kit: install it with pip")
    if not folder.exists():
        folder.mkdir(parents=True)
        folder.chmod(0o755)  # the servers read it as users of their own, whatever the umask
    # Made within the folder, which may be a mount point or a link, and moved up when complete.
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as temporary:
        try:
            shutil.copytree(kits[0], temporary, ignore=_LEFT_OUT, dirs_exist_ok=True)
        except shutil.Error as error:  # it has one for each file
            raise OSError(f"{folder}: {error.args[0][0][-1]}") from error
        _set_modes(Path(temporary))
        _rewrite_links(Path(temporary) / "README.md")
        for part in Path(temporary).iterdir():
            part.rename(folder / part.name)


def _set_modes(folder: Path) -> None:
    """Let its owner write and everybody read: a package may be read-only, or its owner's alone."""
    for part in [folder, *folder.rglob("*")]:
        is_run = part.is_dir() or part.stat().st_mode & stat.S_IXUSR
        part.chmod(0o755 if is_run else 0o644)


def _rewrite_links(readme: Path) -> None:
    text = re.sub(r"(!\[[^\]]*\]\()\.\./", rf"\1{_IMAGES}/", readme.read_text("utf-8"))
    text = text.replace("](../", f"]({_REPOSITORY}/")
    readme.write_text(text, "utf-8")
