"""Engines from disk: model directories, and exports (see `serving.export`) with their cards."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig, read_settings
from rnnsearch_tf.digests import find_changed, unsealed
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.weight_storage import FULL
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.models.model_directory import BEST, ModelDirectory
from rnnsearch_tf.text.tokenizers import Tokenizer, tokenizers_for
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import Vocabulary

CARD = "model.json"  # beside the graph: what it was made of (see `serving.model_card`)
_GRAPH = "saved_model.pb"
_FUNCTIONS = ("best", "candidates", "score_tokens", "align_tokens")
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


def load_export(version: Path) -> Any:
    """Read a version's folder: the SavedModel, with the saved functions of `TextModel`.

    Raises:
        InputError: a file is missing or not the one that was exported (exports of version 0.1.0
            tell that of the vocabularies only), or it was made by a version before 0.1.0.
    """
    load_vocabularies(version)  # for its checks
    try:
        changed = find_changed(version, _read_card(version).get("files", {}))
        if changed is not None:
            raise InputError(f"{version / changed}: missing, or not the file that was exported")
        exported = tf.saved_model.load(str(version))
    except (OSError, ValueError, AttributeError, tf.errors.OpError) as error:
        raise InputError(f"{version}: not a whole export: {first_line(error)}") from error
    if not all(hasattr(exported, name) for name in _FUNCTIONS):
        raise InputError(f"{version}: made by an older version of this package; export it again")
    return exported


def load_config(version: Path) -> Config:
    """Read languages, tokeniser, decoding options and first model of an export.

    The rest is left at defaults.

    Raises:
        InputError: no card, or one that is damaged or that this version cannot read.
    """
    card = _read_card(version)
    try:
        settings = {name: card.get(name) for name in _SETTINGS}
        return read_settings(Config, {**settings, "model": card["models"][0]["model"]})
    except (LookupError, TypeError, ValueError) as error:
        raise _unreadable(version, error) from error


def _read_card(version: Path) -> dict[str, Any]:
    card = read_json(version / CARD)
    try:
        return unsealed(typed(dict[str, Any], card))
    except ValueError as error:
        raise _unreadable(version, error) from error


def _unreadable(version: Path, error: Exception) -> InputError:
    return InputError(
        f"{version / CARD}: not of an export by this version of the package: {first_line(error)}"
    )


def load_tokenizers(version: Path) -> tuple[Tokenizer, Tokenizer]:
    """Make the source's and the target's tokeniser of an export.

    Raises:
        InputError: as `load_config`.
    """
    return tokenizers_for(load_config(version))


def load_vocabularies(version: Path) -> tuple[Vocabulary, Vocabulary]:
    """Read the source and the target vocabulary of an export.

    Raises:
        InputError: a file is missing, damaged, or not the model's; and as `load_config`.
    """
    card = _read_card(version)
    try:
        digests = {side: card["models"][0][f"{side}_vocabulary"] for side in ("source", "target")}
    except (LookupError, TypeError) as error:
        raise _unreadable(version, error) from error
    source, target = (
        Vocabulary.load(version / "assets" / f"{side}.vocab", digest)
        for side, digest in digests.items()
    )
    return source, target


def vectorizers_for(directory: ModelDirectory) -> tuple[TextVectorizer, TextVectorizer]:
    """Make the source's and the target's `TextVectorizer` of a complete model directory.

    Raises:
        InputError: its config cannot be read.
    """
    source, target = directory.load_tokenizers()
    return (
        TextVectorizer(source, directory.source_vocabulary_path),
        TextVectorizer(target, directory.target_vocabulary_path),
    )


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
        weights_dtype: dtype of the weights in a SavedModel of it.

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
        if _text_settings(config) != _text_settings(configs[0]):
            raise InputError(f"{directory.path}: other vocabularies than {first.path}")
    config = configs[0]
    if decoding is not None:
        config = dataclasses.replace(config, decoding=decoding)
    return TextModel(
        [directory.load_model(weights) for directory in directories],
        config,
        *vectorizers_for(first),
        weights_dtype=weights_dtype,
        lexicon=first.find_lexicon(),
    )


def _text_settings(config: Config) -> tuple[str, ...]:
    """The settings that members of an ensemble must have in common."""
    return (
        config.source_language,
        config.target_language,
        config.tokenizer,
        config.source_vocabulary,
        config.target_vocabulary,
    )
