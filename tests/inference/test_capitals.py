"""Which lines are in capitals, and what a model of subwords reads in their place."""

import pytest
import tensorflow as tf

from rnnsearch_tf.inference.capitals import CapitalsCorrection
from rnnsearch_tf.text.subwords import SentencePieceTokenizer, learn_subwords

TEXT = ["The Man who SAW the EU", "NATO, UN and EU", "É ß ÇA VA", "12 A 7"]


@pytest.fixture(scope="module")
def tokenizer() -> SentencePieceTokenizer:
    return SentencePieceTokenizer("en", learn_subwords(TEXT * 9, 300))


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("THE MAN!", "The man!"),
        ("  I SAW\u00a0IT  ", "I saw it"),
        ("ÇA VA, ÉLÈVE?", "Ça va, élève?"),
        ("« ÇA VA »", "« ça va »"),
        ("12. AB-7 CD", "12. ab-7 cd"),
        ("ПРИВЕТ МИР", "Привет мир"),
        ("DECRETO Nº 12", "DECRETO Nº 12"),
        ("DECRETO Nº 12 DE HOJE", "Decreto nº 12 de hoje"),
        ("\u0130\u0130 II", "\u0130i\u0307 ii"),
        # None of these is in capitals.
        ("NATO", "NATO"),
        ("THE MAN saw", "THE MAN saw"),
        ("A B C", "A B C"),
        ("12 EU 7", "12 EU 7"),
        ("ქართული ენა", "ქართული ენა"),
        ("ה-FBI וה-CIA", "ה-FBI וה-CIA"),
        ("使用 GPU 和 CPU", "使用 GPU 和 CPU"),
        ("", ""),
    ],
)
def test_a_line(tokenizer, given, read):
    others = ["The Man", given, "", "UN"]
    tokens = tokenizer.tokenize(others)
    corrected = CapitalsCorrection(tokenizer).correct(tokens)
    expected = tokenizer.tokenize(["The Man", read, "", "UN"])
    assert corrected.to_list() == expected.to_list()


def test_tokens_of_other_lines_stay_as_they_are(tokenizer):
    letters = tf.RaggedTensor.from_row_lengths([b"\xe2\x96\x81", b"m", b"a", b"n"], [4])
    tokens = tf.concat([letters, tokenizer.tokenize(["AB CD", ""])], axis=0)
    corrected = CapitalsCorrection(tokenizer).correct(tokens)
    assert corrected[0].numpy().tolist() == tokens[0].numpy().tolist()
    assert tokenizer.detokenize(corrected).numpy().tolist() == [b"man", b"Ab cd", b""]


def test_there_may_be_no_lines(tokenizer):
    tokens = tokenizer.tokenize(tf.zeros([0], tf.string))
    assert CapitalsCorrection(tokenizer).correct(tokens).to_list() == []
