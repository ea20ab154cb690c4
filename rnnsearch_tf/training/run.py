"""From sentence pairs to a trained model directory."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText
from rnnsearch_tf.data.training_data import TrainingData
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import say
from rnnsearch_tf.training.callbacks import ProgressBar, Summaries
from rnnsearch_tf.training.distribution import Workers
from rnnsearch_tf.training.trainer import Trainer
from rnnsearch_tf.training.validation import ValidationSet

_SAMPLES = 5  # sentences of the validation set that TensorBoard shows translated


def train(
    config: Config,
    model_dir: str | Path,
    training: Corpus,
    validation: ParallelText | None = None,
    cache_dir: str | Path | None = None,
    strategy: tf.distribute.Strategy | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    links: WordAlignmentFiles | None = None,
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
        links: between the words of the training pairs, towards which the attention is guided,
            `config.training.guided_alignment_weight` saying how strongly (see `TrainStep`).

    Returns:
        The signal that stopped it, or None.

    Raises:
        InputError: unusable text or alignments, alignments without a weight or the reverse, or a
            folder made with other settings or from other text; whatever stops the training itself
            (see `Trainer.run`).
    """
    if validation is None and config.training.early_stopping != "none":
        raise InputError("early stopping needs a validation set")
    _check_guided_alignment(config, links)
    text = TrainingData(config, training, cache_dir, links)
    run = _Run(text, ModelDirectory(model_dir), strategy or tf.distribute.get_strategy())
    with run.alone():
        run.create()
        return run.train(validation, callbacks)


class _Run:
    """A training in a model directory, on this worker."""

    def __init__(
        self, text: TrainingData, directory: ModelDirectory, strategy: tf.distribute.Strategy
    ):
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
        say(str(text))

    def train(
        self, validation: ParallelText | None, callbacks: Sequence[keras.callbacks.Callback]
    ) -> int | None:
        """Build the model and train it."""
        config = self._text.config
        keras.utils.set_random_seed(config.training.seed)
        with self._strategy.scope(), dtype_policy(config.training.dtype_policy):
            model = TranslationModel(config.model)
        development = (
            ValidationSet(model, config, self._directory, validation) if validation else None
        )
        watching = [ProgressBar(), *_summaries(self._directory, development), *callbacks]
        trainer = Trainer(
            config,
            model,
            self._directory,
            self._text.pairs,
            development,
            self._strategy,
            watching,
            self._text.links,
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


def _check_guided_alignment(config: Config, links: WordAlignmentFiles | None) -> None:
    weight = config.training.guided_alignment_weight
    if links is None and weight:
        raise InputError(f"--guided_alignment_weight {weight:g} needs --train_alignments")
    if links is not None and not weight:
        raise InputError("--train_alignments needs a --guided_alignment_weight above 0")
    if links is not None and not config.model.has_attention:
        architecture = config.model.architecture
        raise InputError(f"--train_alignments: {architecture} has no attention to guide")


def _summaries(directory: ModelDirectory, development: ValidationSet | None) -> list[Summaries]:
    if development is None:
        return [Summaries(directory.tensorboard_path)]
    samples = [line for line in development.text.source if line.strip()][:_SAMPLES]
    return [Summaries(directory.tensorboard_path, development.translator, samples)]


_MAY_CHANGE = (
    "epochs", "max_updates", "evaluation_interval", "checkpoint_interval", "patience",
    "max_skipped",
)  # fmt: skip


# Settings that are digests: no one wants to read them.
_DIGESTED = {
    **dict.fromkeys(
        ("source_vocabulary", "target_vocabulary", "training_text"),
        "training text or its vocabulary differs",
    ),
    "training_alignments": "training links differ",
}


def _check_same(directory: ModelDirectory, config: Config) -> None:
    """How long to train may change: a finished training may go on."""
    found, asked = (_settings(c) for c in (directory.load_config(), config))
    if not found["training_text"]:  # an older version did not write it
        found["training_text"] = asked["training_text"]
    for name, value in found.items():
        if asked[name] != value:
            what = _DIGESTED.get(name, f"{name} is {value}, not {asked[name]}")
            raise InputError(f"{directory.path} holds a training with other settings: {what}")


def _settings(config: Config) -> dict[str, Any]:
    """All that may not change between two runs of a training."""
    found = {**dataclasses.asdict(config.model), **dataclasses.asdict(config.training)}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, str):
            found[field.name] = value
    return {name: value for name, value in found.items() if name not in _MAY_CHANGE}
