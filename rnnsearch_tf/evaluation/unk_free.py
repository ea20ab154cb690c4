"""Unknown words: sentences without them, the paper's column "No UNK", and texts full of them."""

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.evaluation.metrics import Reference, reference_sets
from rnnsearch_tf.text.tokenizers import Tokenizer
from rnnsearch_tf.text.vocabulary import UNK, Vocabulary

_MANY = 0.3  # share of unknown words in a text that is probably not the model's language
_MIN_WORDS = 30  # of a text, to tell


def unk_free_sentences(
    sources: Sequence[str],
    references: Sequence[Reference],
    tokenizers: tuple[Tokenizer, Tokenizer],
    vocabularies: tuple[Vocabulary, Vocabulary],
) -> list[int]:
    """Select the sentences without [UNK], in themselves and in any reference (section 5.1).

    Args:
        sources: sentences.
        references: their translations, one or several of each.
        tokenizers: of source and target, into the tokens of the vocabularies.
        vocabularies: of source and target.

    Returns:
        Their indices, from 0, ascending.
    """
    (source, target), (source_words, target_words) = tokenizers, vocabularies
    unknown = [_unknown(sources, source, source_words)]
    unknown += [_unknown(lines, target, target_words) for lines in reference_sets(references)]
    return [i for i, counts in enumerate(zip(*unknown, strict=True)) if not any(counts)]


def many_unknown(
    name: str, lines: Sequence[str], tokenizer: Tokenizer, vocabulary: Vocabulary
) -> str | None:
    """Return what to say of a text whose words are mostly unknown; None of any other.

    Args:
        name: of the text.
        lines: its first sentences.
        tokenizer: of its language, into the tokens of the vocabulary.
        vocabulary: of the model.
    """
    tokens = sum(len(line.split()) for line in lines)
    if tokens < _MIN_WORDS:
        return None
    tokens = int(tf.size(tokenize(lines, tokenizer).flat_values))
    share = sum(_unknown(lines, tokenizer, vocabulary)) / max(tokens, 1)
    if share < _MANY:
        return None
    return (
        f"{share:.0%} of the {name}'s words are unknown to the model: are source and target "
        "swapped, is it another language, or not tokenised as the training text was?"
    )


def _unknown(lines: Sequence[str], tokenizer: Tokenizer, vocabulary: Vocabulary) -> list[int]:
    """Count the tokens of each sentence that are not in the vocabulary."""
    return [
        vocabulary.encode(token.decode() for token in sentence).count(UNK)
        for sentence in tokenize(lines, tokenizer).to_list()
    ]
