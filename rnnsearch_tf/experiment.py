"""From sentence pairs to a trained model directory."""

import dataclasses
import sys
from pathlib import Path

import keras
import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.corpus.parallel import ParallelText
from rnnsearch_tf.dataset import Pairs, count_words, keep_short, to_ids, tokenize
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation import bleu, nll
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.model_directory import ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.text import MosesTokenizer
from rnnsearch_tf.training import Evaluation, Trainer
from rnnsearch_tf.translator import Translator
from rnnsearch_tf.vocabulary import UNK, Vocabulary


def train(
    config: Config,
    model_dir: str | Path,
    training: ParallelText,
    validation: ParallelText | None = None,
) -> int | None:
    """Train a model, or go on with one that was stopped.

    Args:
        config: settings; vocabulary sizes are upper bounds, their digests are filled in here.
        model_dir: a new folder, or one that a run with the same settings and text has made.
        training: sentence pairs.
        validation: sentence pairs that choose the best weights.

    Returns:
        The signal that stopped it, or None.

    Raises:
        InputError: unusable text, or a folder made with other settings or from other text.
    """
    text = _Text(config, training)
    config = text.config
    directory = ModelDirectory(model_dir)
    if directory.is_complete():
        _check_same(directory, config)
    pairs = keep_short(training, text.pairs, config.training.max_length)
    directory.create(config, text.source_vocabulary, text.target_vocabulary)
    _say(_summary(training, pairs, text))
    keras.utils.set_random_seed(config.training.seed)
    with dtype_policy(config.training.dtype_policy):
        model = TranslationModel(config.model)
    evaluate = _Evaluate(model, directory, text, validation) if validation else None
    return Trainer(config, model, directory, pairs, evaluate).run()


class _Text:
    """Training text as words and ids, and the vocabularies made of it."""

    def __init__(self, config: Config, training: ParallelText):
        self._source = MosesTokenizer(config.source_language)
        self._target = MosesTokenizer(config.target_language)
        source = tokenize(training.source, self._source)
        target = tokenize(training.target, self._target)
        sizes = config.model
        self.source_vocabulary = Vocabulary.build(count_words(source), sizes.source_vocabulary_size)
        self.target_vocabulary = Vocabulary.build(count_words(target), sizes.target_vocabulary_size)
        self.pairs = self._ids(source, target)
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
        )

    def encode(self, text: ParallelText) -> Pairs:
        """Other sentence pairs as ids."""
        return self._ids(tokenize(text.source, self._source), tokenize(text.target, self._target))

    def _ids(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> Pairs:
        return Pairs(to_ids(source, self.source_vocabulary), to_ids(target, self.target_vocabulary))


class _Evaluate:
    """Development-set likelihood, and BLEU of greedy translations."""

    def __init__(
        self,
        model: TranslationModel,
        directory: ModelDirectory,
        text: _Text,
        validation: ParallelText,
    ):
        self._validation = validation
        self._pairs = text.encode(validation)
        self._word_losses = tf.function(
            model.word_losses, input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2
        )
        greedy = DecodingConfig(beam_size=1, max_length_ratio=2.0)
        self._translator = Translator(
            model,
            dataclasses.replace(text.config, decoding=greedy),
            directory.source_vocabulary_path,
            directory.target_vocabulary_path,
        )

    def __call__(self) -> Evaluation:
        likelihood = nll(self._word_losses, self._pairs)
        translations = self._translator.translate_lines(self._validation.source).translations
        score = bleu(translations, self._validation.target).score
        return Evaluation(likelihood.per_token, likelihood.per_sentence, score)


def _check_same(directory: ModelDirectory, config: Config) -> None:
    """The number of epochs may change: a finished training may go on."""
    found, asked = (
        {**dataclasses.asdict(c), **dataclasses.asdict(c.model), **dataclasses.asdict(c.training)}
        for c in (directory.load_config(), config)
    )
    for name in ("model", "training", "decoding", "epochs"):
        found.pop(name), asked.pop(name)
    for name, value in found.items():
        if asked[name] != value:
            what = (
                "training text or its vocabulary differs"
                if name.endswith("_vocabulary")
                else f"{name} is {value}, not {asked[name]}"
            )
            raise InputError(f"{directory.path} holds a training with other settings: {what}")


def _summary(training: ParallelText, pairs: Pairs, text: _Text) -> str:
    unknown = [
        float(tf.reduce_mean(tf.cast(side.flat_values == UNK, tf.float32))) for side in pairs
    ]
    return (
        f"{len(pairs):,} of {len(training.source):,} pairs are short enough; vocabularies "
        f"{len(text.source_vocabulary):,} and {len(text.target_vocabulary):,}, "
        f"unknown {unknown[0]:.1%} and {unknown[1]:.1%} of the words"
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
