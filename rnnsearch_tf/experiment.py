"""From sentence pairs to a trained model directory."""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.callbacks import ProgressBar, Summaries
from rnnsearch_tf.config import Config
from rnnsearch_tf.corpus.parallel import Corpus, ParallelText
from rnnsearch_tf.dataset import kept_lengths
from rnnsearch_tf.development import DevelopmentSet
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.model_directory import ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.preparation import prepare
from rnnsearch_tf.strategy import Workers
from rnnsearch_tf.text import MosesTokenizer, moses_tokenizer
from rnnsearch_tf.training import Trainer

_SAMPLES = 5  # sentences of the development set that TensorBoard shows translated


def train(
    config: Config,
    model_dir: str | Path,
    training: Corpus,
    validation: ParallelText | None = None,
    cache_dir: str | Path | None = None,
    strategy: tf.distribute.Strategy | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> int | None:
    """Train a model, or go on with one that was stopped.

    Args:
        config: settings; vocabulary sizes are upper bounds, their digests are filled in here.
        model_dir: a new folder, or one that a run with the same settings and text has made.
        training: sentence pairs.
        validation: sentence pairs that choose the best weights.
        cache_dir: where the training text is kept in words (see `preparation.prepare`).
        strategy: the devices (see `strategy.build_strategy`).
        callbacks: Keras callbacks beside the progress bar and TensorBoard (see `Trainer`).

    Returns:
        The signal that stopped it, or None.

    Raises:
        InputError: unusable text, or a folder made with other settings or from other text;
            whatever stops the training itself (see `Trainer.run`).
    """
    if validation is None and config.training.early_stopping != "none":
        raise InputError("early stopping needs a development set")
    text = _Text(config, training, cache_dir)
    run = _Run(text, ModelDirectory(model_dir), strategy or tf.distribute.get_strategy())
    with run.alone():
        run.create()
        return run.train(validation, callbacks)


class _Run:
    """A training in a model directory, on this worker."""

    def __init__(self, text: "_Text", directory: ModelDirectory, strategy: tf.distribute.Strategy):
        self._text = text
        self._directory = directory
        self._strategy = strategy
        self._workers = Workers(strategy)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other trainings out of the directory; the chief does."""
        with contextlib.ExitStack() as stack:
            self._on_chief(lambda: stack.enter_context(self._directory.locked()))
            yield

    def create(self) -> None:
        """Write settings and vocabularies, or see that they are those of the directory."""
        config, path = self._text.config, self._directory.path
        self._workers.check_same(
            config.to_json(), f"{path}: settings or training text are not those of the chief"
        )
        self._on_chief(self._create)

    def _create(self) -> None:
        text = self._text
        if self._directory.is_complete():
            _check_same(self._directory, text.config)
        self._directory.create(text.config, text.source_vocabulary, text.target_vocabulary)
        _say(str(text))

    def train(
        self, validation: ParallelText | None, callbacks: Sequence[keras.callbacks.Callback]
    ) -> int | None:
        """Build the model and train it."""
        config = self._text.config
        keras.utils.set_random_seed(config.training.seed)
        with self._strategy.scope(), dtype_policy(config.training.dtype_policy):
            model = TranslationModel(config.model)
        development = (
            DevelopmentSet(model, config, self._directory, validation) if validation else None
        )
        watching = [ProgressBar(), *_summaries(self._directory, development), *callbacks]
        trainer = Trainer(
            config, model, self._directory, self._text.pairs, development, self._strategy, watching
        )
        return trainer.run()

    def _on_chief(self, act: Callable[[], None]) -> None:
        """The others wait for it, and fail with it."""
        problem = None
        if self._workers.is_chief:
            try:
                act()
            except InputError as error:
                problem = str(error)
        self._workers.check(problem)


def _summaries(directory: ModelDirectory, development: DevelopmentSet | None) -> list[Summaries]:
    if development is None:
        return [Summaries(directory.tensorboard_path)]
    samples = [line for line in development.text.source if line.strip()][:_SAMPLES]
    return [Summaries(directory.tensorboard_path, development.translator, samples)]


class _Text:
    """Training text as ids, and the vocabularies made of it."""

    def __init__(self, config: Config, training: Corpus, cache_dir: str | Path | None):
        source, target = map(_tokenizer, (config.source_language, config.target_language))
        self._prepared = prepare(training, source, target, cache_dir)
        sizes = config.model
        self.source_vocabulary = self._prepared.source.vocabulary(sizes.source_vocabulary_size)
        self.target_vocabulary = self._prepared.target.vocabulary(sizes.target_vocabulary_size)
        self.pairs = self._prepared.pairs(self.source_vocabulary, self.target_vocabulary)
        self._kept = int(kept_lengths(self.pairs, config.training.max_length).sum())
        model = dataclasses.replace(
            sizes,
            source_vocabulary_size=len(self.source_vocabulary),
            target_vocabulary_size=len(self.target_vocabulary),
        )
        self.config = dataclasses.replace(
            config,
            model=model,
            source_vocabulary=self.source_vocabulary.digest,
            target_vocabulary=self.target_vocabulary.digest,
            training_text=training.fingerprint(),
        )

    def __str__(self) -> str:
        unknown = (
            self._prepared.source.unknown(self.source_vocabulary),
            self._prepared.target.unknown(self.target_vocabulary),
        )
        return (
            f"{self._kept:,} of {len(self.pairs):,} pairs are short enough; "
            f"vocabularies {len(self.source_vocabulary):,} and {len(self.target_vocabulary):,}, "
            f"unknown {unknown[0]:.1%} and {unknown[1]:.1%} of all words"
        )


_MAY_CHANGE = (
    "epochs", "max_steps", "evaluation_steps", "checkpoint_steps", "patience", "max_skipped",
)  # fmt: skip


def _tokenizer(language: str) -> MosesTokenizer:
    try:
        return moses_tokenizer(language)
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_same(directory: ModelDirectory, config: Config) -> None:
    """How long to train may change: a finished training may go on."""
    found, asked = (_settings(c) for c in (directory.load_config(), config))
    if not found["training_text"]:  # an older version did not write it
        found["training_text"] = asked["training_text"]
    for name, value in found.items():
        if asked[name] != value:
            what = (
                "training text or its vocabulary differs"
                if name.endswith(("_vocabulary", "_text"))
                else f"{name} is {value}, not {asked[name]}"
            )
            raise InputError(f"{directory.path} holds a training with other settings: {what}")


def _settings(config: Config) -> dict[str, Any]:
    """All that may not change between two runs of a training."""
    found = {**dataclasses.asdict(config.model), **dataclasses.asdict(config.training)}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, str):
            found[field.name] = value
    return {name: value for name, value in found.items() if name not in _MAY_CHANGE}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
