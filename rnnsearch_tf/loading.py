"""Model directories to a model that translates text."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.model_directory import BEST, ModelDirectory
from rnnsearch_tf.text_model import TextModel
from rnnsearch_tf.weight_storage import FULL


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
