"""The tokenisers by name: Moses' rules, or white space for text that is in words already."""

import functools

import tensorflow as tf

from rnnsearch_tf.config import WHITESPACE, Config
from rnnsearch_tf.text.moses import MosesTokenizer, clean
from rnnsearch_tf.tf_functions import graph_function


class WhitespaceTokenizer(tf.Module):
    """Splits lines at white space and joins words by blanks, whatever the language.

    For text that is in words already, by rules that are not Moses': its words stay as they are.

    Args:
        language: which one it is, for those who ask.
    """

    def __init__(self, language: str) -> None:
        super().__init__(name="space_tokenizer")
        self.language = language

    @graph_function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Splits each line, string[B], into words, string[B, None]; a blank line has none."""
        return tf.strings.split(clean(text))

    @graph_function(input_signature=[tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)])
    def detokenize(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Joins the words of each row, string[B, None], into a line, string[B]."""
        rows = tokens.value_rowids()
        return tf.strings.unsorted_segment_join(tokens.values, rows, tokens.nrows(), separator=" ")


Tokenizer = MosesTokenizer | WhitespaceTokenizer


@functools.cache
def tokenizer_for(name: str, language: str) -> Tokenizer:
    """The tokeniser of a language, made once: it holds no state, so all can share it.

    Args:
        name: "moses" or "whitespace".
        language: for "moses", "en" or "fr".

    Raises:
        ValueError: a language that Moses' rules are not known for.
    """
    return WhitespaceTokenizer(language) if name == WHITESPACE else MosesTokenizer(language)


def tokenizers_for(config: Config) -> tuple[Tokenizer, Tokenizer]:
    """The source's tokeniser and the target's.

    Raises:
        ValueError: as `tokenizer_for`.
    """
    languages = config.source_language, config.target_language
    source, target = (tokenizer_for(config.tokenizer, language) for language in languages)
    return source, target
