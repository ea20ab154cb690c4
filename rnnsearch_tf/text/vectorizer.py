"""Text to ids and back for one language, as graph ops; its vocabulary is a SavedModel's asset."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.given_texts import Line
from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import EOS, SPECIAL_TOKENS, UNK, Vocabulary

_TOKEN = (tf.string, tf.lookup.TextFileIndex.WHOLE_LINE)
_ID = (tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)


class TextVectorizer(tf.Module):
    """The tokenizer and the vocabulary of a language; InputError as in `Vocabulary.load`."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: str | Path):
        super().__init__()
        self.tokenizer = tokenizer
        self.vocabulary = Vocabulary.load(vocabulary)
        size = len(self.vocabulary)
        to_ids = _VocabularyFile(vocabulary, *_TOKEN, *_ID, vocab_size=size)
        to_tokens = _VocabularyFile(vocabulary, *_ID, *_TOKEN, vocab_size=size)
        self._ids = tf.lookup.StaticHashTable(to_ids, UNK)
        self._tokens = tf.lookup.StaticHashTable(to_tokens, "")

    def read(self, text: tf.Tensor, max_length: int) -> tf.RaggedTensor:
        """Split text, string [B], into tokens, string [B, None], of which `max_length` are kept."""
        return self.tokenizer.tokenize(text)[:, :max_length]

    def ids(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Look up tokens, string [B, None], and add `</s>`: ids, int32 [B, None]."""
        ids = tf.cast(self.lookup(tokens.flat_values), tf.int32)
        return _with_last(tokens.with_flat_values(ids), EOS)

    def lookup(self, tokens: tf.Tensor) -> tf.Tensor:
        """Look up tokens, string of any shape: ids, int64."""
        # A text may hold "</s>" or "<pad>"; as words of a text, they are unknown ones.
        return tf.maximum(self._ids.lookup(tokens), UNK)

    def words(self, tokens: tf.RaggedTensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Join tokens, string [B, None], to words, and add `</s>`: string [B, None], twice.

        The second has [UNK] in place of words of which the vocabulary lacks a token.
        """
        words = self.tokenizer.words(tokens)
        numbers = self.tokenizer.word_numbers(tokens)
        before = tf.gather(words.row_starts(), tokens.value_rowids())
        unknown = tf.math.unsorted_segment_max(
            tf.cast(self.ids(tokens)[:, :-1].flat_values == UNK, tf.int32),
            numbers.flat_values + before,
            tf.size(words.flat_values),
        )
        read = tf.where(unknown == 1, SPECIAL_TOKENS[UNK], words.flat_values)
        return with_end(words), with_end(words.with_flat_values(read))

    def tokens(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Look up ids, int32 [B, None]: tokens, string [B, None], `</s>` included."""
        return ids.with_flat_values(self.spell(tf.cast(ids.flat_values, tf.int64)))

    def spell(self, ids: tf.Tensor) -> tf.Tensor:
        """Look up ids, int64 of any shape: tokens, string."""
        return self._tokens.lookup(ids)


def ragged(tokens: Sequence[Sequence[Line]]) -> tf.RaggedTensor:
    """Return B rows of tokens, string [B, None]."""
    return tf.ragged.constant([list(row) for row in tokens], tf.string, ragged_rank=1)


def padded(tokens: Sequence[Sequence[Line]]) -> tf.Tensor:
    """Pad B rows of tokens with empty strings: string [B, T]."""
    return ragged(tokens).to_tensor("")


def unpadded(tokens: tf.Tensor) -> tf.RaggedTensor:
    """Remove the padding, empty strings, of tokens, string [B, T]: string [B, None]."""
    return tf.RaggedTensor.from_tensor(tokens, padding="")


def with_end(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Add `</s>` to each row of tokens, string [B, None]."""
    return _with_last(tokens, SPECIAL_TOKENS[EOS])


def _with_last(rows: tf.RaggedTensor, last: Any) -> tf.RaggedTensor:
    """Add an element to each row; `tf.concat` of ragged tensors takes 120 operations to do it."""
    splits = rows.row_splits + tf.range(tf.size(rows.row_splits, tf.int64))
    ends = tf.expand_dims(splits[1:] - 1, 1)
    is_last = tf.scatter_nd(ends, tf.ones_like(splits[1:]), [splits[-1]])
    before = tf.cumsum(1 - is_last, exclusive=True)  # how many of the rows' own elements
    indices = tf.where(is_last > 0, tf.size(rows.flat_values, tf.int64), before)
    values = tf.gather(tf.concat([rows.flat_values, [last]], axis=0), indices)
    return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


class TableFile(tf.lookup.TextFileInitializer):
    """Fills a table from a file of words, or from a copy of it in a SavedModel.

    TensorFlow keeps tables by their names until the process ends: that of another file at the same
    path has another name. The other arguments are those of `tf.lookup.TextFileInitializer`.
    """

    def __init__(self, path: str | Path, *columns: Any, **options: Any):
        self._hash = int(_hash(Path(path).read_bytes()))
        super().__init__(str(path), *columns, **options)

    @property
    def _shared_name(self) -> str:
        return f"{super()._shared_name}_{self._hash}"


class _VocabularyFile(TableFile):
    """Any other file is an error, also when a model server loads the SavedModel."""

    def initialize(self, table: tf.lookup.StaticHashTable) -> tf.Operation:
        is_same = tf.equal(_hash(tf.io.read_file(self._filename)), self._hash)
        message = "not the vocabulary this model was made with"
        with tf.control_dependencies([tf.debugging.Assert(is_same, [self._filename, message])]):
            return super().initialize(table)


def _hash(content: bytes | tf.Tensor) -> tf.Tensor:
    return tf.strings.to_hash_bucket_fast(content, tf.int64.max)
