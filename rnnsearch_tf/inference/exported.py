"""Exports on disk, read without TensorFlow: their versions, cards and vocabularies."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.config import Config, read_settings
from rnnsearch_tf.digests import unsealed
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from rnnsearch_tf.text.tokenizers import Tokenizer

CARD = "model.json"  # beside the graph: what it was made of (see `serving.model_card`)
_GRAPH = "saved_model.pb"
_SETTINGS = ("source_language", "target_language", "tokenizer", "decoding")


def versions(export_dir: Path) -> list[int]:
    """List the versions in a folder that a server watches, rising, as a server reads their names.

    Anything else in the folder is skipped.
    """
    paths = export_dir.iterdir() if export_dir.is_dir() else ()
    return sorted(int(p.name) for p in paths if p.name.isascii() and p.name.isdigit())


def find_version(path: str | Path) -> Path | None:
    """Find the folder of an export: `path` itself, or the highest version in it; None elsewhere."""
    path = Path(path)
    if (path / _GRAPH).exists():
        return path
    numbers = versions(path)
    return path / str(numbers[-1]) if numbers else None


def load_config(version: Path) -> Config:
    """Read languages, tokeniser and decoding options of an export; the rest is left at defaults.

    Raises:
        InputError: no card, or one that is damaged or that this version cannot read.
    """
    card = read_card(version)
    try:
        return read_settings(Config, {name: card.get(name) for name in _SETTINGS})
    except ValueError as error:
        raise _unreadable(version, error) from error


def read_card(version: Path) -> dict[str, Any]:
    """Read what an export was made of.

    Raises:
        InputError: no card, or a damaged one.
    """
    card = read_json(version / CARD)
    try:
        return unsealed(typed(dict[str, Any], card))
    except ValueError as error:
        raise _unreadable(version, error) from error


def _unreadable(version: Path, error: Exception) -> InputError:
    return InputError(
        f"{version / CARD}: not of an export by this version of the package: {first_line(error)}"
    )


def load_tokenizers(version: Path) -> "tuple[Tokenizer, Tokenizer]":
    """Make the source's and the target's tokeniser of an export.

    Raises:
        InputError: as `load_config`.
    """
    from rnnsearch_tf.text.tokenizers import tokenizers_for

    return tokenizers_for(load_config(version))


def load_vocabularies(version: Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the source and the target vocabulary of an export.

    Raises:
        InputError: a file is missing, damaged, or not the model's; and as `load_config`.
    """
    card = read_card(version)
    try:
        digests = {side: card["models"][0][f"{side}_vocabulary"] for side in ("source", "target")}
    except (LookupError, TypeError) as error:
        raise _unreadable(version, error) from error
    source, target = (
        Vocabulary.load(version / "assets" / f"{side}.vocab", digest)
        for side, digest in digests.items()
    )
    return source, target


def config_of(path: str | Path) -> Config:
    """Read the settings of a model directory or an export.

    Raises:
        InputError: it is neither, or damaged.
    """
    version = find_version(path)
    return ModelDirectory(path).load_config() if version is None else load_config(version)


def vocabularies_of(path: str | Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the source's and the target's vocabulary of a model directory or an export.

    Raises:
        InputError: it is neither, or damaged.
    """
    version = find_version(path)
    directory = ModelDirectory(path)
    return directory.load_vocabularies() if version is None else load_vocabularies(version)
