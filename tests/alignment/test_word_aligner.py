"""Sentence pairs aligned by one model or two."""

from typing import Any

import pytest
from scripted_aligner import ScriptedTranslator

from rnnsearch_tf.alignment.word_aligner import WordAligner
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError

EN_FR: Any = ScriptedTranslator("en-fr")
FR_EN: Any = ScriptedTranslator("fr-en")
TEXT = ParallelText(["a b c", "d"], ["c a", "d e f"])


def test_one_model():
    pairs = WordAligner(EN_FR).align(TEXT)
    assert [pair.forward.weights.shape for pair in pairs] == [(3, 4), (4, 2)]
    assert [pair.reverse for pair in pairs] == [None, None]
    assert pairs[0].weights == (pairs[0].forward.weights, None)


def test_long_sentences_are_cut():
    short: Any = ScriptedTranslator("en-fr", max_length=2)
    pairs = WordAligner(short).align(TEXT)
    assert [pair.forward.weights.shape for pair in pairs] == [(3, 3), (3, 2)]


def test_an_ensemble_aligns_by_its_members_with_attention():
    ensemble: Any = ScriptedTranslator("en-fr", architecture="rnnencdec")  # its first member
    with pytest.raises(InputError, match="rnnencdec has no attention, so it cannot align"):
        WordAligner(ensemble)
    ensemble.aligns = True
    assert len(WordAligner(ensemble).align(TEXT)) == 2


def test_two_models_read_the_same_pairs():
    pairs = WordAligner(EN_FR, FR_EN).align(TEXT)
    for pair in pairs:
        assert pair.reverse is not None
        assert pair.reverse.source_tokens == pair.forward.target_tokens
        assert pair.reverse.target_tokens == pair.forward.source_tokens
        forward, reverse = pair.weights
        assert reverse is not None
        assert forward.shape == reverse.T.shape
    # Target word 0 attends to source word 2, and the reverse.
    forward, reverse = pairs[0].weights
    assert reverse is not None
    assert forward[0, 2] == reverse[2, 0] == pytest.approx(0.8)


def test_a_model_may_read_typographic_characters_as_plain_ones():
    text = ParallelText(["“the café’s …"], ["le “ café"])

    class Plain(ScriptedTranslator):
        def align(self, source, target, progress=True):
            return super().align(['le " café'], target, progress)

    plain: Any = Plain("fr-en")
    [pair] = WordAligner(EN_FR, plain).align(text)
    assert pair.reverse is not None
    assert pair.reverse.source_tokens == ("le", '"', "café", "</s>")


def test_two_models_of_different_words_are_told():
    class WithMore(ScriptedTranslator):
        def align(self, source, target, progress=True):
            return super().align([f"also {x}" for x in source], target, progress)

    more: Any = WithMore("fr-en")
    with pytest.raises(InputError, match="into different words: train both with the same --sub"):
        WordAligner(EN_FR, more).align(TEXT)


@pytest.mark.parametrize(
    ("reverse", "said"),
    [
        (ScriptedTranslator("en-fr"), "the reverse model is en-fr, not fr-en"),
        (ScriptedTranslator("fr-de"), "the reverse model is fr-de"),
        (
            ScriptedTranslator("fr-en", tokenizer="moses"),
            "moses tokens, the other whitespace tokens",
        ),
        (ScriptedTranslator("fr-en", max_length=50), "reads 50 tokens, the other 500"),
        (
            ScriptedTranslator("fr-en", architecture="rnnencdec"),
            "rnnencdec has no attention",
        ),
    ],
)
def test_models_that_do_not_go_together(reverse, said):
    with pytest.raises(InputError, match=said):
        WordAligner(EN_FR, reverse)
