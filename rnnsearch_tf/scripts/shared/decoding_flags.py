"""The flags of all scripts that translate."""

from typing import TYPE_CHECKING, Literal

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared.command import Command

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

Weights = Literal["best", "last"]


def define_model(command: Command) -> None:
    """Add --model_dir and --weights."""
    command.define(
        "model_dir",
        str,
        "the trained model; several, with commas, are an ensemble; or the folder of an export",
    )
    command.define("weights", Weights, "best is by the validation set", "best")


def define_decoding(command: Command) -> None:
    """Add --model_dir, --weights and the decoding options."""
    define_model(command)
    command.define_settings(DecodingConfig)


def model_dirs(command: Command) -> list[str]:
    """Return the model directory, or those of the members of the ensemble."""
    return named_models(command.flags.model_dir)


def named_models(names: str) -> list[str]:
    """Split what --model_dir takes at the commas.

    Raises:
        InputError: an empty name.
    """
    paths = names.split(",")
    if "" in paths:
        raise InputError(f"{names!r} has an empty name")
    return paths


def decoding_settings(command: Command, path: str | None = None) -> DecodingConfig:
    """Return the (first) model's own decoding options, changed by the flags that were given.

    Args:
        command: with the flags.
        path: a model directory or export, instead of that of --model_dir.

    Raises:
        InputError: an unusable model directory, a value out of range.
    """
    from rnnsearch_tf.inference.loading import find_version, load_config
    from rnnsearch_tf.models.model_directory import ModelDirectory

    first = path or model_dirs(command)[0]
    version = find_version(first)
    config = ModelDirectory(first).load_config() if version is None else load_config(version)
    return command.settings(config.decoding)


def open_translator(command: Command, names: str | None = None) -> "Translator":
    """Open the model, ensemble or export of --model_dir.

    Args:
        command: with the flags.
        names: a value to use instead of --model_dir.

    Raises:
        InputError: an unusable model directory or export, a value out of range, other options
            than an export's own.
    """
    from rnnsearch_tf.inference.translator import Translator

    paths = named_models(names) if names else model_dirs(command)
    path = paths[0] if len(paths) == 1 else paths
    return Translator.load(path, decoding_settings(command, paths[0]), command.flags.weights)
