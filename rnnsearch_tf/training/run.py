"""A training run from sentence pairs to a model directory."""

import contextlib
import dataclasses
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.config import SENTENCEPIECE, Config
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, read_all
from rnnsearch_tf.data.training_data import TrainingData
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import check_no_pattern
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import say
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.tf_functions import check_backend
from rnnsearch_tf.training.checks import check_inputs, check_jax, check_same
from rnnsearch_tf.training.distribution import Workers
from rnnsearch_tf.training.initial_model import InitialModel, prefixes_of
from rnnsearch_tf.training.progress_bar import ProgressBar
from rnnsearch_tf.training.tensorboard import Summaries
from rnnsearch_tf.training.trainer import Trainer
from rnnsearch_tf.training.validation import ValidationSet

_SHARED_SECONDS = 45
_SEEDING = threading.Lock()  # random states are those of the process
_SAMPLES = 5  # sentences of the validation set whose translations TensorBoard shows


def train(
    config: Config,
    model_dir: str | Path,
    training: Corpus,
    validation: Corpus | None = None,
    cache_dir: str | Path | None = None,
    strategy: tf.distribute.Strategy | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    alignments: WordAlignmentFiles | None = None,
    subwords: Sequence[str | Path] = (),
    initial_model: str | Path | None = None,
) -> int | None:
    """Train a model, or resume a training run that was stopped.

    Args:
        config: settings; vocabulary sizes are upper bounds, and the digests are filled in here. The
            config of a model directory whose training run began from another model resumes that
            run without `initial_model`.
        model_dir: a new folder, or that of a run with the same settings and text, to resume it.
        training: sentence pairs.
        validation: sentence pairs by which the best weights are chosen.
        cache_dir: for the tokenized training text (see `preparation.prepare`).
        strategy: the devices (see `distribution.build_strategy`).
        callbacks: Keras callbacks besides the progress bar and TensorBoard (see `Trainer`).
        alignments: of the training pairs, for the guided alignment loss, whose weight is
            `config.training.guided_alignment_weight`.
        subwords: files of SentencePiece models, of the source and the target or one for both, in
            place of those learned from the text; a resumed training run has its own.
        initial_model: a model directory whose best weights the run begins from; `config` must have
            its architecture, sizes and tokenizer (see `InitialModel.settings_over`).

    Returns:
        The signal that stopped it, or None.

    Raises:
        TypeError: an argument of another type, or a number of `subwords`.
        InputError: unusable text, alignments or initial model, alignments without a weight or the
            reverse, a folder made with other settings, training text or validation set, a Keras
            backend other than TensorFlow and JAX, and as in `Trainer.run`.
    """
    check_backend("jax")
    _check_types(config, model_dir, training, validation, strategy, callbacks, alignments, subwords)
    if keras.config.backend() == "jax":
        check_jax(config, strategy)
    check_inputs(config, validation is not None, alignments is not None)
    if subwords and (initial_model or config.tokenizer != SENTENCEPIECE):
        raise InputError("subwords: need the tokenizer sentencepiece and no initial model")
    check_no_pattern(model_dir)
    directory = ModelDirectory(model_dir)
    initial = InitialModel(initial_model) if initial_model else None
    known: Sequence[Vocabulary] = ()
    if initial:
        config, known, subwords = _begun(config, initial)
    elif config.initial_model:
        config, known = _resumed(config, directory)
    valid = None if validation is None else _validation_text(validation)
    digest = "" if valid is None else valid.fingerprint()
    config = dataclasses.replace(config, validation_text=digest)
    if directory.is_complete() and (stored := directory.load_config()).training_text:
        text_digest = training.fingerprint()  # before another text is prepared, which takes long
        check_same(directory, dataclasses.replace(stored, training_text=text_digest))
    subwords = subwords or directory.subword_files()
    text = TrainingData(config, training, cache_dir, alignments, subwords, known)
    workers = Workers(strategy or tf.distribute.get_strategy())
    with contextlib.ExitStack() as stack, workers.needed():
        # Other training runs are kept out of the directory.
        _on_chief(workers, lambda: stack.enter_context(directory.locked()))
        _create(directory, text, workers)
        return _train(directory, text, workers, initial, valid, callbacks)


def _check_types(
    config: Any,
    model_dir: Any,
    training: Any,
    validation: Any,
    strategy: Any,
    callbacks: Any,
    alignments: Any,
    subwords: Any,
) -> None:
    """Raise a TypeError for arguments of `train` that are of another type."""
    a_corpus = "ParallelFiles, ParallelText(sources, targets), or another corpus"
    each_callback = callbacks if isinstance(callbacks, Sequence) else ()
    for name, given, kind, expected in (
        ("config", config, Config, 'a Config, such as PRESETS["rnnsearch-small"]'),
        ("model_dir", model_dir, str | Path, "a path"),
        ("strategy", strategy, tf.distribute.Strategy | None, "one that build_strategy makes"),
        ("callbacks", callbacks, Sequence, "a list of them"),
        *(("callbacks", x, keras.callbacks.Callback, "Keras callbacks") for x in each_callback),
        ("training", training, Corpus, a_corpus),
        ("validation", validation, Corpus | None, a_corpus),
        ("alignments", alignments, WordAlignmentFiles | None, "WordAlignmentFiles"),
    ):
        if not isinstance(given, kind):
            raise TypeError(f"{name}: expected {expected}, not {type(given).__name__}")
    if isinstance(subwords, int):
        raise TypeError("subwords: expected model files; Config.subwords sets how many are learned")


def _begun(
    config: Config, initial: InitialModel
) -> tuple[Config, Sequence[Vocabulary], Sequence[Path]]:
    """Take words, abbreviations and subwords from an initial model."""
    initial.check(config)
    digest = initial.directory.check_weights()
    config = dataclasses.replace(config, initial_model=digest, **initial.prefixes)
    return config, initial.directory.load_vocabularies(), initial.subwords


def _resumed(config: Config, directory: ModelDirectory) -> tuple[Config, Sequence[Vocabulary]]:
    """Take words and abbreviations from the directory; its checkpoint has the weights."""
    if not (directory.is_complete() and directory.has_checkpoint):
        raise InputError(
            f"{directory.path}: there is nothing to resume yet, and the settings are those of a "
            "training run with an initial model: give it with --initial_model"
        )
    prefixes = prefixes_of(directory.load_config())
    return dataclasses.replace(config, **prefixes), directory.load_vocabularies()


def _validation_text(validation: Corpus) -> ParallelText:
    """Read the validation set into memory; InputError if it is empty."""
    text = validation if isinstance(validation, ParallelText) else read_all(validation)
    if not text.source:
        raise InputError("the validation set is empty")
    return text


def _create(directory: ModelDirectory, text: TrainingData, workers: Workers) -> None:
    """Write settings and vocabularies, or check that they are those of the directory."""
    config, path = text.config, directory.path

    def create() -> None:
        check_same(directory, config)
        directory.check_resumable()
        directory.create(config, text.source_vocabulary, text.target_vocabulary, text.subwords)
        say(str(text))
        for hint in text.hints():
            say(hint)

    versions = f"rnnsearch_tf {rnnsearch_tf.__version__} and TensorFlow {tf.__version__}"
    workers.check_same(versions, f"this worker has {versions}, unlike the chief")
    workers.check_same(config.to_json(), f"{path}: settings or text are not those of the chief")
    _on_chief(workers, create)
    workers.check(None if _appears(directory) else f"{path}: must be shared by all workers")


def _appears(directory: ModelDirectory) -> bool:
    """Wait for files of another machine: NFS may show an old state for half a minute."""
    end = time.monotonic() + _SHARED_SECONDS
    while not directory.is_complete() and time.monotonic() < end:
        time.sleep(1)
    return directory.is_complete()


def _train(
    directory: ModelDirectory,
    text: TrainingData,
    workers: Workers,
    initial: InitialModel | None,
    validation: ParallelText | None,
    callbacks: Sequence[keras.callbacks.Callback],
) -> int | None:
    """Build the model and train it."""
    config = text.config
    with (
        _seeded(config.training.seed),
        workers.strategy.scope(),
        dtype_policy(config.training.dtype_policy),
    ):
        model = TranslationModel(config.model)
        if initial:
            initial.copy_weights(model, config.initial_model)
    evaluate = _validation_set(model, config, directory, validation) if validation else None
    summaries = _summaries(directory, evaluate)
    with contextlib.closing(ProgressBar()) as bar:
        return Trainer(
            config,
            model,
            directory,
            text.pairs,
            workers=workers,
            evaluate=evaluate,
            callbacks=[bar, summaries, *callbacks],
            alignments=text.links,
            sampled=text.sampled,
        ).run()


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the initial weights of a model, and restore Python's and NumPy's random states after."""
    with _SEEDING:
        before = random.getstate(), np.random.get_state()
        keras.utils.set_random_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])


def _validation_set(
    model: TranslationModel, config: Config, directory: ModelDirectory, text: ParallelText
) -> Any:
    """Make the validation set that evaluates the model."""
    if keras.config.backend() == "jax":
        from rnnsearch_tf.training.jax_validation import JaxValidationSet

        return JaxValidationSet(model, config, directory, text)
    return ValidationSet(model, config, directory, text)


def _summaries(directory: ModelDirectory, validation_set: Any) -> Summaries:
    folder = directory.tensorboard_path
    if validation_set is None or validation_set.translator is None:
        return Summaries(folder)
    pairs = zip(*validation_set.text, strict=True)
    samples = [(source, target) for source, target in pairs if source.strip()][:_SAMPLES]
    return Summaries(folder, validation_set.translator, samples)


def _on_chief(workers: Workers, act: Callable[[], object]) -> None:
    """Act on the chief alone; the other workers wait for it, and fail with it."""
    problem: InputError | None = None
    if workers.is_chief:
        try:
            act()
        except InputError as error:
            problem = error
    workers.check(problem)
