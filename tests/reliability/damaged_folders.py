"""The folders that the package reads, each by the cheapest way that has all its checks."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import tensorflow as tf
from damage import Damaged

from rnnsearch_tf.config import Config, ModelConfig
from rnnsearch_tf.data import preparation
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.prepared_alignments import prepare_alignments
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.inference import exported, loading
from rnnsearch_tf.models import translation_model
from rnnsearch_tf.models.model_directory import BEST, LAST, ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.tokenizers import word_tokenizers_for
from rnnsearch_tf.training.checkpoints import Checkpoints
from rnnsearch_tf.training.optimizers import build_optimizer


@contextlib.contextmanager
def damaged_model(folder: Path) -> Iterator[Damaged]:
    """A model directory: settings, vocabularies and weights."""
    files = ["config.json", "source.vocab", "target.vocab"]
    files += [f"{which}.weights.h5" for which in (BEST, LAST)]

    def read(file: str) -> Any:
        directory = ModelDirectory(folder)
        which = LAST if file.startswith(LAST) else BEST
        vocabularies = [v.tokens for v in directory.load_vocabularies()]
        weights = directory.load_model(which).get_weights()
        return directory.load_config(), vocabularies, weights

    with mock.patch.object(translation_model, "TranslationModel", _Built()):
        damaged = Damaged("model", folder, files, read)
        # Either may be copied over the other: both are whole weights of this training.
        for which in (BEST, LAST):
            damaged.allow(read(which))
        yield damaged


class _Built:
    """In place of `TranslationModel`: building one takes longer than all else."""

    def __init__(self) -> None:
        self._models: dict[ModelConfig, TranslationModel] = {}

    def __call__(self, config: ModelConfig) -> TranslationModel:
        if config not in self._models:
            self._models[config] = TranslationModel(config)
        model = self._models[config]
        _forget(model.weights)
        return model


def _forget(variables: Any) -> None:
    """What is not read afterwards must show."""
    for variable in variables:
        variable.assign(tf.fill(variable.shape, tf.cast(77, variable.dtype)))


@contextlib.contextmanager
def damaged_checkpoint(folder: Path) -> Iterator[Damaged]:
    """The newest two checkpoints of a training run; of a damaged one, the other is taken."""
    directory = ModelDirectory(folder)
    config = directory.load_config()
    model = TranslationModel(config.model)
    optimizer = build_optimizer(config.training, 100)
    optimizer.build(model.trainable_variables)
    variables = [*model.variables, *optimizer.variables]

    def read(_: str) -> Any:
        _forget(variables)
        checkpoints = Checkpoints(directory.checkpoints_path, model=model, optimizer=optimizer)
        checkpoints.restore()
        return [variable.numpy() for variable in variables], str(checkpoints.state)

    path = directory.checkpoints_path
    damaged = Damaged("checkpoint", path, [file.name for file in path.iterdir()], read)
    indices = sorted(path.glob("*.index"), key=lambda file: int(file.stem[5:]))
    if len(indices) > 1:
        hidden = indices[-1].rename(path / "hidden")
        damaged.allow(read(""))
        hidden.rename(indices[-1])
    yield damaged


@contextlib.contextmanager
def damaged_export(version: Path) -> Iterator[Damaged]:
    """An export, read by Python; what TensorFlow is given to load is compared, byte by byte."""
    files = [path.relative_to(version).as_posix() for path in version.rglob("*") if path.is_file()]

    class Loaded:
        best = candidates = score_tokens = align_tokens = None

        def __init__(self, path: str):
            self.files = [(Path(path) / name).read_bytes() for name in sorted(files)
                          if name.startswith(("saved_model", "variables/", "assets/"))]  # fmt: skip

    def read(_: str) -> Any:
        export = exported.Export(version)
        word_tokenizers_for(export.config)
        vocabularies = [v.tokens for v in export.load_vocabularies()]
        return export.config, vocabularies, loading.load_export(export).files

    with mock.patch.object(tf.saved_model, "load", Loaded):
        yield Damaged("export", version, files, read)


@contextlib.contextmanager
def damaged_cache(corpus: Path, folder: Path) -> Iterator[Damaged]:
    """A cache of prepared text and alignments, which are made again where they are damaged."""
    whole = folder.with_name(f"{folder.name}-whole")
    text = ParallelFiles([corpus / "train.en"], [corpus / "train.fr"])
    links = WordAlignmentFiles([corpus / "train.links"], [corpus / "train.en"])
    tokenizers = MosesTokenizer("en"), MosesTokenizer("fr")

    def read(_: str) -> Any:
        prepared = preparation.prepare(text, *tokenizers, folder)
        vocabularies = [side.vocabulary(200) for side in (prepared.source, prepared.target)]
        pairs = prepared.pairs(*vocabularies)
        alignments = prepare_alignments(links, prepared.folder, pairs, text, splits_further=True)
        rows = np.arange(len(pairs))
        return (
            [vocabulary.tokens for vocabulary in vocabularies],
            [side.batch(rows) for side in (pairs.source, pairs.target)],
            [np.array(alignments.links), np.array(alignments.starts)],
        )

    read("")
    shutil.copytree(folder, whole)
    made = {path.name: path for path in whole.iterdir() if path.is_dir()}
    [prepared] = (path for name, path in made.items() if "alignments" not in name)

    def copy(empty: Path, *_: Any) -> None:
        shutil.copytree(prepared, empty, dirs_exist_ok=True)

    files = [f"{path.name}/{file.name}" for path in made.values() for file in path.iterdir()]
    with mock.patch.object(preparation, "_write", copy):
        yield Damaged("cache", folder, files, read)


def untrained(config: Config, like: Path, folder: Path) -> Path:
    """Make a model directory with the vocabularies of another, and weights as they begin."""
    source, target = ModelDirectory(like).load_vocabularies()
    directory = ModelDirectory(folder)
    directory.create(config, source, target)
    for which in (BEST, LAST):
        directory.save_weights(TranslationModel(config.model), which)
    return folder
