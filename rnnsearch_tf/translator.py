"""Text in, text out: tokeniser, vocabulary, encoder, beam search, detokeniser in one module."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.beam_search import Hypotheses
from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.model_directory import BEST, ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.search import search
from rnnsearch_tf.text import moses_tokenizer
from rnnsearch_tf.vocabulary import EOS, PAD, UNK

MAX_SOURCE_TOKENS = 500  # what follows in a longer line is left out: bounded time and memory


class Translations(NamedTuple):
    """Texts and their log p(y|x) in nats, in the order asked for."""

    translations: list[str]
    scores: list[float]


class Translator(tf.Module):
    """A trained model that translates strings; what is saved as the SavedModel.

    Args:
        model: the trained model.
        config: for languages and decoding options.
        source_vocabulary: path of source.vocab, an asset of the SavedModel.
        target_vocabulary: path of target.vocab, likewise.
    """

    def __init__(
        self,
        model: TranslationModel,
        config: Config,
        source_vocabulary: str | Path,
        target_vocabulary: str | Path,
    ):
        super().__init__()
        self.model = model
        self._decoding = config.decoding
        self.source_tokenizer = moses_tokenizer(config.source_language)
        self.target_tokenizer = moses_tokenizer(config.target_language)
        self._source_ids = _table(source_vocabulary, _WORD, _ID, UNK)
        self._target_ids = _table(target_vocabulary, _WORD, _ID, UNK)
        self._target_words = _table(target_vocabulary, _ID, _WORD, "")

    @classmethod
    def load(
        cls, path: str | Path, decoding: DecodingConfig | None = None, weights: str = BEST
    ) -> "Translator":
        """Read a model directory.

        Args:
            path: the model directory.
            decoding: instead of the options in its config.
            weights: "best" or "last".

        Raises:
            InputError: the directory is absent, incomplete or damaged.
        """
        directory = ModelDirectory(path)
        directory.load_vocabularies()  # for its checks
        config = directory.load_config()
        if decoding is not None:
            config = dataclasses.replace(config, decoding=decoding)
        return cls(
            directory.load_model(weights),
            config,
            directory.source_vocabulary_path,
            directory.target_vocabulary_path,
        )

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `serving_default`.

        Args:
            text: string [B], one sentence each.

        Returns:
            `translation` string [B]; `score` float32 [B], log p(y|x) in nats of the hypothesis
            with the best decoding score. A blank sentence gives a blank and 0.
        """
        _, source = self._read(text)
        translation, score, _ = self._best(source)
        return {"translation": translation, "score": score}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def align(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The signature `align`: `translate` with its soft alignment.

        Args:
            text: string [B], one sentence each.

        Returns:
            Also `source_tokens` string [B, Tx] and `target_tokens` string [B, Ty], each sentence
            with its `</s>`, then empty strings; `alignment` float32 [B, Ty, Tx], where row i is
            α_i, the weights under which word i was written (zero at padding).
        """
        tokens, source = self._read(text)
        translation, score, target = self._best(source)
        alignment = self.alignment(source, target)
        return {
            "translation": translation,
            "score": score,
            "source_tokens": _with_end(tokens).to_tensor(""),
            "target_tokens": tf.where(target == PAD, "", self._words(target)),
            "alignment": alignment,
        }

    def translate_lines(
        self,
        lines: Sequence[str],
        batch_tokens: int = 1_000,
        report: Callable[[int], None] | None = None,
    ) -> Translations:
        """Translate any number of lines, in batches of similar length.

        Args:
            lines: one sentence each.
            batch_tokens: about so many source tokens at a time.
            report: called with the number of lines done after each batch.

        Returns:
            Translations in the order of `lines`, and their log p in nats.
        """
        translations, scores = [""] * len(lines), [0.0] * len(lines)
        done = 0
        for batch in _batches_of_similar_length(lines, batch_tokens):
            found = self.translate(tf.constant([lines[i] for i in batch]))
            for i, text, score in zip(
                batch, found["translation"].numpy(), found["score"].numpy(), strict=True
            ):
                translations[i], scores[i] = text.decode(), float(score)
            done += len(batch)
            if report is not None:
                report(done)
        return Translations(translations, scores)

    def source_lengths(self, lines: Sequence[str]) -> list[int]:
        """Moses tokens of each line, `</s>` not counted."""
        if not lines:
            return []
        tokens = self.source_tokenizer.tokenize(tf.constant(list(lines)))
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
            source_tokens = self.source_tokenizer.tokenize(tf.constant([sources[i] for i in batch]))
            target_tokens = self.target_tokenizer.tokenize(tf.constant([targets[i] for i in batch]))
            source = _to_ids(source_tokens, self._source_ids)
            target = _to_ids(target_tokens, self._target_ids)
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
        seen = self.model.trunk({"source": source, "target": target}, training=False)
        return tf.where((target == PAD)[:, :, None], 0.0, seen.alignment)

    def search(self, source: tf.Tensor) -> Hypotheses:
        """Beam search for source ids int32 [B, Tx] with the decoding options."""
        return search(self.model, source, self._decoding)

    def _read(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Strings [B] to tokens [B, None] and ids [B, Tx] with `</s>`."""
        tokens = self.source_tokenizer.tokenize(text)[:, :MAX_SOURCE_TOKENS]
        return tokens, _to_ids(tokens, self._source_ids).to_tensor(PAD)

    def _best(self, source: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Ids [B, Tx] to text [B], log p [B] and ids [B, Ty] of the best hypotheses."""
        hypotheses = self.search(source)
        target = hypotheses.tokens[:, 0]  # [B, Ty]
        target = target[:, : tf.reduce_max(hypotheses.lengths[:, 0])]
        blank = source[:, 0] == EOS
        kept = tf.RaggedTensor.from_tensor(
            self._words(target), lengths=tf.maximum(hypotheses.lengths[:, 0] - 1, 0)
        )
        text = self.target_tokenizer.detokenize(kept)
        score = hypotheses.log_probs[:, 0]
        return tf.where(blank, "", text), tf.where(blank, 0.0, score), target

    def _words(self, ids: tf.Tensor) -> tf.Tensor:
        return self._target_words.lookup(tf.cast(ids, tf.int64))


def _batches_of_similar_length(lines: Sequence[str], tokens: int) -> Iterator[list[int]]:
    """Indices of lines, short lines first, `tokens` blank-separated words or one line at a time."""
    words = [min(line.count(" ") + 2, MAX_SOURCE_TOKENS) for line in lines]
    batch: list[int] = []
    for i in sorted(range(len(lines)), key=words.__getitem__):
        if batch and (len(batch) + 1) * words[i] > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


_WORD = (tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
_ID = (tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)


def _table(path: str | Path, key: tuple, value: tuple, default: Any) -> tf.lookup.StaticHashTable:
    """A vocabulary file, an asset of the SavedModel, as a table from `key` to `value`."""
    initializer = tf.lookup.TextFileInitializer(str(path), *key, *value)
    return tf.lookup.StaticHashTable(initializer, default_value=default)


def _to_ids(tokens: tf.RaggedTensor, table: tf.lookup.StaticHashTable) -> tf.RaggedTensor:
    """Words to ids int32, `</s>` at the end of each sentence."""
    ids = tokens.with_flat_values(tf.cast(table.lookup(tokens.flat_values), tf.int32))
    return tf.concat([ids, tf.fill([tokens.nrows(), 1], EOS)], axis=1)


def _with_end(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    return tf.concat([tokens, tf.fill([tokens.nrows(), 1], "</s>")], axis=1)
