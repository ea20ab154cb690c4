"""Strings in, strings out, as graph functions: the signatures of the SavedModel lie here."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.decoding.beam_search import Hypotheses
from rnnsearch_tf.decoding.model_search import search
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.length_batching import map_by_length
from rnnsearch_tf.inference.unk_replacement import UnkReplacement
from rnnsearch_tf.inference.weight_storage import FULL, WeightStorage
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.tokenizers import tokenizers_for
from rnnsearch_tf.text.vectorizer import TextVectorizer, with_end
from rnnsearch_tf.text.vocabulary import EOS, PAD
from rnnsearch_tf.tf_functions import graph_function

NOT_FOUND = tf.float32.min  # a score; JSON can carry it, and no minus infinity
_BLOCK_TOKENS = 1_000  # source tokens worked on at a time, with padding
_TEXT = tf.TensorSpec([None], tf.string, "text")
_TOKENS = tf.TensorSpec([None, None], tf.string)
_RAGGED_IDS = tf.RaggedTensorSpec([None, None], tf.int32)


class _Best(NamedTuple):
    """The best hypothesis of each sentence; what a blank one gets is a blank and 0."""

    text: tf.Tensor  # string [B]
    score: tf.Tensor  # float32 [B]  log p(y|x), nats
    normalized_score: tf.Tensor  # float32 [B]  log p(y|x) / |y|^length_penalty
    target: tf.RaggedTensor  # int32 [B, None]  with </s>


class _NBest(NamedTuple):
    """Hypotheses of each sentence with different texts, best first, then empty slots."""

    text: tf.Tensor  # string [B, N]
    score: tf.Tensor  # float32 [B, N]
    normalized_score: tf.Tensor  # float32 [B, N]
    target: tf.RaggedTensor  # int32 [B, None]  those of all N, each with </s>, one after another
    length: tf.Tensor  # int32 [B, N]  tokens of each, </s> counted; 0 in an empty slot


class TextModel(tf.Module):
    """One or several trained models that translate strings; what is saved as the SavedModel.

    Sentences are searched in blocks of similar length, so that a long one among many costs only
    itself, and any number of them bounded memory.

    Beside the signatures there are functions for `Translator`, which give and take tokens.

    Args:
        models: one, or the members of an ensemble.
        config: for languages and decoding options.
        source_vocabulary: path of source.vocab, an asset of the SavedModel.
        target_vocabulary: path of target.vocab, likewise.
        weights_dtype: what the SavedModel holds the weights in (see `WeightStorage`).
        lexicon: path of lexicon.tsv, likewise an asset, for unknown words (see `UnkReplacement`).

    Attributes:
        config: as given.
        source: the source language's text and ids.
        target: the target language's.

    Raises:
        InputError: unknown words are to be replaced, and a model has no attention.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],
        config: Config,
        source_vocabulary: str | Path,
        target_vocabulary: str | Path,
        weights_dtype: str = FULL,
        lexicon: str | Path | None = None,
    ):
        super().__init__()
        self.config = config
        model = models[0] if len(models) == 1 else Ensemble(models)
        weights = [weight for member in models for weight in member.weights]
        # Behind a function, where the module finds no Keras variables: TensorFlow's C++ loader
        # restores copies of those, and not what the signatures read.
        self._model = lambda: model
        self._with_config = lambda other: TextModel(
            models, other, source_vocabulary, target_vocabulary, weights_dtype, lexicon
        )
        if weights_dtype == FULL:
            self._variables = [weight.value for weight in weights]
            self._weights_in_use: Callable[[], Any] = contextlib.nullcontext
        else:
            self._storage = WeightStorage(weights, weights_dtype)
            self._weights_in_use = self._storage.in_use
        source, target = tokenizers_for(config)
        self.source = TextVectorizer(source, source_vocabulary)
        self.target = TextVectorizer(target, target_vocabulary)
        self._unknown_words: UnkReplacement | None = None
        if config.decoding.replace_unknown:
            if not all(member.config.has_attention for member in models):
                raise InputError("unknown words are replaced by attention, which RNNencdec lacks")
            self._unknown_words = UnkReplacement(lexicon)

    def with_decoding(self, decoding: DecodingConfig) -> "TextModel":
        """The same models, not read again, with other decoding options; errors as the class."""
        return self._with_config(dataclasses.replace(self.config, decoding=decoding))

    @property
    def model(self) -> TranslationModel | Ensemble:
        """The model, or the ensemble."""
        return self._model()

    @graph_function(input_signature=[_TEXT])
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `serving_default`.

        Args:
            text: string [B], one sentence each.

        Returns:
            `translation` string [B]; `score` float32 [B], log p(y|x) in nats of the hypothesis
            with the best decoding score. A blank sentence gives a blank and 0.
        """
        best = self._best(self._read(text))
        return {"translation": best.text, "score": best.score}

    @graph_function(input_signature=[_TEXT])
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
        best = self._best(tokens)
        return {
            "translation": best.text,
            "score": best.score,
            "source_tokens": with_end(tokens).to_tensor(""),
            "target_tokens": self.target.words(best.target).to_tensor(""),
            "alignment": self._alignments(self.source.ids(tokens), best.target),
        }

    @graph_function(input_signature=[_TEXT])
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
        found = self._n_best(self._read(text))
        return {
            "translations": found.text,
            "scores": found.score,
            "normalized_scores": found.normalized_score,
        }

    @graph_function(input_signature=[_TEXT, tf.TensorSpec([None], tf.string, "translation")])
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
        return {"score": self._log_probs(source, target)}

    @graph_function(input_signature=[_TEXT])
    def best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The best hypothesis of each sentence with all that is known of it.

        Args:
            text: string [B], one sentence each.

        Returns:
            `source_tokens` string [B, Tx] with `</s>`, then empty strings; `text` string [B, 1],
            `score` and `normalized_score` float32 [B, 1] in nats; `length` int32 [B, 1], tokens
            with `</s>`; `target_tokens` string [B, Ty], then empty strings.
        """
        tokens = self._read(text)
        found = self._best(tokens)
        length = tf.cast(found.target.row_lengths(), tf.int32)
        text, score, normalized_score = (x[:, None] for x in found[:3])
        alone = _NBest(text, score, normalized_score, found.target, length[:, None])
        return self._described(tokens, alone)

    @graph_function(input_signature=[_TEXT])
    def candidates(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `best`, of as many hypotheses as the beam is wide.

        Args:
            text: string [B], one sentence each.

        Returns:
            As `best` with N columns in place of one; `length` is 0 where no more was found, and
            `target_tokens` has the tokens of all N, one hypothesis after another.
        """
        tokens = self._read(text)
        return self._described(tokens, self._n_best(tokens))

    @graph_function(input_signature=[_TOKENS, _TOKENS])
    def score_tokens(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """Log p of given tokens, float32 [B] in nats, `</s>` counted.

        Args:
            source: string [B, Tx], without `</s>`, then empty strings.
            target: string [B, Ty], likewise.
        """
        return self._log_probs(*self._ids(source, target))

    @graph_function(input_signature=[_TOKENS, _TOKENS])
    def align_tokens(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """α of given tokens by teacher forcing, float32 [B, Ty + 1, Tx + 1], zero at padding.

        Args:
            source: string [B, Tx], without `</s>`, then empty strings.
            target: string [B, Ty], likewise.
        """
        return self._alignments(*self._ids(source, target))

    def search(self, source: tf.Tensor, n_best: int = 1) -> Hypotheses:
        """Beam search for source ids int32 [B, Tx] with the decoding options."""
        with self._weights_in_use():
            return search(self.model, source, self.config.decoding, n_best)

    @graph_function(input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2)
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

    def _read(self, text: tf.Tensor) -> tf.RaggedTensor:
        return self.source.read(text, self.config.decoding.max_length)

    def _ids(self, source: tf.Tensor, target: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Padded tokens [B, T] to ids with `</s>`, [B, None]."""
        sides = (self.source, source), (self.target, target)
        x, y = (side.ids(tf.RaggedTensor.from_tensor(words, padding="")) for side, words in sides)
        return x, y

    def _described(self, tokens: tf.RaggedTensor, found: _NBest) -> dict[str, tf.Tensor]:
        return {
            "source_tokens": with_end(tokens).to_tensor(""),
            "text": found.text,
            "score": found.score,
            "normalized_score": found.normalized_score,
            "length": found.length,
            "target_tokens": self.target.words(found.target).to_tensor(""),
        }

    # The next three are functions of their own for others to share what they trace.

    @graph_function(input_signature=[tf.RaggedTensorSpec([None, None], tf.string)])
    def _best(self, tokens: tf.RaggedTensor) -> _Best:
        """Of source tokens [B, None]."""
        empty = tf.zeros([0])
        return map_by_length(
            lambda rows: self._best_of_block(tf.gather(tokens, rows)),
            tokens.row_lengths() + 1,
            _BLOCK_TOKENS,
            _Best(tf.zeros([0], tf.string), empty, empty, _no_ids()),
        )

    @graph_function(input_signature=[tf.RaggedTensorSpec([None, None], tf.string)])
    def _n_best(self, tokens: tf.RaggedTensor) -> _NBest:
        """Of source tokens [B, None]."""
        size = self.config.decoding.beam_size
        empty = tf.zeros([0, size])
        nothing = _NBest(
            tf.zeros([0, size], tf.string), empty, empty, _no_ids(), tf.zeros([0, size], tf.int32)
        )
        return map_by_length(
            lambda rows: self._n_best_of_block(tf.gather(tokens, rows)),
            tokens.row_lengths() + 1,
            _BLOCK_TOKENS,
            nothing,
        )

    @graph_function(input_signature=[_RAGGED_IDS, _RAGGED_IDS])
    def _log_probs(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
        """Log p of ids [B, None] given ids [B, None], float32 [B]; of a blank and a blank, 0."""

        def of_block(rows: tf.Tensor) -> tf.Tensor:
            x, y = tf.gather(source, rows), tf.gather(target, rows)
            with self._weights_in_use():
                losses = self.model.token_losses(x.to_tensor(PAD), y.to_tensor(PAD))
            return -tf.math.segment_sum(losses, y.value_rowids())

        found = map_by_length(of_block, _longer(source, target), _BLOCK_TOKENS, tf.zeros([0]))
        return tf.where(_longer(source, target) == 1, 0.0, found)

    def _alignments(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
        """α of ids [B, None] and ids [B, None], float32 [B, Ty, Tx]."""
        longest = tf.stack([target.bounding_shape()[1], source.bounding_shape()[1]])

        def of_block(rows: tf.Tensor) -> tf.Tensor:
            sides = [tf.gather(side, rows).to_tensor(PAD) for side in (source, target)]
            found = self.alignment(*sides)
            missing = longest - tf.shape(found, tf.int64)[1:]
            return tf.pad(found, [[0, 0], [0, missing[0]], [0, missing[1]]])

        empty = tf.zeros(tf.concat([[0], longest], axis=0))
        return map_by_length(of_block, _longer(source, target), _BLOCK_TOKENS, empty)

    def _best_of_block(self, tokens: tf.RaggedTensor) -> _Best:
        source = self.source.ids(tokens).to_tensor(PAD)
        hypotheses = self.search(source)
        blank = tokens.row_lengths() == 0
        ids = tf.where(blank[:, None], EOS, hypotheses.tokens[:, 0])
        lengths = tf.where(blank, 1, hypotheses.lengths[:, 0])
        target = tf.RaggedTensor.from_tensor(ids, tf.cast(lengths, tf.int64))
        score, normalized_score = (
            tf.where(blank, 0.0, tf.maximum(x[:, 0], NOT_FOUND))
            for x in (hypotheses.log_probs, hypotheses.scores)
        )
        return _Best(self._text(tokens, source, target), score, normalized_score, target)

    def _n_best_of_block(self, tokens: tf.RaggedTensor) -> _NBest:
        size = self.config.decoding.beam_size
        source = self.source.ids(tokens).to_tensor(PAD)
        hypotheses = self.search(source, n_best=size)
        blank = (tokens.row_lengths() == 0)[:, None]
        ids = tf.where(blank[:, :, None], EOS, hypotheses.tokens)
        lengths = tf.where(blank, [[1] + [0] * (size - 1)], hypotheses.lengths)
        return without_repeats(
            self._texts(tokens, source, ids, lengths),
            tf.where(blank, 0.0, hypotheses.log_probs),
            tf.where(blank, 0.0, hypotheses.scores),
            ids,
            lengths,
        )

    def _texts(
        self, tokens: tf.RaggedTensor, source: tf.Tensor, ids: tf.Tensor, lengths: tf.Tensor
    ) -> tf.Tensor:
        """Of all hypotheses [R, N, T], of which `lengths` [R, N] count, string [R, N]."""
        shape = tf.shape(lengths)
        targets = tf.RaggedTensor.from_tensor(
            tf.reshape(ids, [shape[0] * shape[1], -1]),
            tf.cast(tf.reshape(lengths, [-1]), tf.int64),
        )
        each = tf.repeat(tf.range(shape[0]), shape[1])
        texts = self._text(tf.gather(tokens, each), tf.gather(source, each), targets)
        return tf.reshape(texts, shape)

    def _text(
        self, tokens: tf.RaggedTensor, source: tf.Tensor, target: tf.RaggedTensor
    ) -> tf.Tensor:
        """Target ids [R, None], each row with its `</s>` or empty, to text, string [R].

        `tokens` and `source` are the words [R, None] and ids [R, Tx] that they translate.
        """
        words = self.target.words(target[:, :-1])
        if self._unknown_words is not None:
            ids = target.to_tensor(PAD)
            words = self._unknown_words.replaced(words, tokens, lambda: self.alignment(source, ids))
        return self.target.tokenizer.detokenize(words)


def without_repeats(
    text: tf.Tensor,
    score: tf.Tensor,
    normalized_score: tf.Tensor,
    tokens: tf.Tensor,
    length: tf.Tensor,
) -> _NBest:
    """The first of equal texts, in order, and then slots without one.

    Args:
        text: string [R, N].
        score: float32 [R, N].
        normalized_score: float32 [R, N].
        tokens: ids int32 [R, N, T].
        length: int32 [R, N], 0 where nothing was found.
    """
    is_found = length > 0
    equal = text[:, :, None] == text[:, None, :]  # [R, N, N]
    slots = tf.range(tf.shape(equal)[1])
    is_earlier = slots[None, :] < slots[:, None]
    keep = is_found & ~tf.reduce_any(equal & is_earlier & is_found[:, None, :], axis=2)
    order = tf.argsort(tf.cast(~keep, tf.int32), axis=1, stable=True)

    def kept(values: tf.Tensor, otherwise: Any) -> tf.Tensor:
        return tf.gather(tf.where(keep, values, otherwise), order, batch_dims=1)

    length = kept(length, 0)
    return _NBest(
        kept(text, ""),
        kept(score, NOT_FOUND),
        kept(normalized_score, NOT_FOUND),
        _in_one_row(tf.gather(tokens, order, batch_dims=1), length),
        length,
    )


def _in_one_row(tokens: tf.Tensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """[R, N, T], of which `lengths` [R, N] count, to [R, None]."""
    count = tf.shape(tokens)[2]
    counts = tf.range(count) < lengths[:, :, None]
    ends = tf.concat([[0], tf.cumsum(tf.reduce_sum(lengths, axis=1))], axis=0)
    values = tf.boolean_mask(tokens, counts)
    return tf.RaggedTensor.from_row_splits(values, tf.cast(ends, tf.int64), validate=False)


def _no_ids() -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_splits(
        tf.zeros([0], tf.int32), tf.zeros([1], tf.int64), validate=False
    )


def _longer(source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
    return tf.maximum(source.row_lengths(), target.row_lengths())
