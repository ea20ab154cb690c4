"""The flags of all scripts that use trained models."""

from typing import Literal

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import MODEL_FOLDERS

Weights = Literal["best", "last"]


def define_model(
    command: Command,
    description: str = "the trained model; several are an ensemble; or the folder of an export",
    default: str | None = None,
) -> None:
    """Add --model_dir, required if it has no default, and --weights."""
    command.group("Model")
    command.define("model_dir", MODEL_FOLDERS, description, default, required=default is None)
    command.define("weights", Weights, "best on the validation set, or last written", "best")


def define_decoding(command: Command) -> None:
    """Add the decoding options."""
    command.group("Search (defaults are the model's own)")
    command.define_settings(DecodingConfig)


def define_reading(command: Command) -> None:
    """Add the decoding options that affect the scores of given translations."""
    command.group("Reading (defaults are the model's own)")
    command.define_settings(DecodingConfig, only=("max_length", "correct_spelling"))
