"""The flags of every script that translates."""

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.scripts.command import Command


def define_decoding(command: Command) -> None:
    """Add --model_dir, --weights and the decoding options."""
    command.define("model_dir", str, "the trained model; several, with commas, are an ensemble")
    command.define("weights", str, "which weights: best (on the development set) or last", "best")
    command.define_settings(DecodingConfig)


def model_dirs(command: Command) -> list[str]:
    """The model, or the members of the ensemble."""
    return command.flags.model_dir.split(",")


def decoding_settings(command: Command) -> DecodingConfig:
    """The (first) model's own decoding options with the flags that were given put in.

    Raises:
        InputError: an unusable model directory, a value out of range.
    """
    from rnnsearch_tf.model_directory import ModelDirectory

    config: Config = ModelDirectory(model_dirs(command)[0]).load_config()
    return command.settings(config.decoding)
