"""A trained model to what is reported of it."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, each_pair
from rnnsearch_tf.data.sentence_pairs import Pairs, to_sentences, tokenize
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.metrics import (
    Nll,
    bleu,
    bleu_by_length,
    bleu_signature,
    nll,
    tokenized_bleu,
)
from rnnsearch_tf.evaluation.unk_free import unk_free_sentences
from rnnsearch_tf.inference.loading import vectorizers_for
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.reproduction.results import Example, ModelResults, SetScore, SoftAlignment
from rnnsearch_tf.tf_functions import graph_function

SEED = 1  # of all that is drawn at random
TRAINING_SAMPLE = 2_000  # training pairs whose likelihood is reported
LENGTH_BOUNDS = (10, 20, 30, 40, 50, 60)  # of Fig. 2's bins; one more has all that is longer
ALIGNED, ALIGNED_LENGTHS = 4, (10, 20)  # sentences of Fig. 3, and their source tokens
LONG, LONG_LENGTHS = 3, (41, 60)  # sentences of Table 3, and their source tokens
_CANDIDATES = 5 * TRAINING_SAMPLE  # drawn before it is known which are short enough


@dataclasses.dataclass(frozen=True)
class TestText:
    """What the models are judged on.

    Attributes:
        sample: of the training pairs; those too long for a model are passed over.
        validation: the validation set.
        test: the test set.
        by_length: the pairs that BLEU by length is of; may be `test`.
    """

    sample: ParallelText
    validation: ParallelText
    test: ParallelText
    by_length: ParallelText


def training_sample(training: Corpus) -> ParallelText:
    """Draw pairs at random, the same in every run, in one pass over any number of them."""
    drawn: list[tuple[str, str]] = []
    random = np.random.default_rng(SEED)
    for number, pair in enumerate(each_pair(training)):
        if len(drawn) < _CANDIDATES:
            drawn.append(pair)
        elif (place := int(random.integers(number + 1))) < _CANDIDATES:
            drawn[place] = pair
    random.shuffle(drawn)
    return ParallelText([source for source, _ in drawn], [target for _, target in drawn])


def assess(name: str, path: Path, config: Config, text: TestText, hardware: str) -> ModelResults:
    """Evaluate the best weights of a model directory.

    Args:
        name: as the paper calls the model.
        path: the model directory; its training has ended.
        config: for the decoding options, languages and the longest sentences in training.
        text: to evaluate on.
        hardware: what the model was trained on.

    Raises:
        InputError: a model directory that cannot be used, or no short pair in the sample.
    """
    directory = ModelDirectory(path)
    judge = _Judge(directory, config)
    training = judge.short(text.sample, config.training.max_length)
    known = judge.known(text.test)
    translations, replaced = judge.translations(text.test)
    barred = judge.barred(text.test)
    by_length = (
        translations if text.by_length == text.test else judge.translations(text.by_length)[0]
    )
    lengths = judge.lengths(text.by_length)
    last = directory.read_log()[-1]
    return ModelResults(
        name=name,
        max_length=config.training.max_length,
        parameters=judge.parameters(),
        updates=int(last["updates"]),
        epochs=last["epoch"],
        hours=last["training_seconds"] / 3600,
        hardware=hardware,
        train_pairs=len(training.source),
        train_nll=judge.nll(training),
        validation_pairs=len(text.validation.source),
        validation_nll=judge.nll(text.validation),
        all=judge.score(translations, text.test.target),
        all_without_unk=judge.score(barred, text.test.target),
        all_replaced=judge.score(replaced, text.test.target) if replaced else None,
        no_unknown=judge.score_some(barred, text.test.target, known),
        by_length=bleu_by_length(
            by_length, text.by_length.target, lengths, bounds=_bounds(lengths), intervals=True
        ),
        examples=_examples(text.by_length, by_length, lengths),
        alignments=judge.alignments(text.test, known) if config.model.has_attention else [],
        signature=bleu_signature(),
        tokenized_signature=tokenized_bleu(
            translations, text.test.target, judge.tokenizer
        ).signature,
    )


class _Judge:
    """A model with what evaluating it takes."""

    def __init__(self, directory: ModelDirectory, config: Config):
        self._source_vocabulary, self._target_vocabulary = directory.load_vocabularies()
        self._source, self.tokenizer = directory.load_tokenizers()
        self._model = directory.load_model()
        self._attends = config.model.has_attention
        decoding = dataclasses.replace(config.decoding, replace_unknown=self._attends)
        text_model = TextModel(
            [self._model],
            dataclasses.replace(config, decoding=decoding),
            *vectorizers_for(directory),
            lexicon=directory.find_lexicon(),
        )
        self._translator = Translator.of(text_model)
        self._barred = self._translator.with_options(allow_unknown=False, replace_unknown=False)
        self._token_losses = graph_function(
            self._model.token_losses, input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2
        )

    def parameters(self) -> int:
        return int(self._model.count_params())

    def nll(self, text: ParallelText) -> Nll:
        source = to_sentences(tokenize(text.source, self._source), self._source_vocabulary)
        target = to_sentences(tokenize(text.target, self.tokenizer), self._target_vocabulary)
        return nll(self._token_losses, Pairs(source, target))

    def short(self, text: ParallelText, max_length: int) -> ParallelText:
        """The first pairs that a training with this limit takes, as many as are reported."""
        source, target = (
            tokenize(lines, tokenizer).row_lengths().numpy()
            for lines, tokenizer in zip(text, (self._source, self.tokenizer), strict=True)
        )
        usable = (np.minimum(source, target) > 0) & (np.maximum(source, target) <= max_length)
        chosen = np.flatnonzero(usable)[:TRAINING_SAMPLE]
        if not len(chosen):
            raise InputError(f"no pair of the training text's sample has 1 to {max_length} words")
        return ParallelText(*([side[i] for i in chosen] for side in text))

    def lengths(self, text: ParallelText) -> list[int]:
        return self._translator.source_lengths(text.source)

    def known(self, text: ParallelText) -> list[int]:
        return unk_free_sentences(
            text.source,
            text.target,
            (self._source, self.tokenizer),
            (self._source_vocabulary, self._target_vocabulary),
        )

    def translations(self, text: ParallelText) -> tuple[list[str], list[str] | None]:
        """With [UNK], and with it replaced by attention, where there is any."""
        found = self._translator.translate(text.source)
        replaced = [one.text for one in found]
        return self._translator.texts_with_unknown(found), replaced if self._attends else None

    def barred(self, text: ParallelText) -> list[str]:
        """With [UNK] barred from the output."""
        return [found.text for found in self._barred.translate(text.source)]

    def score(self, translations: Sequence[str], references: Sequence[str]) -> SetScore:
        found = bleu(translations, references, intervals=True)
        return SetScore(
            len(references),
            found.score,
            found.interval,
            tokenized_bleu(translations, references, self.tokenizer).score,
        )

    def score_some(
        self, translations: Sequence[str], references: Sequence[str], chosen: Sequence[int]
    ) -> SetScore | None:
        if not chosen:
            return None
        return self.score([translations[i] for i in chosen], [references[i] for i in chosen])

    def alignments(self, text: ParallelText, known: Sequence[int]) -> list[SoftAlignment]:
        """Of a few sentences without unknown words, drawn at random."""
        low, high = ALIGNED_LENGTHS
        lengths = self.lengths(text)
        candidates = [i for i in known if low <= lengths[i] <= high]
        order = np.random.default_rng(SEED).permutation(len(candidates))[:ALIGNED]
        chosen = [text.source[candidates[i]] for i in sorted(order)]
        return [_alignment(self._translator, line) for line in chosen]


def _alignment(translator: Translator, line: str) -> SoftAlignment:
    found = translator.translate(line, return_alignment=True)
    return SoftAlignment(
        list(found.source_tokens),
        list(found.tokens),
        found.alignment.astype(float).round(4).tolist(),
    )


def _bounds(lengths: Sequence[int]) -> list[int]:
    """Fig. 2's bins, the last one as long as its longest sentence."""
    longest = max(lengths)
    return [*LENGTH_BOUNDS, *([longest] if longest > LENGTH_BOUNDS[-1] else [])]


def _examples(
    text: ParallelText, translations: Sequence[str], lengths: Sequence[int]
) -> list[Example]:
    """The first few of the long sentences."""
    low, high = LONG_LENGTHS
    chosen = (i for i, length in enumerate(lengths) if low <= length <= high)
    return [
        Example(text.source[i], text.target[i], translations[i])
        for i in itertools.islice(chosen, LONG)
    ]
