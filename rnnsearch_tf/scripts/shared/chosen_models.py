"""The models that --model_dir names, read and checked before TensorFlow is loaded."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch_tf.config import SENTENCEPIECE, AlignmentName, DecodingConfig
from rnnsearch_tf.digests import file_digest, folder_digests
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.inference.exported import Export, check_models, find_version
from rnnsearch_tf.inference.lexicon_file import required
from rnnsearch_tf.models.model_directory import MODEL_FILES, ModelDirectory, find_model
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FILE, check_path

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator


@dataclasses.dataclass(frozen=True)
class ChosenModels:
    """A model, the members of an ensemble, or an export, with the options that flags give it."""

    paths: list[str]  # model directories, or the folder of one export
    version: Path | None  # the folder of the export's version
    decoding: DecodingConfig  # the first model's own, changed by the flags that were given
    weights: str  # "best" or "last"

    def digests(self) -> list[dict[str, str]]:
        """Return the SHA-256 of each file that the models' answers depend on."""
        if self.version:
            return [folder_digests(self.version)]
        return [_digests(Path(path), self.weights) for path in self.paths]

    def open(self, alignment: AlignmentName | None = None, aligns: bool = True) -> "Translator":
        """Load them; `alignment` is what `Translator.load` takes.

        Without `aligns`, the aligner of a model directory is not read.
        """
        from rnnsearch_tf.inference.translator import Translator

        if not (aligns or self.version):
            alignment = "attention"
        return Translator.load(self.paths, self.decoding, self.weights, alignment)


def _digests(folder: Path, weights: str) -> dict[str, str]:
    files = {name: folder / name for name in (*MODEL_FILES, f"{weights}.weights.h5")}
    return {name: file_digest(file) for name, file in files.items() if file.is_file()}


def choose_models(command: Command, names: str | None = None) -> ChosenModels:
    """Read and check the models of --model_dir, or of `names`.

    InputError for an unusable model directory or export, or options that it cannot have.
    """
    paths = model_folders(command, names)
    weights = command.flags.weights
    config = check_models(paths, weights)
    decoding = command.settings(config.decoding)
    if decoding.candidate_words and config.tokenizer == SENTENCEPIECE:
        raise InputError(f"--candidate_words needs a word model; {paths[0]} uses subwords")
    version = find_version(paths[0])
    if version:
        Export(version).check_options(decoding)
    elif decoding.candidate_words and "candidate_words" in command.flags:
        required(ModelDirectory(paths[0]).find_lexicon())
    return ChosenModels(paths, version, decoding, weights)


def choose_trained_models(command: Command) -> ChosenModels:
    """Read and check the models of --model_dir; InputError for an export."""
    _check_is_no_export(command.flags.model_dir)
    return choose_models(command)


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


def _check_is_no_export(path: str) -> None:
    if find_version(path):
        raise InputError(f"{path} is an export; give the model directory that it was made from")
