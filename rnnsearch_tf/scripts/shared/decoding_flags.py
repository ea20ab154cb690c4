"""The flags of all scripts that use trained models."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rnnsearch_tf.config import SENTENCEPIECE, AlignmentName, DecodingConfig
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.inference.exported import Export, check_models, config_of, find_version
from rnnsearch_tf.inference.lexicon_file import required
from rnnsearch_tf.models.model_directory import ModelDirectory, find_model
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import MODEL_FOLDERS, OUTPUT_FILE, check_path

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

Weights = Literal["best", "last"]


def define_model(
    command: Command,
    description: str = "the trained model; several are an ensemble; or the folder of an export",
    default: str | None = None,
) -> None:
    """Add --model_dir, required where it has no default, and --weights."""
    command.group("Model")
    command.define("model_dir", MODEL_FOLDERS, description, default, required=default is None)
    command.define("weights", Weights, "best on the validation set, or last written", "best")


def define_decoding(command: Command) -> None:
    """Add the decoding options."""
    command.group("Search (defaults are the model's own)")
    command.define_settings(DecodingConfig)


def define_reading(command: Command) -> None:
    """Add the decoding options that matter for given translations."""
    command.group("Reading (defaults are the model's own)")
    command.define_settings(DecodingConfig, only=("max_length", "correct_spelling"))


def model_folders(command: Command, names: str | None = None) -> list[str]:
    """Return the model directory, or those of the members of the ensemble, unchecked."""
    names = names or command.flags.model_dir
    paths = names.split(",")
    if "" in paths:
        raise UsageError(f"{names!r} has an empty name")
    return [str(find_model(path)) for path in paths]


def written_model(command: Command) -> ModelDirectory:
    """Return the one model directory of --model_dir, into which the command writes.

    UsageError for several, and for the name of the pretrained model, whose folder is inside the
    package; InputError for an export.
    """
    path = command.flags.model_dir
    if "," in path:
        raise UsageError("--model_dir: one model is needed, not an ensemble")
    _check_is_no_export(path)
    if find_model(path) != Path(path):
        raise UsageError(
            f"--model_dir {path}: the pretrained model is read-only; copy {find_model(path)}"
        )
    return ModelDirectory(path)


def check_written(path: Path) -> None:
    """Check a file of a model directory that a command writes; InputError for a link."""
    if path.is_symlink():
        raise InputError(f"{path}: a symbolic link; remove it, so that its target is not replaced")
    check_path("model_dir", OUTPUT_FILE, str(path))


def checked_models(command: Command, names: str | None = None) -> list[str]:
    """Return the folders of --model_dir, or of `names`, checked before TensorFlow is loaded.

    InputError for an unusable model directory or export, or options that it cannot have.
    """
    paths = model_folders(command, names)
    check_models(paths, command.flags.weights)
    decoding = decoding_settings(command, names)
    for name in ("correct_spelling", "candidate_words"):
        if getattr(decoding, name) and config_of(paths[0]).tokenizer == SENTENCEPIECE:
            raise UsageError(f"--{name} needs a model of words; {paths[0]} has subwords")
    if len(paths) == 1 and (version := find_version(paths[0])):
        Export(version).check_options(decoding)
    elif decoding.candidate_words and "candidate_words" in command.flags:
        required(ModelDirectory(paths[0]).find_lexicon())
    return paths


def trained_models(command: Command) -> list[str]:
    """Return the folders of --model_dir as `checked_models`; InputError for an export."""
    _check_is_no_export(command.flags.model_dir)
    return checked_models(command)


def _check_is_no_export(path: str) -> None:
    if find_version(path):
        raise InputError(f"{path} is an export; give the model directory that it was made from")


def decoding_settings(command: Command, names: str | None = None) -> DecodingConfig:
    """Return the (first) model's own decoding options, changed by the flags that were given.

    Arguments and errors as in `checked_models`.
    """
    return command.settings(config_of(model_folders(command, names)[0]).decoding)


def open_translator(
    command: Command,
    names: str | None = None,
    alignment: AlignmentName | None = None,
    aligns: bool = True,
) -> "Translator":
    """Open the model, ensemble or export; arguments and errors are those of `checked_models`.

    `alignment` is what `Translator.load` takes. What never aligns need not read an aligner.
    """
    from rnnsearch_tf.inference.translator import Translator

    paths = model_folders(command, names)
    if not (aligns or find_version(paths[0])):
        alignment = "attention"
    path: str | list[str | Path] = paths[0] if len(paths) == 1 else [*paths]
    decoding = decoding_settings(command, names)
    return Translator.load(path, decoding, command.flags.weights, alignment)
