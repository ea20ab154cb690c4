"""Evaluation on the validation set during training, on JAX."""

import sys
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sentence_pairs import to_pairs
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.inference.loading import vectorizers_for
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import StepOutputs
from rnnsearch_tf.text.tokenizers import splits_words
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK
from rnnsearch_tf.training.jax_batches import FixedShapes
from rnnsearch_tf.training.jax_train_step import memory_errors
from rnnsearch_tf.training.logs import Evaluation
from rnnsearch_tf.training.validation import greedy_search, say_problems

_PAIRS_AT_ONCE = 64
_TOKENS_AT_ONCE = 20_000  # per side; the logits of all words are computed of each


class JaxValidationSet:
    """The `ValidationSet` of a training run on JAX: likelihood, and BLEU of greedy translations."""

    translator = None  # its search is TensorFlow's: TensorBoard shows no sample translations

    def __init__(
        self, model: TranslationModel, config: Config, directory: ModelDirectory, text: ParallelText
    ):
        self._model = model
        self._search = greedy_search(config)
        self._references = text.target
        self.bleu_signature = bleu(text.target, text.target).signature
        self._vectorizers = vectorizers_for(directory)
        tokenizers = [side.tokenizer for side in self._vectorizers]
        vocabularies = [side.vocabulary for side in self._vectorizers]
        say_problems(text, tokenizers, vocabularies)
        self._pairs = to_pairs(text, tokenizers, vocabularies)
        lengths = self._pairs.lengths(np.arange(len(self._pairs)))
        # As in `TextModel`, no [UNK] among subwords.
        self._never = [PAD, UNK] if any(map(splits_words, tokenizers)) else [PAD]
        longest = int(lengths.max())
        self._rows = max(1, min(_PAIRS_AT_ONCE, _TOKENS_AT_ONCE // (longest + 1)))
        self._fixed = FixedShapes(self._rows, longest)
        self._nll = jax.jit(self._pure_nll)
        self._greedy = jax.jit(self._pure_greedy)

    def __call__(self) -> Evaluation:
        """Evaluate the model as it is now."""
        weights = [weight.value for weight in self._model.weights]
        nats, tokens, words = 0.0, 0.0, []
        with memory_errors():
            # As many pairs in each batch as its fixed shapes have rows.
            for batch in ordered_batches(self._pairs, self._rows, "validation batch", sys.maxsize):
                fixed = self._fixed(batch)
                total = jax.device_get(self._nll(weights, fixed))
                nats, tokens = nats + float(total.sum), tokens + float(total.count)
                found = np.asarray(self._greedy(weights, fixed["source"]))
                words += self._sentences(found, np.asarray(batch["source"]))
        score = bleu(self._texts(words), self._references).score
        return Evaluation(nats / tokens, nats / len(self._pairs), score)

    def _pure_nll(self, weights: list[jax.Array], batch: dict[str, jax.Array]) -> LossTotal:
        with keras.StatelessScope(list(zip(self._model.weights, weights, strict=True))):
            return self._model.compute_losses(batch, ["nll"])["nll"]

    def _pure_greedy(self, weights: list[jax.Array], source: jax.Array) -> jax.Array:
        """Take the most probable word at each step, int32 [B, T]."""
        longest = self._search.max_length + 1
        if source.shape[1] > longest:  # as `TextModel` cuts what it reads
            source = source[:, :longest]
            source = source.at[:, -1].set(jnp.where(source[:, -1] > 0, EOS, PAD))
        with keras.StatelessScope(list(zip(self._model.weights, weights, strict=True))):
            step = self._model.bind(source)

            def advance(outputs: StepOutputs, _: None) -> tuple[StepOutputs, jax.Array]:
                logits = step.predict_token(outputs).at[:, jnp.array(self._never)].set(-jnp.inf)
                word = jnp.argmax(logits, axis=-1).astype(jnp.int32)
                return step.advance(step.carried(outputs), word), word

            length = self._search.max_target_tokens(source.shape[1])
            _, words = jax.lax.scan(advance, step.start(), length=length)
        return words.T

    def _sentences(self, words: np.ndarray, source: np.ndarray) -> list[list[int]]:
        """Cut the words of each row at its `</s>`, or where the greedy search would end it."""
        tokens = np.minimum((source > 0).sum(axis=1), self._search.max_length + 1)
        limits = np.array([self._search.max_target_tokens(n) for n in tokens.tolist()]) - 1
        limits[tokens == 1] = 0  # a blank line stays one
        sentences = []
        for row, limit in zip(words, limits, strict=False):  # then come rows of padding
            ends = np.flatnonzero(row[:limit] == EOS)
            sentences.append(row[: ends[0] if len(ends) else limit].tolist())
        return sentences

    def _texts(self, ordered: Sequence[Sequence[int]]) -> list[str]:
        """Join words to texts, in the order of the validation set."""
        rows = np.argsort(self._pairs.lengths(np.arange(len(self._pairs))), kind="stable")
        target = self._vectorizers[1]
        ids = tf.ragged.constant(ordered, tf.int32, ragged_rank=1)
        texts = target.tokenizer.detokenize(target.tokens(ids)).numpy()
        by_row = sorted(zip(rows.tolist(), texts, strict=True))
        return [text.decode() for _, text in by_row]
