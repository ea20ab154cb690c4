"""Exports read back: a SavedModel of `saved_model.export` and what its card says of it."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.weight_storage import FULL
from rnnsearch_tf.models.model_directory import BEST, ModelDirectory
from rnnsearch_tf.text.vocabulary import Vocabulary

CARD = "model.json"  # beside the graph: what it was made of (see `serving.model_card`)
_GRAPH = "saved_model.pb"
_FUNCTIONS = ("best", "candidates", "score_tokens", "align_tokens")
_LANGUAGES = ("source_language", "target_language", "tokenizer")


def versions(export_dir: Path) -> list[int]:
    """The versions in a folder that a server watches, as a server reads their names."""
    found = export_dir.iterdir() if export_dir.is_dir() else ()
    return sorted(int(p.name) for p in found if p.name.isascii() and p.name.isdigit())


def find_version(path: str | Path) -> Path | None:
    """The version's folder that `path` is, or the highest in it; None where it is no export."""
    path = Path(path)
    if (path / _GRAPH).exists():
        return path
    found = versions(path)
    return path / str(found[-1]) if found else None


def load_export(version: Path) -> Any:
    """Read a version's folder: the SavedModel, with the functions of `TextModel`.

    Raises:
        InputError: it is damaged, or was made by an older version of the package.
    """
    try:
        exported = tf.saved_model.load(str(version))
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise InputError(f"{version}: not a whole export: {first_line(error)}") from error
    if not all(hasattr(exported, name) for name in _FUNCTIONS):
        raise InputError(f"{version}: made by an older version of this package; export it again")
    return exported


def load_config(version: Path) -> Config:
    """The languages and decoding options of an export; the rest of the config is not its own.

    Raises:
        InputError: no such card, or one that an older version of the package has written.
    """
    try:
        card = json.loads((version / CARD).read_text("utf-8"))
        languages = {name: card[name] for name in _LANGUAGES}
        return Config(decoding=DecodingConfig(**card["decoding"]), **languages)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{version / CARD}: not of an export by this version of the package: "
            f"{first_line(error)}"
        ) from error


def load_vocabularies(version: Path) -> tuple[Vocabulary, Vocabulary]:
    """The source and the target vocabulary of an export.

    Raises:
        InputError: a file is missing or damaged.
    """
    source, target = (
        Vocabulary.load(version / "assets" / f"{side}.vocab") for side in ("source", "target")
    )
    return source, target


def load_text_model(
    path: str | Path | Sequence[str | Path],
    decoding: DecodingConfig | None = None,
    weights: str = BEST,
    weights_dtype: str = FULL,
) -> TextModel:
    """Read a model directory, or several as an ensemble.

    Args:
        path: the model directory, or a list of them; languages and decoding options are the
            first one's.
        decoding: instead of the options in its config.
        weights: "best" or "last".
        weights_dtype: what a SavedModel of it holds the weights in.

    Raises:
        InputError: a directory is absent, incomplete or damaged, or has other vocabularies than
            the first.
    """
    paths = [path] if isinstance(path, str | Path) else path
    directories = [ModelDirectory(one) for one in paths]
    for directory in directories:
        directory.load_vocabularies()  # for its checks
    first, configs = directories[0], [directory.load_config() for directory in directories]
    for directory, config in zip(directories, configs, strict=True):
        if _languages(config) != _languages(configs[0]):
            raise InputError(f"{directory.path}: other vocabularies than {first.path}")
    config = configs[0]
    if decoding is not None:
        config = dataclasses.replace(config, decoding=decoding)
    return TextModel(
        [directory.load_model(weights) for directory in directories],
        config,
        first.source_vocabulary_path,
        first.target_vocabulary_path,
        weights_dtype,
        first.find_lexicon(),
    )


def _languages(config: Config) -> tuple[str, ...]:
    return (
        config.source_language,
        config.target_language,
        config.tokenizer,
        config.source_vocabulary,
        config.target_vocabulary,
    )
