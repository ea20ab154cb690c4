"""Which sentences have no word that a model does not know: the paper's column "No UNK"."""

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import UNK, Vocabulary


def unk_free_sentences(
    sources: Sequence[str],
    references: Sequence[str],
    tokenizers: tuple[Tokenizer, Tokenizer],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[int]:
    """The sentences without unknown words, in themselves and in the reference (section 5.1).

    Args:
        sources: sentences.
        references: their translations.
        tokenizers: of source and target.
        vocabularies: of source and target.

    Returns:
        Their places, from 0, rising.
    """
    sides = zip((sources, references), tokenizers, vocabularies, strict=True)
    unknown = [
        _has_unknown(tokenize(lines, tokenizer), vocabulary)
        for lines, tokenizer, vocabulary in sides
    ]
    return [i for i, found in enumerate(zip(*unknown, strict=True)) if not any(found)]


def _has_unknown(tokens: tf.RaggedTensor, vocabulary: Vocabulary) -> list[bool]:
    """Of each sentence."""
    return [
        UNK in vocabulary.encode(word.decode() for word in sentence)
        for sentence in tokens.to_list()
    ]
