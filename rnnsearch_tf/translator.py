"""Text in, text out: tokeniser, vocabulary, encoder, beam search, detokeniser in one module."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.beam_search import Hypotheses
from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.ensemble import Ensemble
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.model_directory import BEST, ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.row_blocks import map_row_blocks
from rnnsearch_tf.search import search
from rnnsearch_tf.text_ids import TextIds, with_end
from rnnsearch_tf.tokenizers import tokenizers_for
from rnnsearch_tf.vocabulary import EOS, PAD
from rnnsearch_tf.weight_storage import FULL, WeightStorage

NOT_FOUND = tf.float32.min  # a score; JSON can carry it, and no minus infinity
_BLOCK_TOKENS = 1_000  # source tokens worked on at a time, with padding
_LINES_AT_ONCE = 256
_TEXT = tf.TensorSpec([None], tf.string, "text")


class Translations(NamedTuple):
    """Texts and their log p(y|x) in nats, in the order asked for."""

    translations: list[str]
    scores: list[float]


class _Best(NamedTuple):
    """The best hypothesis of each sentence; what a blank one gets is a blank and 0."""

    text: tf.Tensor  # string [B]
    score: tf.Tensor  # float32 [B]  log p(y|x), nats
    target: tf.RaggedTensor  # int32 [B, None]  with </s>


class _NBest(NamedTuple):
    """Different translations of each sentence, best first, then empty slots."""

    translations: tf.Tensor  # string [B, N]
    scores: tf.Tensor  # float32 [B, N]  log p(y|x), nats
    normalized_scores: tf.Tensor  # float32 [B, N]  log p(y|x) / |y|^length_penalty


class Translator(tf.Module):
    """One or several trained models that translate strings; what is saved as the SavedModel.

    Sentences are searched in blocks of similar length, so that a long one among many costs only
    itself, and any number of them bounded memory.

    Args:
        models: one, or the members of an ensemble.
        config: for languages and decoding options.
        source_vocabulary: path of source.vocab, an asset of the SavedModel.
        target_vocabulary: path of target.vocab, likewise.
        weights_dtype: what the SavedModel holds the weights in (see `WeightStorage`).

    Attributes:
        config: as given.
        source: the source language's text and ids.
        target: the target language's.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        config: Config,
        source_vocabulary: str | Path,
        target_vocabulary: str | Path,
        weights_dtype: str = FULL,
    ):
        super().__init__()
        self.config = config
        model = models[0] if len(models) == 1 else Ensemble(models)
        weights = [weight for member in models for weight in member.weights]
        # Behind a function, where the module finds no Keras variables: TensorFlow's C++ loader
        # restores copies of those, and not what the signatures read.
        self._model = lambda: model
        if weights_dtype == FULL:
            self._variables = [weight.value for weight in weights]
            self._weights_in_use: Callable[[], Any] = contextlib.nullcontext
        else:
            self._storage = WeightStorage(weights, weights_dtype)
            self._weights_in_use = self._storage.in_use
        source, target = tokenizers_for(config)
        self.source = TextIds(source, source_vocabulary)
        self.target = TextIds(target, target_vocabulary)

    @classmethod
    def load(
        cls,
        path: str | Path | Sequence[str | Path],
        decoding: DecodingConfig | None = None,
        weights: str = BEST,
        weights_dtype: str = FULL,
    ) -> "Translator":
        """Read a model directory, or several as an ensemble.

        Args:
            path: the model directory, or a list of them; languages and decoding options are the
                first one's.
            decoding: instead of the options in its config.
            weights: "best" or "last".
            weights_dtype: what the SavedModel holds the weights in.

        Raises:
            InputError: a directory is absent, incomplete or damaged, or has other vocabularies
                than the first.
        """
        paths = [path] if isinstance(path, str | Path) else path
        directories = [ModelDirectory(one) for one in paths]
        for directory in directories:
            directory.load_vocabularies()  # for its checks
        first, configs = directories[0], [directory.load_config() for directory in directories]
        for directory, config in zip(directories, configs, strict=True):
            if _languages(config) != _languages(configs[0]):
                raise InputError(f"{directory.path}: other vocabularies than {first.path}")
        config = configs[0]
        if decoding is not None:
            config = dataclasses.replace(config, decoding=decoding)
        return cls(
            [directory.load_model(weights) for directory in directories],
            config,
            first.source_vocabulary_path,
            first.target_vocabulary_path,
            weights_dtype,
        )

    @property
    def model(self) -> TranslationModel | Ensemble:
        """The model, or the ensemble."""
        return self._model()

    @tf.function(input_signature=[_TEXT])
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `serving_default`.

        Args:
            text: string [B], one sentence each.

        Returns:
            `translation` string [B]; `score` float32 [B], log p(y|x) in nats of the hypothesis
            with the best decoding score. A blank sentence gives a blank and 0.
        """
        best = self._best(self.source.ids(self._read(text)))
        return {"translation": best.text, "score": best.score}

    @tf.function(input_signature=[_TEXT])
    def align(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `align`: `translate` with its soft alignment.

        Args:
            text: string [B], one sentence each.

        Returns:
            Also `source_tokens` string [B, Tx] and `target_tokens` string [B, Ty], each sentence
            with its `</s>`, then empty strings; `alignment` float32 [B, Ty, Tx], where row i is
            α_i, the weights under which word i was written (zero at padding).
        """
        tokens = self._read(text)
        source = self.source.ids(tokens)
        best = self._best(source)
        return {
            "translation": best.text,
            "score": best.score,
            "source_tokens": with_end(tokens).to_tensor(""),
            "target_tokens": self.target.words(best.target).to_tensor(""),
            "alignment": self._alignments(source, best.target),
        }

    @tf.function(input_signature=[_TEXT])
    def n_best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `nbest`: as many different translations as the beam is wide.

        Args:
            text: string [B], one sentence each.

        Returns:
            `translations` string [B, N], best first; `scores` float32 [B, N], log p(y|x) in nats;
            `normalized_scores` float32 [B, N], log p(y|x) / |y|^length_penalty, by which they are
            ranked. Where no more was found, the text is empty and both scores are the lowest
            float32. A blank sentence has a blank with score 0, and no other.
        """
        source = self.source.ids(self._read(text))
        size = self.config.decoding.beam_size
        empty = tf.zeros([0, size])
        found = map_row_blocks(
            lambda rows: self._n_best_of_block(tf.gather(source, rows)),
            source.row_lengths(),
            _BLOCK_TOKENS,
            _NBest(tf.zeros([0, size], tf.string), empty, empty),
        )
        return found._asdict()

    @tf.function(input_signature=[_TEXT, tf.TensorSpec([None], tf.string, "translation")])
    def score(self, text: tf.Tensor, translation: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `score`: the likelihood of given translations.

        Args:
            text: string [B], one sentence each.
            translation: string [B], of each, by whomever.

        Returns:
            `score` float32 [B], log p(y|x) in nats of the translation's tokens and `</s>`; of
            either text the first `max_length` tokens are read. 0 where both are blank.
        """
        source = self.source.ids(self._read(text))
        target = self.target.ids(self.target.read(translation, self.config.decoding.max_length))
        tf.debugging.assert_equal(source.nrows(), target.nrows(), "as many texts as translations")
        blank = _is_blank(source) & _is_blank(target)
        return {"score": tf.where(blank, 0.0, self._log_probs(source, target))}

    def translate_lines(
        self,
        lines: Sequence[str] | Sequence[bytes],
        report: Callable[[int], None] | None = None,
        lines_at_once: int = _LINES_AT_ONCE,
    ) -> Translations:
        """Translate any number of lines.

        Args:
            lines: one sentence each; bytes are UTF-8, what is not counts as U+FFFD.
            report: called with the number of lines done, now and then.
            lines_at_once: how many are sorted by length and translated together.

        Returns:
            Translations in the order of `lines`, and their log p in nats.
        """
        translations, scores = [], []
        for start in range(0, len(lines), lines_at_once):
            found = self.translate(tf.constant(lines[start : start + lines_at_once]))
            translations += [text.decode() for text in found["translation"].numpy()]
            scores += found["score"].numpy().tolist()
            if report is not None:
                report(len(translations))
        return Translations(translations, scores)

    def source_lengths(self, lines: Sequence[str] | Sequence[bytes]) -> list[int]:
        """Moses tokens of each line, `</s>` not counted."""
        if not lines:
            return []
        tokens = self.source.tokenizer.tokenize(tf.constant(list(lines)))
        return tokens.row_lengths().numpy().tolist()

    def align_lines(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int = 64
    ) -> list[np.ndarray]:
        """Soft alignments of given sentence pairs, the target read by teacher forcing.

        Args:
            sources: sentences.
            targets: their translations, by whomever.
            batch_size: pairs at a time.

        Returns:
            α float32 [Ty, Tx] of each pair over Moses tokens, with the row and column of `</s>`.
        """
        alignments: list[np.ndarray] = [np.empty(0)] * len(sources)
        order = np.argsort([len(line) for line in sources], kind="stable")
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            source = self._ids(self.source, [sources[i] for i in batch])
            target = self._ids(self.target, [targets[i] for i in batch])
            found = self.alignment(source.to_tensor(PAD), target.to_tensor(PAD)).numpy()
            for i, rows, columns, matrix in zip(
                batch, target.row_lengths(), source.row_lengths(), found, strict=True
            ):
                alignments[i] = matrix[:rows, :columns]
        return alignments

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2)
    def alignment(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """α of given pairs by teacher forcing.

        Args:
            source: ids int32 [B, Tx].
            target: ids int32 [B, Ty].

        Returns:
            float32 [B, Ty, Tx], zero where the target is padding.
        """
        with self._weights_in_use():
            found = self.model.alignment(source, target)
        return tf.where((target == PAD)[:, :, None], 0.0, found)

    def search(self, source: tf.Tensor, n_best: int = 1) -> Hypotheses:
        """Beam search for source ids int32 [B, Tx] with the decoding options."""
        with self._weights_in_use():
            return search(self.model, source, self.config.decoding, n_best)

    def _read(self, text: tf.Tensor) -> tf.RaggedTensor:
        return self.source.read(text, self.config.decoding.max_length)

    def _ids(self, side: TextIds, lines: Sequence[str]) -> tf.RaggedTensor:
        return side.ids(side.tokenizer.tokenize(tf.constant(lines)))

    @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)])
    def _best(self, source: tf.RaggedTensor) -> _Best:
        """Of ids [B, None]; a function of its own, for two signatures to share."""
        no_ids = tf.RaggedTensor.from_row_splits(
            tf.zeros([0], tf.int32), tf.zeros([1], tf.int64), validate=False
        )
        return map_row_blocks(
            lambda rows: self._best_of_block(tf.gather(source, rows)),
            source.row_lengths(),
            _BLOCK_TOKENS,
            _Best(tf.zeros([0], tf.string), tf.zeros([0]), no_ids),
        )

    def _best_of_block(self, source: tf.RaggedTensor) -> _Best:
        hypotheses = self.search(source.to_tensor(PAD))
        blank = _is_blank(source)
        tokens = tf.where(blank[:, None], EOS, hypotheses.tokens[:, 0])
        lengths = tf.where(blank, 1, hypotheses.lengths[:, 0])
        target = tf.RaggedTensor.from_tensor(tokens, tf.cast(lengths, tf.int64))
        score = tf.maximum(hypotheses.log_probs[:, 0], NOT_FOUND)
        return _Best(self.target.text(target), tf.where(blank, 0.0, score), target)

    def _n_best_of_block(self, source: tf.RaggedTensor) -> _NBest:
        size = self.config.decoding.beam_size
        hypotheses = self.search(source.to_tensor(PAD), n_best=size)
        shape = tf.shape(hypotheses.lengths)  # [R, N]
        tokens = tf.reshape(hypotheses.tokens, [shape[0] * size, -1])
        lengths = tf.cast(tf.reshape(hypotheses.lengths, [-1]), tf.int64)
        texts = self.target.text(tf.RaggedTensor.from_tensor(tokens, lengths))
        blank = _is_blank(source)[:, None]
        found = _NBest(
            tf.where(blank, "", tf.reshape(texts, shape)),
            tf.where(blank, 0.0, hypotheses.log_probs),
            tf.where(blank, 0.0, hypotheses.scores),
        )
        return _without_repeats(found, hypotheses.lengths > 0)

    def _alignments(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
        """α of ids [B, None] and ids [B, None], float32 [B, Ty, Tx]."""
        longest = tf.stack([target.bounding_shape()[1], source.bounding_shape()[1]])

        def of_block(rows: tf.Tensor) -> tf.Tensor:
            sides = [tf.gather(side, rows).to_tensor(PAD) for side in (source, target)]
            found = self.alignment(*sides)
            missing = longest - tf.shape(found, tf.int64)[1:]
            return tf.pad(found, [[0, 0], [0, missing[0]], [0, missing[1]]])

        empty = tf.zeros(tf.concat([[0], longest], axis=0))
        return map_row_blocks(of_block, _longer(source, target), _BLOCK_TOKENS, empty)

    def _log_probs(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
        """Log p of ids [B, None] given ids [B, None], float32 [B]."""

        def of_block(rows: tf.Tensor) -> tf.Tensor:
            x, y = tf.gather(source, rows), tf.gather(target, rows)
            with self._weights_in_use():
                losses = self.model.word_losses(x.to_tensor(PAD), y.to_tensor(PAD))
            return -tf.math.segment_sum(losses, y.value_rowids())

        return map_row_blocks(of_block, _longer(source, target), _BLOCK_TOKENS, tf.zeros([0]))


def _languages(config: Config) -> tuple[str, ...]:
    return (
        config.source_language,
        config.target_language,
        config.tokenizer,
        config.source_vocabulary,
        config.target_vocabulary,
    )


def _is_blank(ids: tf.RaggedTensor) -> tf.Tensor:
    return ids.row_lengths() == 1  # </s> alone


def _longer(source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
    return tf.maximum(source.row_lengths(), target.row_lengths())


def _without_repeats(found: _NBest, is_found: tf.Tensor) -> _NBest:
    """The first of equal texts, in order, and then slots without one; `is_found` is [B, N]."""
    equal = found.translations[:, :, None] == found.translations[:, None, :]  # [B, N, N]
    slots = tf.range(tf.shape(equal)[1])
    is_earlier = slots[None, :] < slots[:, None]
    is_repeat = tf.reduce_any(equal & is_earlier & is_found[:, None, :], axis=2)
    keep = is_found & ~is_repeat
    order = tf.argsort(tf.cast(~keep, tf.int32), axis=1, stable=True)
    return _NBest(
        tf.gather(tf.where(keep, found.translations, ""), order, batch_dims=1),
        tf.gather(tf.where(keep, found.scores, NOT_FOUND), order, batch_dims=1),
        tf.gather(tf.where(keep, found.normalized_scores, NOT_FOUND), order, batch_dims=1),
    )
