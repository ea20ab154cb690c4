"""Exports on disk, read without TensorFlow: their versions, descriptions and vocabularies."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnsearch_tf.config import SENTENCEPIECE, Config, DecodingConfig, ModelConfig, read_settings
from rnnsearch_tf.digests import unsealed
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.files import check_regular, home_path
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.models.model_directory import BEST, ModelDirectory
from rnnsearch_tf.text.vocabulary import Vocabulary

CARD = "model.json"  # beside the graph: what it was made of (see `serving.model_card`)
SUBWORDS = Path("assets.extra")  # the folder of SentencePiece models
_GRAPH = "saved_model.pb"
_TEXT_SETTINGS = ("source_language", "target_language", "tokenizer")
_PREFIXES = ("source_prefixes", "target_prefixes")
_IN_COMMON = (  # of an ensemble's members
    *_TEXT_SETTINGS, *_PREFIXES,
    "source_vocabulary", "target_vocabulary", "source_subwords", "target_subwords",
)  # fmt: skip


def versions(export_dir: Path) -> dict[int, Path]:
    """Find names of versions in a folder that a server watches, by number, as a server does."""
    paths = export_dir.iterdir() if export_dir.is_dir() else ()
    return {int(p.name): p for p in paths if p.name.isascii() and p.name.isdigit()}


def new_version(export_dir: str | Path, version: int | None = None) -> Path:
    """Return the folder of a new version to be exported, by default one above the highest."""
    export_dir = home_path(export_dir)
    if (export_dir / _GRAPH).exists():
        raise InputError(f"{export_dir} is an export; name the folder of versions that it is in")
    if version is None:
        version = 1 + max(versions(export_dir), default=0)
    if version < 1:
        raise InputError(f"version {version}: must be positive")
    target = export_dir / str(version)
    if target.exists():
        raise InputError(f"{target} exists; nothing was overwritten")
    return target


def find_version(path: str | Path) -> Path | None:
    """Find the folder of an export: `path` itself, or the highest version in it; None elsewhere.

    A model directory is none, even with an export inside.
    """
    path = home_path(path)
    if (path / _GRAPH).exists():
        return path
    if ModelDirectory(path).is_complete():
        return None
    folders = {number: folder for number, folder in versions(path).items() if folder.is_dir()}
    return folders[max(folders)] if folders else None


class Export:
    """The folder of a version, as its card describes it.

    InputError for a card that is missing, damaged, or that this version of the package cannot read.
    """

    path: Path
    config: Config  # languages, tokenizer, decoding options, first model; the rest is the default
    alignment: str  # "attention" or "aligner"
    aligns: bool  # by the attention of any of its models, or by an aligner
    files: Any  # SHA-256 by path; exports of 0.1.0 have none

    def __init__(self, path: Path):
        self.path = path
        check_regular(path / CARD)
        values = read_json(path / CARD)
        try:
            card = unsealed(typed(dict[str, Any], values))
            first = card["models"][0]
            settings = {name: card.get(name) for name in (*_TEXT_SETTINGS, "decoding")}
            settings.update((name, first.get(name, "")) for name in _PREFIXES)
            models = [read_settings(ModelConfig, one["model"]) for one in card["models"]]
            self.config = dataclasses.replace(read_settings(Config, settings), model=models[0])
            self.alignment = card.get("alignment", "attention")
            self.aligns = self.alignment == "aligner" or any(one.has_attention for one in models)
            self.files = card.get("files", {})
            self._vocabularies = {s: first[f"{s}_vocabulary"] for s in ("source", "target")}
        except (LookupError, TypeError, ValueError) as error:
            reason = f"not of an export by this version of the package: {first_line(error)}"
            raise InputError(f"{path / CARD}: {reason}") from error

    def load_vocabularies(self) -> tuple[Vocabulary, Vocabulary]:
        """Read source and target; InputError if a file is missing or not the model's."""
        source, target = (
            Vocabulary.load(self.path / "assets" / f"{side}.vocab", digest)
            for side, digest in self._vocabularies.items()
        )
        return source, target

    def check_options(
        self,
        decoding: DecodingConfig | None = None,
        alignment: str | None = None,
        weights: str = BEST,
    ) -> None:
        """Raise an InputError for options that differ from the export's own."""
        if decoding not in (None, self.config.decoding):
            raise InputError(f"{self.path}: an export always uses its own decoding options")
        if alignment not in (None, self.alignment):
            raise InputError(
                f"{self.path}: an export always uses its own alignment, {self.alignment}"
            )
        if weights != BEST:
            raise InputError(f"{self.path}: an export has one set of weights")


def check_models(paths: Sequence[str | Path], weights: str) -> Config:
    """Check a model directory, an export, or the model directories of an ensemble.

    Return the first one's settings; the values of the weights are not read. InputError if a folder
    is absent, incomplete or damaged, or has other vocabularies than the first, or if its tokenizer
    is not installed.
    """
    if len(paths) == 1 and (version := find_version(paths[0])):
        export = Export(version)
        _check_tokenizer(export.config)
        export.load_vocabularies()  # for its checks
        export.check_options(weights=weights)
        return export.config
    if exports := [path for path in paths if find_version(path)]:
        raise InputError(f"{exports[0]} is an export: an ensemble takes model directories")
    directories = [ModelDirectory(path) for path in paths]
    configs: list[Config] = []
    for directory in directories:
        directory.load_vocabularies()  # for its checks
        directory.find_weights(weights)
        configs.append(directory.load_config())
        _check_tokenizer(configs[-1])
        if other := _difference(configs[-1], configs[0]):
            raise InputError(f"{directory.path}: other {other} than {directories[0].path}")
    return configs[0]


def _difference(config: Config, first: Config) -> str | None:
    """Say why a member of an ensemble reads or writes other tokens than the first."""
    for name in _IN_COMMON:
        value = getattr(config, name)
        if value != getattr(first, name):
            return f"{name} ({value})" if name in _TEXT_SETTINGS else "vocabularies"
    return None


def _check_tokenizer(config: Config) -> None:
    if config.tokenizer == SENTENCEPIECE:
        require_package("tensorflow_text")
