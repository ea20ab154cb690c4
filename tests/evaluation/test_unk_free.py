"""Sentences without unknown words."""

from rnnsearch_tf.evaluation.unk_free import unk_free_sentences
from rnnsearch_tf.text.tokenizers import WhitespaceTokenizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary


def test_both_sides_must_be_known():
    vocabularies = (
        Vocabulary([*SPECIAL_TOKENS, "a", "b"]),
        Vocabulary([*SPECIAL_TOKENS, "x", "y", "c"]),
    )
    sources = ["a b", "a c", "a", "b b b", ""]
    references = ["x", "x y", "a", "y c", "x"]
    tokenizers = WhitespaceTokenizer("en"), WhitespaceTokenizer("fr")
    assert unk_free_sentences(sources, references, tokenizers, vocabularies) == [0, 3, 4]
