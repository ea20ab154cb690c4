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
    aligner = WordAligner(EN_FR)
    found = aligner.align(TEXT)
    assert [pair.forward.weights.shape for pair in found] == [(3, 4), (4, 2)]
    assert [pair.reverse for pair in found] == [None, None]
    assert found[0].weights == (found[0].forward.weights, None)
    assert aligner.lengths(TEXT) == [(3, 2), (1, 3)]


def test_two_models_read_the_same_pairs():
    found = WordAligner(EN_FR, FR_EN).align(TEXT)
    for pair in found:
        assert pair.reverse is not None
        assert pair.reverse.source_tokens == pair.forward.target_tokens
        assert pair.reverse.target_tokens == pair.forward.source_tokens
        forward, reverse = pair.weights
        assert reverse is not None
        assert forward.shape == reverse.T.shape
    # Target word 0 looks at source word 2, and the reverse.
    forward, reverse = found[0].weights
    assert reverse is not None
    assert forward[0, 2] == reverse[2, 0] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("reverse", "said"),
    [
        (ScriptedTranslator("en-fr"), "the reverse model is en-fr, the other en-fr"),
        (ScriptedTranslator("fr-de"), "the reverse model is fr-de"),
        (
            ScriptedTranslator("fr-en", tokenizer="moses"),
            "moses tokens, the other whitespace tokens",
        ),
        (ScriptedTranslator("fr-en", most=50), "reads 50 tokens, the other 500"),
        (
            ScriptedTranslator("fr-en", architecture="rnnencdec"),
            "rnnencdec has no attention",
        ),
    ],
)
def test_models_that_do_not_go_together(reverse, said):
    with pytest.raises(InputError, match=said):
        WordAligner(EN_FR, reverse)
