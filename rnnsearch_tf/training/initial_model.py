"""Fine-tuning: the model that a training run begins from, in place of random weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.config import MOSES, Config
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.models.model_directory import ModelDirectory, find_model

if TYPE_CHECKING:  # Keras and TensorFlow are loaded only where they are needed
    from rnnsearch_tf.models.translation_model import TranslationModel

_MAY_GROW = ("source_vocabulary_size", "target_vocabulary_size")
_MAY_DIFFER = ("dropout", "label_smoothing", "r_drop", "initial_weights")
_PREFIXES = ("source_prefixes", "target_prefixes")
_LANGUAGES = ("source_language", "target_language")
_OF_TEXT = (*_LANGUAGES, "tokenizer", "subwords", "joint_subwords")


def prefixes_of(config: Config) -> dict[str, Any]:
    """Return the abbreviations of a model's Moses rules, fields of `Config`."""
    return {name: getattr(config, name) for name in _PREFIXES}


class InitialModel:
    """A model directory whose best weights a training run begins from.

    Architecture, sizes and tokenizer are the initial model's. Its words keep their ids; where the
    new vocabularies are larger, the most frequent new words of the text follow, with random
    weights. The optimizer starts from scratch. InputError as in `ModelDirectory.load_config`.
    """

    def __init__(self, path: str | Path):
        self.directory = ModelDirectory(find_model(path))
        self._config = self.directory.load_config()
        self.prefixes = prefixes_of(self._config)
        # The files of its SentencePiece models; none where its tokens are words.
        self.subwords = self.directory.subword_files()

    def settings_over(self, config: Config) -> Config:
        """Return a config with this model's architecture, sizes, tokenizer and decoding options.

        Candidate words are off: they need a lexicon, which a new model does not have. So is
        `correct_spelling` with subwords, for the new text may be in one case.
        """
        own = self._config
        return config.with_settings(
            model=own.model,
            decoding=own.decoding,
            candidate_words=0,
            correct_spelling=own.decoding.correct_spelling and not self.subwords,
            **{name: getattr(own, name) for name in _OF_TEXT},
        )

    def check(self, config: Config) -> None:
        """Check that a training run with these settings can begin from this model.

        UsageError for another architecture, size or tokenizer, fewer words, or, with the Moses
        tokenizer, another language; to other tokenizers, languages are only names.
        """
        own, given = ({**vars(c), **vars(c.model)} for c in (self._config, config))
        may_differ = (*_MAY_DIFFER, *(() if own["tokenizer"] == MOSES else _LANGUAGES))
        for name in (*_OF_TEXT, *vars(config.model)):
            may_grow = name in _MAY_GROW and not self.subwords
            grows = may_grow and given[name] > own[name]
            if name not in may_differ and given[name] != own[name] and not grows:
                raise UsageError(
                    f"--initial_model {self.directory.path}: its {name} is {own[name]}, "
                    f"not {given[name]}"
                )

    def copy_weights(self, model: "TranslationModel", digest: str) -> None:
        """Copy this model's weights to another model, and leave those of new words as they are.

        InputError if they no longer have this digest, as when this model is still in training.
        """
        initial = self.directory.load_model()
        if self.directory.check_weights() != digest:
            raise InputError(f"--initial_model {self.directory.path}: its weights have changed")
        for weight, own in zip(model.weights, initial.weights, strict=True):
            values = np.array(weight)
            values[tuple(slice(size) for size in own.shape)] = own
            weight.assign(values)
