"""Sentences without unknown words, and texts full of them."""

from types import SimpleNamespace
from typing import Any

import pytest

from rnnsearch_tf.evaluation.unk_free import unk_free_sentences, unknown_word_problems
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer


def test_both_sides_must_be_known():
    vocabularies = (
        Vocabulary([*SPECIAL_TOKENS, "a", "b"]),
        Vocabulary([*SPECIAL_TOKENS, "x", "y", "c"]),
    )
    sources = ["a b", "a c", "a", "b b b", ""]
    references = ["x", "x y", "a", "y c", "x"]
    translator: Any = SimpleNamespace(
        source_tokenizer=WhitespaceTokenizer("en"),
        target_tokenizer=WhitespaceTokenizer("fr"),
        vocabularies=vocabularies,
    )
    assert unk_free_sentences(translator, sources, references) == [0, 3, 4]
    several = list(zip(references, ["x", "x", "x", "z", "y"], strict=True))
    assert unk_free_sentences(translator, sources, several) == [0, 4]


@pytest.mark.parametrize(
    ("unknown", "named"), [((30, 0), []), ((50, 0), ["a"]), ((50, 60), ["a", "b"])]
)
def test_texts_full_of_unknown_words(unknown, named):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "x"])
    tokenizer = WhitespaceTokenizer("en")
    sides = [tokenizer] * 2, [vocabulary] * 2
    texts = {
        name: ["x"] * (100 - count) + ["?"] * count
        for name, count in zip("ab", unknown, strict=True)
    }
    problems = unknown_word_problems(texts, *sides)
    assert [line.partition(":")[0] for line in problems] == [
        f"{count}% of the words of {name} are unknown to the model"
        for name, count in zip("ab", unknown, strict=True)
        if name in named
    ]
    few = {name: lines[-29:] for name, lines in texts.items()}  # too few to tell
    assert unknown_word_problems(few, *sides) == []
