"""Evaluation of a model on sentence pairs."""

import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sentence_pairs import Pairs, to_pairs, tokenize
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.calibration import Calibration, calibration
from rnnsearch_tf.evaluation.length_bins import bleu_by_length
from rnnsearch_tf.evaluation.likelihood import Nll
from rnnsearch_tf.evaluation.metrics import Reference
from rnnsearch_tf.evaluation.scores import SetScores, TranslationScores, score_set
from rnnsearch_tf.evaluation.significance import compare
from rnnsearch_tf.evaluation.unk_free import unk_free_sentences
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.progress import counted, say
from rnnsearch_tf.results import Translation
from rnnsearch_tf.text.tokenizers import splits_words
from rnnsearch_tf.text.vocabulary import PAD
from rnnsearch_tf.tf_functions import graph_function

_IDS = tf.TensorSpec([None, None], tf.int32)
_PAIRS_AT_ONCE = 80


class Evaluator:
    """Evaluates a model: its translations of a test set, and its likelihood of given pairs.

    `nll` and `calibration` need the model itself, which an export does not have.
    """

    def __init__(self, translator: Translator):
        self.translator = translator
        self.missing = 0  # translations so far without a finite score
        self._vocabularies = translator.vocabularies
        self._model = translator.model
        # The model's tokens go with its vocabularies. Length bins and tokenized BLEU count words.
        self._tokenizers = translator.source_tokenizer, translator.target_tokenizer
        self._word_tokenizers = [tokenizer.word_tokenizer for tokenizer in self._tokenizers]

    def translate(self, lines: Sequence[str], name: str = "line") -> list[str]:
        """Translate with the decoding options as they are; the progress counts `name`."""
        stream = self.translator.translate_stream(lines, text_only=True)
        return self._texts(list(counted(stream, name, len(lines))))

    def translate_and_replace(self, lines: Sequence[str]) -> tuple[list[str], list[str] | None]:
        """Translate once, for translations with [UNK] and with [UNK] replaced.

        The latter, by way of the attention, are None if that cannot be done or the decoding
        options leave no [UNK].
        """
        if self._replacing is None:
            return self.translate(lines), None
        results = self._replacing.translate(lines)
        return self._replacing.texts_with_unknown(results), self._texts(results)

    def translate_without_unk(self, lines: Sequence[str]) -> list[str]:
        """Translate with [UNK] not allowed in the output; InputError for an export."""
        translator = self.translator.with_options(allow_unknown=False, replace_unknown=False)
        return self._texts(translator.translate(lines))

    def translate_and_align(self, line: str) -> Translation:
        """Translate a sentence, with its soft alignment."""
        translator = self._replacing or self.translator  # the one whose graphs are there already
        return translator.translate(line, return_alignment=True)

    @functools.cached_property
    def _replacing(self) -> Translator | None:
        options = self.translator.config.decoding
        has_subwords = splits_words(self.translator.target_tokenizer)  # and so no [UNK]
        if options.replace_unknown or not options.allow_unknown or has_subwords:
            return None
        try:
            return self.translator.with_options(replace_unknown=True)
        except InputError:  # an export, or a model without attention
            return None

    def pairs(self, text: ParallelText) -> Pairs:
        """Return sentence pairs as ids of the model's tokens; errors of `ParallelText.check`."""
        text = ParallelText(*text)
        text.check()
        return to_pairs(text, self._tokenizers, self._vocabularies)

    def nll(self, pairs: Pairs) -> Nll:
        """Compute −log p of given pairs, without dropout; ValueError without a model."""
        total, tokens = 0.0, 0
        for batch in ordered_batches(pairs, _PAIRS_AT_ONCE, "scored batch"):
            losses = self._token_losses(batch["source"], batch["target"])
            total += float(tf.reduce_sum(losses))
            tokens += int(tf.size(losses))
        return Nll(total / tokens, total / len(pairs))

    @functools.cached_property
    def _token_losses(self) -> tf.types.experimental.PolymorphicFunction:
        if self._model is None:
            raise ValueError("the likelihood needs a model in memory, not an export")
        return graph_function(self._model.token_losses, input_signature=[_IDS, _IDS])

    def calibration(self, pairs: Pairs, batch_size: int = 16) -> Calibration:
        """Measure the calibration on given pairs, without dropout; ValueError without a model.

        `</s>` and [UNK] count as tokens. p is over the whole vocabulary, whatever the decoding
        options are.
        """
        batches = ordered_batches(pairs, batch_size, "calibrated batch")
        found = [self._predictions(batch["source"], batch["target"]) for batch in batches]
        return calibration(*map(np.concatenate, zip(*found, strict=True)))

    @functools.cached_property
    def _predictions(self) -> tf.types.experimental.PolymorphicFunction:
        """Return a function from ids to p of the most probable token, and whether it is correct.

        Both are of the N positions that are not padding: float32 [N] and bool [N].
        """
        if (model := self._model) is None:
            raise ValueError("the calibration needs a model in memory, not an export")

        @functools.partial(graph_function, input_signature=[_IDS, _IDS])
        def predict(source: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            logits = tf.cast(model({"source": source, "target": target}), tf.float32)
            is_right = tf.argmax(logits, axis=2, output_type=target.dtype) == target
            best = tf.exp(tf.reduce_max(logits, axis=2) - tf.reduce_logsumexp(logits, axis=2))
            return tuple(tf.boolean_mask(x, target != PAD) for x in (best, is_right))

        return predict

    def source_lengths(self, lines: Sequence[str]) -> list[int]:
        """Return the number of words of each source sentence."""
        return tokenize(lines, self._word_tokenizers[0]).row_lengths().numpy().tolist()

    def score(
        self,
        translations: Sequence[str],
        references: Sequence[Reference],
        rows: Sequence[int] | None = None,
    ) -> SetScores:
        """Score translations by every metric; as `score_set`."""
        return score_set(translations, references, self._word_tokenizers[1], rows)

    def evaluate(
        self,
        translations: Sequence[str],
        sources: Sequence[str],
        references: Sequence[Reference],  # detokenized; as many of each sentence
        replaced: Sequence[str] | None = None,  # the translations with [UNK] replaced
        systems: Mapping[str, Sequence[str]] | None = None,  # others' translations
    ) -> TranslationScores:
        """Score translations of a test set: all, those without unknown words, and by length.

        Other systems' are compared with them (see `significance.compare`).
        """
        sources = list(sources)  # of a pandas column, too
        unk_free = unk_free_sentences(self.translator, sources, references)
        lengths = self.source_lengths(sources)
        return TranslationScores(
            self.score(translations, references),
            self.score(translations, references, unk_free) if unk_free else None,
            bleu_by_length(translations, references, lengths),
            None if replaced is None else self.score(replaced, references),
            [
                compare(name, translations, lines, references, lengths)
                for name, lines in (systems or {}).items()
            ],
        )

    def _texts(self, results: Sequence[Translation]) -> list[str]:
        """Return the best hypotheses' texts, and tell how many have no finite score."""
        missing = sum(not math.isfinite(result.score) for result in results)
        self.missing += missing
        if missing:
            say(f"{missing:,} of {len(results):,} lines: no translation with a finite score")
        return [result.text for result in results]
