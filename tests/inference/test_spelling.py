"""An unknown source word is read as the known word that differs by capitals or one error."""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.spelling import SpellingCorrection
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer
from rnnsearch_tf.tf_functions import graph_function

pytestmark = pytest.mark.slow

# The most frequent one first.
WORDS = [
    "the",
    "white",
    "while",
    "woman",
    "women",
    "Germany",
    "house",
    "été",
    "élève",
    "don't",
    "bald",
    "1990",
    "coat",
    "coast",
    "二十五日",
    "한국어는",
    "it",
    "می\u200cخرد",
]


@pytest.fixture(scope="module")
def correct(tmp_path_factory):
    """Correct the words of lines."""
    path = tmp_path_factory.mktemp("vocabulary") / "source.vocab"
    Vocabulary([*SPECIAL_TOKENS, *WORDS]).save(path)
    source = TextVectorizer(WhitespaceTokenizer("en"), path)
    spelling = SpellingCorrection(source)

    @graph_function(input_signature=[tf.TensorSpec([None], tf.string)])
    def function(text: tf.Tensor) -> tf.RaggedTensor:
        return spelling.correct(source.tokenizer.tokenize(text))

    def corrected(*lines: str) -> list[str]:
        return [
            " ".join(map(bytes.decode, row))
            for row in function(tf.constant(lines, tf.string)).to_list()
        ]

    return corrected


@pytest.mark.parametrize(
    ("word", "read"),
    [
        ("WOMAN", "woman"),
        ("germany", "Germany"),
        ("ÉTÉ", "été"),
        ("wmoan", "woman"),  # letters exchanged
        ("whlie", "while"),  # the same, though "white" is more frequent
        ("Wihte", "white"),  # the same of a sentence's first word
        ("hose", "house"),  # one left out
        ("élèvve", "élève"),  # one added
        ("hause", "house"),  # another one
        ("womon", "woman"),  # of two, the more frequent
        ("dont", "don't"),
        ("coaat", "coat"),
        ("wehit", "white"),  # one in another place
        ("woenm", "women"),
        ("میخرد", "می\u200cخرد"),  # a joiner is a letter
        ("می\u200cحرد", "می\u200cخرد"),
    ],
)
def test_an_error_is_corrected(correct, word, read):
    assert correct(word) == [read]


@pytest.mark.parametrize(
    "word",
    [
        "ohuse",  # the first letter
        "hsuoe",  # two errors
        "blads",  # one left out and another added, elsewhere
        "teh",  # too short to tell
        "étés",  # likewise, from "été", which has more bytes than letters
        "COTA",  # an acronym, not a coat
        "1991",  # a number
        "Bali",  # would be "bald" in small letters
        "zzzz",
        "二十三日",  # a number, and another word
        "한국어도",
        "[UNK]",
        "</s>",
        "x" * 20_000,
    ],
)
def test_what_is_like_no_known_word_stays(correct, word):
    assert correct(word) == [word]


def test_a_vocabulary_may_have_short_words_alone(tmp_path):
    path = tmp_path / "source.vocab"
    Vocabulary([*SPECIAL_TOKENS, "it"]).save(path)
    source = TextVectorizer(WhitespaceTokenizer("en"), path)
    corrected = SpellingCorrection(source).correct(source.tokenizer.tokenize(["IT is"]))
    assert corrected.to_list() == [[b"it", b"is"]]


def test_known_words_and_lines_keep_their_places(correct):
    lines = "the wmoan", "", "hause zzzz the 1991 HOUSE", "the while"
    assert correct(*lines) == ["the woman", "", "house zzzz the 1991 house", "the while"]
    assert correct() == []


# Of the third line, the last token is left out.
CORRECTING = DecodingConfig(beam_size=2, max_length=8, max_length_ratio=2.0, correct_spelling=True)
TYPED = ["The MAN wlil eta.", "  ", "She has sen the old caat in Pariss.", "Zork is coldd."]
MEANT = ["The man will eat.", "  ", "She has seen the old cat in Paris.", "Zork is cold."]


@pytest.fixture(scope="module")
def text_model(model_dir) -> TextModel:
    return load_text_model(model_dir, CORRECTING)


@pytest.fixture(scope="module")
def typed(text_model):
    return Translator.of(text_model).translate(TYPED, return_alignment=True)


def test_a_model_reads_what_was_meant(text_model, typed):
    meant = Translator.of(text_model).translate(MEANT, return_alignment=True)
    for one, other in zip(typed, meant, strict=True):
        assert one.hypotheses == other.hypotheses
        np.testing.assert_array_equal(one.alignment, other.alignment)


def test_what_was_typed_is_told_and_what_is_unknown(typed):
    assert typed[0].source_tokens[1:4] == ("MAN", "wlil", "eta")
    assert [typed[0].source_tokens[place] for place in typed[0].unknown] == ["MAN", "wlil", "eta"]


def test_scores_are_those_of_the_search(text_model, translator, typed):
    scores = Translator.of(text_model).score(TYPED, [result.text for result in typed])
    np.testing.assert_allclose(scores, [result.score for result in typed], atol=1e-4)
    as_typed = translator.score(TYPED[0], typed[0].text)  # without correction
    assert abs(as_typed - scores[0]) > 1e-2
