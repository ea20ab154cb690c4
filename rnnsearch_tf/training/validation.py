"""The validation set, by which a training is judged."""

import dataclasses

import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sentence_pairs import Pairs, to_sentences, tokenize
from rnnsearch_tf.evaluation.metrics import bleu, nll
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.tf_functions import graph_function
from rnnsearch_tf.training.logs import Evaluation

_GREEDY = DecodingConfig(beam_size=1, max_length_ratio=2.0)


class ValidationSet:
    """Likelihood of given pairs, and BLEU of greedy translations, under a model in training.

    Args:
        model: in training.
        config: its settings.
        directory: where its vocabularies are; complete.
        text: the pairs.

    Attributes:
        translator: the model as it is, with greedy search.
        text: the pairs.
    """

    def __init__(
        self,
        model: TranslationModel,
        config: Config,
        directory: ModelDirectory,
        text: ParallelText,
    ):
        self.text = text
        text_model = TextModel(
            [model],
            dataclasses.replace(config, decoding=_GREEDY),
            directory.source_vocabulary_path,
            directory.target_vocabulary_path,
        )
        self.translator = Translator.of(text_model)
        source, target = directory.load_vocabularies()
        self._pairs = Pairs(
            to_sentences(tokenize(text.source, self.translator.source_tokenizer), source),
            to_sentences(tokenize(text.target, self.translator.target_tokenizer), target),
        )
        ids = tf.TensorSpec([None, None], tf.int32)
        self._token_losses = graph_function(model.token_losses, input_signature=[ids, ids])

    def __call__(self) -> Evaluation:
        """Evaluate the model as it is now."""
        likelihood = nll(self._token_losses, self._pairs)
        found = self.translator.translate(self.text.source, progress=False)
        score = bleu([one.text for one in found], self.text.target).score
        return Evaluation(likelihood.per_token, likelihood.per_sentence, score)
