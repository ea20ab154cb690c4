"""Strings in, strings out, as graph functions: what `Translator` and the SavedModel run on."""

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.decoding.beam_search import Hypotheses
from rnnsearch_tf.decoding.candidates import CandidateLists
from rnnsearch_tf.decoding.model_search import search
from rnnsearch_tf.decoding.prefix import PrefixConstraint
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.length_batching import map_by_length
from rnnsearch_tf.inference.letter_case import LetterCaseCorrection
from rnnsearch_tf.inference.lexicon_file import read_lexicon, required, translation_ids
from rnnsearch_tf.inference.n_best import (
    NBest,
    empty_n_best,
    empty_rows,
    finite_or_lowest,
    without_repeats,
)
from rnnsearch_tf.inference.prepared_weights import PreparedWeights
from rnnsearch_tf.inference.spelling import SpellingCorrection
from rnnsearch_tf.inference.target_prefix import read_prefix, with_first
from rnnsearch_tf.inference.unk_replacement import UnkReplacement
from rnnsearch_tf.inference.weight_storage import FULL, WeightStorage
from rnnsearch_tf.inference.words import alignment_of_words
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.tokenizers import splits_words
from rnnsearch_tf.text.vectorizer import TextVectorizer, unpadded, with_end
from rnnsearch_tf.text.vocabulary import EOS, PAD, SPECIAL_TOKENS
from rnnsearch_tf.tf_functions import graph_function

_BLOCK_TOKENS = 1_000  # source tokens in a block, with padding
_PREFIX_BLOCK_TOKENS = 200  # of a search with prefixes
MAX_WEIGHTS = 1 << 25  # of alignments computed at once, unless of a single pair: 128 MiB
_TEXT = tf.TensorSpec([None], tf.string, "text")
_PREFIX = tf.TensorSpec([None], tf.string, "prefix")
_TOKENS = tf.TensorSpec([None, None], tf.string)
_IDS = tf.TensorSpec([None, None], tf.int32)


class TextModel(tf.Module):
    """One or several trained models that translate strings: the engine of `Translator`.

    It is also the root of the SavedModel (see `serving.export`), whose signatures are thin
    functions over it (see `serving.signatures`). Its functions `best`, `candidates`,
    `score_tokens` and `align_tokens` are saved with it, so that `Translator` runs on an export too;
    `complete` is None for an export without it.

    Sentences are searched in blocks of similar length: a long sentence among many short ones costs
    only itself, and memory is bounded for any number of sentences. InputError for options that the
    models do not support: replacing unknown words without attention, or candidate words without a
    lexicon or with subwords.
    """

    def __init__(
        self,
        models: Sequence[TranslationModel],  # one, or the members of an ensemble
        config: Config,  # for languages and decoding options
        source: TextVectorizer,  # its vocabulary is an asset of the SavedModel, like the target's
        target: TextVectorizer,
        weights_dtype: str = FULL,  # in the SavedModel (see `WeightStorage`)
        lexicon: str | Path | None = None,  # path of lexicon.tsv, an asset (see `UnkReplacement`)
        aligner: HmmAligner | None = None,  # aligns in place of attention
    ):
        super().__init__()
        self.source = source
        self.target = target
        # Whether the model's tokens are parts of words.
        self.has_subwords = splits_words(source.tokenizer) or splits_words(target.tokenizer)
        if self.has_subwords:  # training sets this, but other options may differ
            decoding = dataclasses.replace(config.decoding, allow_unknown=False)
            config = dataclasses.replace(config, decoding=decoding)
        self.config = config
        model = models[0] if len(models) == 1 else Ensemble(models)
        weights = [weight for member in models for weight in member.weights]
        # Behind a function, where the module finds no Keras variables: TensorFlow's C++ loader
        # restores copies of those, and not what the signatures read.
        self._model = lambda: model
        self._with_config = lambda other: TextModel(
            models, other, source, target, weights_dtype, lexicon, aligner
        )
        if weights_dtype == FULL:
            self._variables = [weight.value for weight in weights]
            self._weights_in_use: Callable[[], Any] = contextlib.nullcontext
        else:
            self._storage = WeightStorage(weights, weights_dtype)
            self._weights_in_use = self._storage.in_use
        self.complete: Any = graph_function(self._complete, input_signature=[_TEXT, _PREFIX])
        self.aligner = aligner
        self._prepared: PreparedWeights | None = None
        self._candidates = self._candidate_lists(lexicon)
        self._spelling = self._spelling_correction()
        self._unk_replacement = self._replacement_of_unknown(models, lexicon)

    def _candidate_lists(self, lexicon: str | Path | None) -> CandidateLists | None:
        """Return the candidate words; None where the search is among all words."""
        frequent = self.config.decoding.candidate_words
        if not frequent:
            return None
        if self.has_subwords:
            raise InputError("candidate words need a word model; this one has subwords")
        source, target = self.source.vocabulary, self.target.vocabulary
        ids = translation_ids(read_lexicon(required(lexicon)), source, target)
        if frequent >= len(target) - len(SPECIAL_TOKENS):
            return None
        return CandidateLists(ids, len(target), frequent, self.config.decoding.beam_size)

    def _spelling_correction(self) -> SpellingCorrection | LetterCaseCorrection | None:
        if not self.config.decoding.correct_spelling:
            return None
        if splits_words(self.source.tokenizer):
            return LetterCaseCorrection(self.source, self.config.decoding.max_length)
        return SpellingCorrection(self.source)

    def _replacement_of_unknown(
        self, models: Sequence[TranslationModel], lexicon: str | Path | None
    ) -> UnkReplacement | None:
        """Return the replacement of [UNK]; None without it, and for subwords, which lack [UNK]."""
        if not self.config.decoding.replace_unknown or self.has_subwords:
            return None
        if not all(member.config.has_attention for member in models):
            raise InputError("replace_unknown needs attention, which RNNencdec does not have")
        return UnkReplacement(lexicon)

    def with_decoding(self, decoding: DecodingConfig) -> "TextModel":
        """Return the same models, not loaded again, with other decoding options."""
        other = self._with_config(dataclasses.replace(self.config, decoding=decoding))
        if self._prepared:
            if self._step_weights_options() == other._step_weights_options():
                other._prepared = self._prepared
            else:
                other.prepare()
        return other

    def prepare(self) -> None:
        """Compute `step_weights` once, instead of in each search; as `Translator.prepare`.

        `weights_dtype` must be "float32".
        """
        options = self._step_weights_options()
        self._prepared = PreparedWeights(lambda: self.model.step_weights(*options, tabulate=True))

    def _step_weights_options(self) -> tuple[bool, bool]:
        """`bfloat16` and `all_words` of `step_weights`."""
        return self.config.decoding.bfloat16, self._candidates is None

    @property
    def model(self) -> TranslationModel | Ensemble:
        """The model, or the ensemble."""
        return self._model()

    @graph_function(input_signature=[_TEXT])
    def best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Search for the best translation of each sentence, string [B].

        Returns:
            The fields of `NBest` with N = 1, `target_tokens` as strings, padded with empty ones,
            and `token_scores`, padded with 0; and `source_tokens`, string [B, Tx], with `</s>`,
            padded with empty strings. Scores are the search's: of an ensemble's mean probability;
            with candidate words, of p over these. A blank sentence has a blank text, `</s>` alone
            and scores of 0. Without a translation of finite log p, text and tokens are the same,
            and the scores are the lowest float32.
        """
        return self._translations(text, n_best=1)

    @graph_function(input_signature=[_TEXT])
    def candidates(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Search for different translations of each sentence; as `best`, with N = beam_size."""
        return self._translations(text, n_best=self.config.decoding.beam_size)

    def _complete(self, text: tf.Tensor, prefix: tf.Tensor) -> dict[str, tf.Tensor]:
        """Search for translations that begin with a prefix, string [B] both; as `candidates`.

        `read_prefix` says what a prefix is. Its log p is part of the scores; its words stay
        as they are in `text`; in `target_tokens`, [UNK] stands for those that the vocabulary lacks.
        A translation has room for the whole prefix, whatever limits the search has. A blank prefix
        does not restrict the search. A blank sentence with a prefix is translated like any other.
        """
        with tf.control_dependencies([tf.debugging.assert_equal(
            tf.size(text), tf.size(prefix), "give as many texts as prefixes"
        )]):  # fmt: skip
            return self._translations(text, self.config.decoding.beam_size, tf.identity(prefix))

    @graph_function(input_signature=[_TOKENS, _TOKENS])
    def score_tokens(self, source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        """Score tokens [B, Tx], [B, Ty] without `</s>`, in nats, under all words.

        Returns:
            `score` float32 [B], log p(y|x), `</s>` counted; `token_scores` float32 [B, Ty + 1],
            log p of each token and of `</s>`, padded with 0, which sum to `score`. 0 where both
            texts are blank; the lowest float32 where log p is not finite.
        """
        x = self.source.ids(self.corrected(unpadded(source)))
        y = self.target.ids(unpadded(target))

        def of_block(rows: tf.Tensor) -> tf.RaggedTensor:
            block_x, block_y = tf.gather(x, rows), tf.gather(y, rows)
            losses = self.model.token_losses(block_x.to_tensor(PAD), block_y.to_tensor(PAD))
            return block_y.with_flat_values(-losses)

        with self._weights_in_use():
            scores = map_by_length(of_block, _longer(x, y), _BLOCK_TOKENS, empty_rows(tf.float32))
        both_blank = tf.gather(_longer(x, y) == 1, scores.value_rowids())
        scores = scores.with_flat_values(tf.where(both_blank, 0.0, scores.flat_values))
        return {
            "score": finite_or_lowest(tf.reduce_sum(scores, axis=1)),
            "token_scores": finite_or_lowest(scores.to_tensor(0.0)),
        }

    @graph_function(input_signature=[_TOKENS, _TOKENS])
    def align_tokens(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """Soft alignment of tokens [B, Tx], [B, Ty] without `</s>`.

        Returns:
            α, float32 [B, Ty + 1, Tx + 1], `</s>` included: attention's, by teacher forcing, or
            the posteriors of the aligner. Zero at padding and where a weight is not finite. Where
            tokens are subwords, Ty and Tx are numbers of words (see `alignment_of_words`).

        Raises:
            tf.errors.InvalidArgumentError: B above 1 with more than `MAX_WEIGHTS` weights, padding
                counted; nothing was computed.
        """
        read = self.corrected(unpadded(source))
        sides = (self.source, read), (self.target, unpadded(target))
        if self.aligner is None:
            x, y = (side.ids(tokens) for side, tokens in sides)
        else:
            x, y = (with_end(side.tokenizer.words(tokens)) for side, tokens in sides)
        shape = tf.stack([x.nrows(), y.bounding_shape()[1], x.bounding_shape()[1]])

        def of_block(rows: tf.Tensor) -> tf.RaggedTensor:
            block_x, block_y = tf.gather(x, rows), tf.gather(y, rows)
            if self.aligner is None:
                weights = self.alignment(block_x.to_tensor(PAD), block_y.to_tensor(PAD))
            else:
                weights = self.aligner.alpha(block_x[:, :-1], block_y[:, :-1])
            missing = shape[2] - tf.shape(weights, tf.int64)[2]
            weights = tf.pad(weights, [[0, 0], [0, 0], [0, missing]])
            return tf.RaggedTensor.from_tensor(weights, block_y.row_lengths())

        with tf.control_dependencies([_check_weights(shape)]):
            empty = empty_rows(tf.float32, shape[2])
            weights = map_by_length(of_block, _longer(x, y), _BLOCK_TOKENS, empty)
            weights = weights.to_tensor(0.0, shape=[None, None, None])
        if self.aligner is not None or not self.has_subwords:
            return weights
        return alignment_of_words(
            weights, *(side.tokenizer.word_numbers(tokens) for side, tokens in sides)
        )

    def search(
        self, source: tf.Tensor, n_best: int = 1, constraint: PrefixConstraint | None = None
    ) -> Hypotheses:
        """Beam search for source ids int32 [B, Tx] with the decoding options.

        The caller enters `_weights_in_use`, outside the loop over blocks.
        """
        forced = constraint and constraint.prefix.forced
        return search(
            self.model,
            source,
            self.config.decoding,
            n_best,
            self._candidates and self._candidates.of(source, forced),
            constraint,
            weights=self._prepared and self._prepared.read(),
        )

    @graph_function(input_signature=[_IDS, _IDS])
    def alignment(self, source: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        """Soft alignment of ids int32 [B, Tx] and [B, Ty], the target read by teacher forcing.

        α, float32 [B, Ty, Tx], is zero where the target is padding or a weight is not finite.
        """
        with self._weights_in_use():
            weights = self.model.alignment(source, target)
        return tf.where((target != PAD)[:, :, None] & tf.math.is_finite(weights), weights, 0.0)

    def source_words(self, tokens: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Join source tokens to words, given and read; as `TextVectorizer.words`."""
        words, read = self.source.words(tokens)
        if self._spelling is not None:
            _, read = self.source.words(self.corrected(tokens))
        return words, read

    def corrected(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the source tokens that the model reads in place of a text's, string [B, None]."""
        return tokens if self._spelling is None else self._spelling.correct(tokens)

    def _translations(
        self, text: tf.Tensor, n_best: int, prefix: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        tokens = self.source.read(text, self.config.decoding.max_length)

        def of_block(rows: tf.Tensor) -> NBest:
            some = None if prefix is None else tf.gather(prefix, rows)
            return self._search_block(tf.gather(tokens, rows), n_best, some)

        lengths, block_tokens = tokens.row_lengths() + 1, _BLOCK_TOKENS
        if prefix is not None:  # its search holds the texts of all words in memory
            lengths, block_tokens = tf.maximum(lengths, 16), _PREFIX_BLOCK_TOKENS
        with self._weights_in_use():
            hypotheses = map_by_length(of_block, lengths, block_tokens, empty_n_best(n_best))
        return {
            **hypotheses._asdict(),
            "source_tokens": with_end(tokens).to_tensor(""),
            "target_tokens": self.target.tokens(hypotheses.target_tokens).to_tensor(""),
            "token_scores": hypotheses.token_scores.to_tensor(0.0),
        }

    def _search_block(
        self, tokens: tf.RaggedTensor, n_best: int, prefix: tf.Tensor | None = None
    ) -> NBest:
        """Translate source tokens [R, None]; translations begin with the prefix, string [R]."""
        read = self.corrected(tokens)
        source = self.source.ids(read).to_tensor(PAD)
        # The model is not asked about a blank sentence: its one translation is empty.
        blank = (tokens.row_lengths() == 0)[:, None]
        given = constraint = None
        if prefix is not None:
            given, constraint = read_prefix(prefix, self.target, self.config.decoding.max_length)
            is_whole = tf.equal(constraint.prefix.partial_word, "")
            blank &= ((given.row_lengths() == 0) & is_whole)[:, None]
        found = self.search(source, n_best, constraint)
        ids, lengths, log_probs, scores, token_scores = (x[:, :n_best] for x in found)
        ids = tf.where(blank[:, :, None], EOS, ids)
        lengths = tf.where(blank, [[1] + [0] * (n_best - 1)], lengths)
        return without_repeats(
            self._texts(tokens, read, source, ids, lengths, given),
            tf.where(blank, 0.0, log_probs),
            tf.where(blank, 0.0, scores),
            ids,
            lengths,
            tf.where(blank[:, :, None], 0.0, token_scores),
        )

    def _texts(
        self,
        tokens: tf.RaggedTensor,
        read: tf.RaggedTensor,
        source: tf.Tensor,
        ids: tf.Tensor,
        lengths: tf.Tensor,
        given: tf.RaggedTensor | None,
    ) -> tf.Tensor:
        """Detokenize hypotheses, ids [R, N, T] of `lengths` [R, N]: text, string [R, N].

        `tokens` [R, None], `read` (what the model reads for them) and `source`, ids [R, Tx], are
        the source sentences; `given`, string [R, None], are the hypotheses' first words as given.
        """
        shape = tf.shape(lengths)
        target = tf.RaggedTensor.from_tensor(
            tf.reshape(ids, [shape[0] * shape[1], -1]),
            tf.cast(tf.reshape(lengths, [-1]), tf.int64),
        )
        words = self.target.tokens(target[:, :-1])
        if self._unk_replacement is not None:
            sentence = tf.repeat(tf.range(shape[0]), shape[1])
            target_ids = target.to_tensor(PAD)
            words = self._unk_replacement.replace(
                words,
                tf.gather(read, sentence),
                tf.gather(tokens, sentence),
                lambda: self.alignment(tf.gather(source, sentence), target_ids),
            )
        if given is not None:  # last: "[UNK]" may be a word of a prefix
            words = with_first(words, tf.repeat(given.to_tensor(""), shape[1], axis=0))
        return tf.reshape(self.target.tokenizer.detokenize(words), shape)


def _check_weights(shape: tf.Tensor) -> tf.Operation:
    """Assert that alignments of shape [B, Ty, Tx] are not too many for the memory."""
    message = tf.strings.format(
        "alignments of {} texts x {} target tokens x {} source tokens, padding counted, are more "
        f"than {MAX_WEIGHTS} weights: send fewer texts at a time",
        (shape[0], shape[1], shape[2]),
    )
    is_allowed = (shape[0] == 1) | (tf.reduce_prod(shape) <= MAX_WEIGHTS)
    return tf.debugging.Assert(is_allowed, [message])


def _longer(source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
    """Tokens on the longer side of each pair, int64 [B]."""
    return tf.maximum(source.row_lengths(), target.row_lengths())
