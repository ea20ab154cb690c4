"""Evaluation on the validation set during training."""

import dataclasses
from collections.abc import Sequence

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.evaluation.unk_free import unknown_word_problems
from rnnsearch_tf.inference.loading import vectorizers_for
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import say
from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training.logs import Evaluation


def greedy_search(config: Config) -> DecodingConfig:
    """Return the options of validation: greedy, with two thirds of the maximum length ratio.

    An untrained model writes up to the limit.
    """
    return DecodingConfig(beam_size=1, max_length_ratio=config.decoding.max_length_ratio * 2 / 3)


def say_problems(
    text: ParallelText, tokenizers: Sequence[Tokenizer], vocabularies: Sequence[Vocabulary]
) -> None:
    """Warn of text that is unfit to validate a model with these words, such as swapped sides."""
    texts = {"the validation source": text.source, "the validation target": text.target}
    for problem in unknown_word_problems(texts, tokenizers, vocabularies):
        say(problem)


class ValidationSet:
    """Likelihood of given pairs, and BLEU of greedy translations, under a model in training.

    `directory` is complete: it has the vocabularies. `translator` has the model's
    current weights and searches greedily.
    """

    def __init__(
        self, model: TranslationModel, config: Config, directory: ModelDirectory, text: ParallelText
    ):
        self.text = text
        self.bleu_signature = bleu(text.target, text.target).signature
        greedy = dataclasses.replace(config, decoding=greedy_search(config))
        self.translator = Translator.of(TextModel([model], greedy, *vectorizers_for(directory)))
        self._evaluator = Evaluator(self.translator)
        tokenizers = self.translator.source_tokenizer, self.translator.target_tokenizer
        say_problems(text, tokenizers, self.translator.vocabularies)
        self._pairs = self._evaluator.pairs(text)

    def __call__(self) -> Evaluation:
        """Evaluate the model as it is now."""
        likelihood = self._evaluator.nll(self._pairs)
        translations = self._evaluator.translate(self.text.source, "validation")
        score = bleu(translations, self.text.target).score
        return Evaluation(likelihood.per_token, likelihood.per_sentence, score)
