"""The model directory: everything needed to translate, in one folder; the pretrained model."""

import contextlib
import dataclasses
import json
import math
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.config import SENTENCEPIECE, SUBWORD_FILES, AlignmentName, Config, check_choice
from rnnsearch_tf.digests import file_digest
from rnnsearch_tf.errors import InputError, TemporaryError, did_you_mean, input_errors
from rnnsearch_tf.files import (
    check_regular,
    check_space,
    file_lock,
    home_path,
    replacing,
    synchronize,
    write_atomically,
)
from rnnsearch_tf.json_files import finite_or_none, parse_json, typed
from rnnsearch_tf.text.vocabulary import Vocabulary

if TYPE_CHECKING:  # Keras and TensorFlow are loaded only where they are needed
    from rnnsearch_tf.models.translation_model import TranslationModel
    from rnnsearch_tf.text.tokenizers import Tokenizer

BEST, LAST = "best", "last"

SHIPPED = Path(__file__).parents[1] / "pretrained"  # the pretrained model
DEFAULT = "europarl-en-fr"  # the model that `rnnsearch-translate` uses by default

# The files besides the weights that translations depend on; not every model has all of them.
MODEL_FILES = (
    "config.json", "source.vocab", "target.vocab", *SUBWORD_FILES, "lexicon.tsv", "aligner.npz",
)  # fmt: skip

# Fields of training.jsonl that are not numbers.
_LOG_TEXTS = "bleu_signature", "hardware", "software"
_RENAMED_LOG_FIELDS = {"train_guide_loss": "train_guided_alignment_loss"}  # since version 0.1.0


class ModelDirectory:
    """A folder that holds a training run, and all that translating needs.

        config.json         all settings, the vocabularies' SHA-256, and its own
        source.vocab        one token per line; the id of a token is its line number, from 0
        target.vocab
        source.spm          SentencePiece models, where the tokens are subwords
        target.spm
        best.weights.h5     the weights that did best on the validation set (`weights_file`)
        last.weights.h5     the newest weights
        checkpoints/        the state that training resumes from
        training.jsonl      one line per evaluation
        lexicon.tsv         words for [UNK], where rnnsearch-lexicon has been run
        aligner.npz         a word aligner, where rnnsearch-aligner has been run
        tensorboard/        the records of training.jsonl and more, for TensorBoard

    The folder need not exist yet.
    """

    def __init__(self, path: str | Path):
        self.path = home_path(path)
        self.source_vocabulary_path = self.path / "source.vocab"
        self.target_vocabulary_path = self.path / "target.vocab"
        self.checkpoints_path = self.path / "checkpoints"
        self.tensorboard_path = self.path / "tensorboard"
        self.lexicon_path = self.path / "lexicon.tsv"
        self.aligner_path = self.path / "aligner.npz"
        self.log_path = self.path / "training.jsonl"
        self._config_path = self.path / "config.json"

    def is_complete(self) -> bool:
        """Whether `create` has finished here; config.json is written last."""
        return self._config_path.exists()

    def create(
        self, config: Config, source: Vocabulary, target: Vocabulary, subwords: Sequence[bytes] = ()
    ) -> None:
        """Write vocabularies, SentencePiece models and config, with the vocabularies' digests.

        The training id and decoding options that the folder has are kept. InputError if the
        folder cannot be written, its config cannot be read, or the config has other vocabulary
        sizes.
        """
        _check_sizes(self.path, config, source, target)
        config = dataclasses.replace(
            config, source_vocabulary=source.digest, target_vocabulary=target.digest
        )
        if self.is_complete():
            own = self.load_config()
            config = dataclasses.replace(config, training_id=own.training_id, decoding=own.decoding)
            if config == own:
                return
        else:
            config = dataclasses.replace(config, training_id=secrets.token_hex(16))
        with input_errors(f"{self.path}: cannot be written"):
            self.path.mkdir(parents=True, exist_ok=True)
            source.save(self.source_vocabulary_path)
            target.save(self.target_vocabulary_path)
            for name, model in zip(SUBWORD_FILES, subwords, strict=False):
                write_atomically(self.path / name, model)
            write_atomically(self._config_path, config.to_json().encode())

    def subword_files(self) -> list[Path]:
        """Return the SentencePiece models of source and target; none for words or without a config.

        InputError if one is missing, or is not the model's.
        """
        if not self.is_complete():
            return []
        config = self.load_config()
        if config.tokenizer != SENTENCEPIECE:
            return []
        paths = [self.path / name for name in SUBWORD_FILES]
        digests = config.source_subwords, config.target_subwords
        for path, digest in zip(paths, digests, strict=True):
            check_regular(path)
            if file_digest(path) != digest:
                raise InputError(f"{path}: not the SentencePiece model this model was made with")
        return paths

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint of a training run."""
        return any(self.checkpoints_path.glob("ckpt-*.index"))

    def check_resumable(self) -> None:
        """Check that the training run in this folder, if there is one, can be resumed.

        InputError if the folder has some files of a training run, but config.json, the checkpoints
        or a vocabulary is missing.
        """
        written = (self.weights_path(BEST), self.weights_path(LAST), self.log_path)
        files = [path.name for path in written if path.exists()]
        if not self.is_complete() and (files or self.has_checkpoint):
            raise InputError(
                f"{self.path}: has a training run, but its config.json is missing: restore it, or "
                "train in another folder"
            )
        if files and not self.has_checkpoint:
            raise InputError(
                f"{self.path}: has a training run, but its checkpoints are missing: restore them; "
                "or train further, in another folder, with --initial_model; or from scratch, here "
                f"after deleting {', '.join(files)}"
            )
        if self.is_complete():
            self.load_vocabularies()  # for its checks

    def check_unchanged(self, config: Config) -> None:
        """Check that vocabularies and config.json are still those that a training run began with.

        Decoding options may differ. InputError if anything else was changed or removed since.
        """
        self.load_vocabularies()
        if dataclasses.replace(self.load_config(), decoding=config.decoding) != config:
            raise InputError(f"{self._config_path}: no longer the settings of this training run")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and keep other training runs out of it while the block runs.

        InputError if it cannot be made, TemporaryError if another training run is active in it.
        """
        busy = TemporaryError(f"{self.path}: another training run is active here")
        with contextlib.ExitStack() as stack:
            with input_errors(f"{self.path}: cannot be written"):
                self.path.mkdir(parents=True, exist_ok=True)
                synchronize(self.path.parent)
                stack.enter_context(file_lock(self.path / ".lock", busy))
            yield

    def load_config(self) -> Config:
        """Read config.json; InputError if there is none, or another file."""
        if not self.path.is_dir():
            hint = did_you_mean(self.path.name, [DEFAULT]) if len(self.path.parts) == 1 else ""
            raise InputError(f"{self.path}: no such model directory{hint}")
        if not self.is_complete():
            raise InputError(f"{self.path}: not a model directory, or half-written: no config.json")
        check_regular(self._config_path)
        with input_errors(self._config_path):
            return Config.from_json(self._config_path.read_bytes())

    def load_vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Read the source's and the target's vocabulary.

        InputError if a file is missing, damaged, or not the one the model was made with.
        """
        config = self.load_config()
        check_regular(self.source_vocabulary_path)
        check_regular(self.target_vocabulary_path)
        source = Vocabulary.load(self.source_vocabulary_path, config.source_vocabulary)
        target = Vocabulary.load(self.target_vocabulary_path, config.target_vocabulary)
        _check_sizes(self.path, config, source, target)
        return source, target

    def load_tokenizers(self) -> "tuple[Tokenizer, Tokenizer]":
        """Make the source's and the target's tokenizer; InputError as in `load_config`."""
        from rnnsearch_tf.text.tokenizers import tokenizers_for

        return tokenizers_for(self.load_config(), self.path)

    def find_lexicon(self) -> Path | None:
        """Find the lexicon; None if there is none."""
        check_regular(self.lexicon_path)
        return self.lexicon_path if self.lexicon_path.exists() else None

    def find_aligner(self, alignment: AlignmentName | None = None) -> Path | None:
        """Return the path of the word aligner to align with; None to align by attention.

        By default (`alignment` None), the aligner is used if there is one. InputError if
        `alignment` is "aligner" and there is none.
        """
        check_regular(self.aligner_path)
        if self.aligner_path.exists():
            return None if alignment == "attention" else self.aligner_path
        if alignment == "aligner":
            raise InputError(
                f"{self.aligner_path} is missing: rnnsearch-aligner --model_dir makes it"
            )
        return None

    def read_log(self) -> list[dict[str, Any]]:
        """Read the records of the evaluations from training.jsonl; none before the first.

        InputError if it is not such a file.
        """
        check_regular(self.log_path)
        if not self.log_path.exists():
            return []
        with input_errors(self.log_path):
            lines = self.log_path.read_bytes().splitlines()
        return [self._log_record(line, number) for number, line in enumerate(lines, 1)]

    def _log_record(self, line: bytes, number: int) -> dict[str, Any]:
        with input_errors(f"{self.log_path}: line {number:,}"):
            values = typed(dict[str, Any], parse_json(line))
            typed(int, values.get("updates"), "updates")
            for name, value in values.items():
                typed(str if name in _LOG_TEXTS else int | float | None, value, name)
        return {
            _RENAMED_LOG_FIELDS.get(name, name): math.nan if value is None else value
            for name, value in values.items()
        }

    def write_log(self, records: list[dict[str, Any]]) -> None:
        """Replace training.jsonl, in which numbers that are not finite are null.

        InputError if it cannot be written.
        """
        lines = "".join(
            json.dumps({name: finite_or_none(value) for name, value in record.items()}) + "\n"
            for record in records
        )
        with input_errors(f"{self.log_path}: cannot be written"):
            write_atomically(self.log_path, lines.encode())

    def remove_leftovers(self) -> None:
        """Remove the unfinished files of a training run that was killed while it wrote."""
        for written in self._written():
            for path in self.path.glob(f".{written.name}.*.tmp*"):
                path.unlink(missing_ok=True)

    def remove_training(self) -> None:
        """Remove what a training run has written; a lexicon and other files stay."""
        for folder in (self.checkpoints_path, self.tensorboard_path):
            shutil.rmtree(folder, ignore_errors=True)
        for path in self._written():
            path.unlink(missing_ok=True)

    def _written(self) -> list[Path]:
        """Return the files that a training run writes."""
        weights = self.weights_path(BEST), self.weights_path(LAST)
        vocabularies = self.source_vocabulary_path, self.target_vocabulary_path
        subwords = (self.path / name for name in SUBWORD_FILES)
        return [*weights, self.log_path, self._config_path, *vocabularies, *subwords]

    def weights_path(self, which: str = BEST) -> Path:
        """Return the path of the best or the last weights."""
        return self.path / f"{which}.weights.h5"

    def save_weights(
        self, model: "TranslationModel", which: str, updates: int | None = None
    ) -> None:
        """Write the model's weights after `updates` updates, whole or not at all.

        InputError if they cannot be written, or the config cannot be read.
        """
        from rnnsearch_tf.models.weights_file import write_weights

        config = self.load_config()
        path = self.weights_path(which)
        with (
            input_errors(f"{path}: cannot be written"),
            replacing(path, ".weights.h5") as temporary,
        ):
            # HDF5 crashes on a full disk; its own structures take a few thousand bytes.
            check_space(temporary, 100_000 + 5 * model.count_params())
            write_weights(temporary, model, config, updates)

    def load_model(self, which: str = BEST) -> "TranslationModel":
        """Build the model and read its weights.

        InputError if there are no such weights, or they are damaged, of another model or another
        training run, or not finite.
        """
        from rnnsearch_tf.layers import initializers
        from rnnsearch_tf.models.translation_model import TranslationModel
        from rnnsearch_tf.models.weights_file import read_weights

        self.check_weights(which)
        with initializers.zeros():
            model = TranslationModel(self.load_config().model)
        read_weights(self.weights_path(which), model)
        return model

    def check_weights(self, which: str = BEST) -> str:
        """Check the weights as `load_model` does, without building the model.

        Returns the SHA-256 of their names, shapes and values.
        """
        from rnnsearch_tf.models.weights_file import check_weights

        config = self.load_config()
        return check_weights(self.find_weights(which), config)

    def find_weights(self, which: str = BEST) -> Path:
        """Find the file of the best or the last weights; InputError if there is none."""
        check_choice("weights", which, (BEST, LAST), InputError)
        path = self.weights_path(which)
        check_regular(path)
        if not path.exists():
            raise InputError(f"{self.path}: no {path.name}: training has not saved any yet")
        return path


def find_model(path: str | Path) -> Path:
    """Return a model's folder: `path`, or if there is none, the pretrained model of that name."""
    shipped = SHIPPED / path
    is_name = len(Path(path).parts) == 1 and not Path(path).exists()
    return shipped if is_name and shipped.is_dir() else home_path(path)


def _check_sizes(where: Path, config: Config, source: Vocabulary, target: Vocabulary) -> None:
    """Raise an InputError unless the model has as many words as the vocabularies."""
    sizes = config.model.source_vocabulary_size, config.model.target_vocabulary_size
    if (len(source), len(target)) != sizes:
        raise InputError(
            f"{where}: vocabularies of {len(source):,} and {len(target):,} tokens, but a config "
            f"with vocabulary sizes of {sizes[0]:,} and {sizes[1]:,}"
        )
