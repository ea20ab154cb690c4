"""Sentences without unknown words: the paper's column "No UNK"."""

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
    """Select the sentences without [UNK], in themselves and in the reference (section 5.1).

    Args:
        sources: sentences.
        references: their translations.
        tokenizers: of source and target, into the tokens of the vocabularies.
        vocabularies: of source and target.

    Returns:
        Their indices, from 0, ascending.
    """
    sides = zip((sources, references), tokenizers, vocabularies, strict=True)
    has_unk = [
        _has_unk(tokenize(lines, tokenizer), vocabulary) for lines, tokenizer, vocabulary in sides
    ]
    return [i for i, either in enumerate(zip(*has_unk, strict=True)) if not any(either)]


def _has_unk(tokens: tf.RaggedTensor, vocabulary: Vocabulary) -> list[bool]:
    """Return whether each sentence has a token that is not in the vocabulary."""
    return [
        UNK in vocabulary.encode(token.decode() for token in sentence)
        for sentence in tokens.to_list()
    ]
