"""Evaluation on the validation set during training."""

import dataclasses

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.evaluation.unk_free import mostly_unknown
from rnnsearch_tf.inference.loading import vectorizers_for
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import say
from rnnsearch_tf.training.logs import Evaluation

_GREEDY = DecodingConfig(beam_size=1, max_length_ratio=2.0)


class ValidationSet:
    """Likelihood of given pairs, and BLEU of greedy translations, under a model in training.

    Args:
        model: in training.
        config: its settings.
        directory: complete model directory, which has the vocabularies.
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
            *vectorizers_for(directory),
        )
        vocabularies = directory.load_vocabularies()
        self._evaluator = Evaluator.of(text_model, vocabularies)
        self.translator = self._evaluator.translator
        tokenizers = self.translator.source_tokenizer, self.translator.target_tokenizer
        names = "the validation source", "the validation target"
        for problem in mostly_unknown(
            dict(zip(names, text, strict=True)), tokenizers, vocabularies
        ):
            say(problem)
        self._pairs = self._evaluator.pairs(text)

    def __call__(self) -> Evaluation:
        """Evaluate the model as it is now."""
        likelihood = self._evaluator.nll(self._pairs)
        translations = self._evaluator.translate(self.text.source, progress=False)
        score = bleu(translations, self.text.target).score
        return Evaluation(likelihood.per_token, likelihood.per_sentence, score)
