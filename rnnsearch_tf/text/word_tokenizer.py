"""The base of all tokenizers, and the one that splits at whitespace."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import tensorflow as tf

from rnnsearch_tf.digests import code_digest, json_digest
from rnnsearch_tf.text import cleaning, composed_form
from rnnsearch_tf.text.cleaning import clean
from rnnsearch_tf.tf_functions import graph_method


class Tokenizer(tf.Module):
    """Text to the tokens of a model and back, for one language; tokens are words by default.

    Its methods are graph functions without state: the same object prepares the training text and
    serves in a SavedModel. Those of words are made of core TensorFlow ops.
    """

    language: str
    tokenize: Any  # splits lines, string [B], into tokens, string [B, None]; a blank line has none
    detokenize: Any  # joins tokens, string [B, None], into lines, string [B]
    _modules: tuple[ModuleType, ...] = ()  # with rules, beside those of all tokenizers
    _data = ""  # beside the language, that the rules go by

    def __getstate__(self) -> dict[str, Any]:
        """Leave out graphs, which cannot be copied; a copy makes its own."""
        return {k: v for k, v in vars(self).items() if not hasattr(v, "get_concrete_function")}

    def fingerprint(self) -> str:
        """Return a digest of everything that the tokens depend on: a key for caches."""
        modules = (sys.modules[type(self).__module__], cleaning, composed_form, *self._modules)
        paths = (Path(str(module.__file__)).with_suffix(".txt") for module in modules)
        tables = [path.read_text("utf-8") for path in paths if path.exists()]
        rules = [code_digest(*modules), tables, self.name, self.language, self._data]
        return json_digest([*rules, tf.version.VERSION])

    def normalize_prefix(self, text: tf.Tensor) -> tf.Tensor:
        """Change prefixes, string [B], so that `tokenize` reads their ends as within a line."""
        return text

    @property
    def word_tokenizer(self) -> "Tokenizer":
        """The tokenizer whose tokens are words: itself, where its tokens are.

        Length bins and tokenized BLEU go by it, so that models can be compared whether their tokens
        are words or parts of words.
        """
        return self

    def word_numbers(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Number the words that tokens, string [B, None], belong to, from 0: int64 [B, None]."""
        return tf.ragged.range(tokens.row_lengths())

    def words(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Join tokens, string [B, None], to words, string [B, None]."""
        return tokens


class WhitespaceTokenizer(Tokenizer):
    """Splits lines at whitespace and joins words by spaces, whatever the language.

    For text that other rules than Moses' have tokenized: its words stay as they are.
    """

    def __init__(self, language: str, name: str = "whitespace_tokenizer") -> None:
        super().__init__(name=name)
        self.language = language

    @graph_method(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Split each line, string [B], into words, string [B, None]; a blank line has none."""
        return tf.strings.split(clean(text))

    @graph_method(input_signature=[tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)])
    def detokenize(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Join the words of each row, string [B, None], into a line, string [B]."""
        return tf.strings.reduce_join(tokens, axis=1, separator=" ")
