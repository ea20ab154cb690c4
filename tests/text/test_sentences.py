"""Lines of several sentences: what is found in them, and how translations are joined."""

import math

import pytest

from rnnsearch_tf import extras
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text import sentences
from rnnsearch_tf.text.sentences import SentenceSplitter, seems_to_have_several

SENTENCES = ["The man will eat.", "Mr. Zzyzx has seen the old cat in Paris.", "It is cold."]
TEXT = "  ".join(SENTENCES)
DECODING = DecodingConfig(beam_size=3, length_penalty=0.6, max_length_ratio=2.0)


@pytest.fixture(scope="module")
def translator(model_dir) -> Translator:
    return Translator.load(model_dir, DECODING)


@pytest.mark.slow
def test_translations_are_those_of_the_sentences(translator):
    each = translator.translate(SENTENCES)
    given = [" It is cold. ", TEXT, "", f" {TEXT}".encode(), "\xff\xfe", "  "]
    plain = translator.translate(given)
    results = translator.translate(given, split_sentences=True)
    assert [result.source for result in results] == [result.source for result in plain]
    for number in (0, 2, 4, 5):
        assert results[number].hypotheses[0].tokens == plain[number].hypotheses[0].tokens
        assert results[number].text == plain[number].text
    for joined in (results[1], results[3]):
        assert joined.text == " ".join(one.text for one in each)
        assert joined.tokens == sum((one.tokens for one in each), ())
        assert joined.source_tokens == sum((one.source_tokens for one in each), ())
        unknown = [joined.source_tokens[place] for place in joined.unknown]
        assert unknown == [one.source_tokens[place] for one in each for place in one.unknown]
        assert "Zzyzx" in unknown
        assert joined.score == pytest.approx(sum(one.score for one in each), rel=1e-5)
        assert sum(joined.word_scores) == pytest.approx(joined.score, rel=1e-5)
        expected = joined.score / len(joined.tokens) ** 0.6
        assert joined.normalized_score == pytest.approx(expected)
        # The model has never read several `</s>` in a sentence: these are of the text.
        score = translator.score(TEXT, joined.text)
        assert translator.score(TEXT, joined) == pytest.approx(score)
        with_unknown = " ".join(translator.texts_with_unknown(each))
        assert translator.texts_with_unknown([joined]) == [with_unknown]


@pytest.mark.slow
def test_one_translation_alone_is_joined(translator):
    for options in ({"n_best": 2}, {"return_alignment": True}):
        with pytest.raises(InputError, match="n_best must be 1, and return_alignment False"):
            translator.translate(TEXT, split_sentences=True, **options)


def test_chinese_and_japanese_are_joined_without_spaces():
    splitter = SentenceSplitter("ja")
    assert splitter.split("これは文です。もう一つ。") == ["これは文です。", "もう一つ。"]
    assert splitter.split("One.\u2028Two.\x85") == ["One.", "Two."]
    for space in "\u00a0\u202f\u3000":
        assert splitter.split(f"Plan B{space}. One.") == splitter.split("Plan B . One.")
    assert splitter.split("") == [""]

    def found(text: str) -> Translation:
        best = Hypothesis(text, ("a", "</s>"), -1.0 if text != "lost" else -math.inf, -1.0)
        return Translation(text, ("x", "</s>"), (best,))

    def joined(*texts: str) -> str:
        return sentences.joined("source", [*map(found, texts)], 0.6).text

    assert joined("これは文です。", "もう一つ。") == "これは文です。もう一つ。"
    assert joined("他走了。", "“你好”。", "Apple来了") == "他走了。“你好”。Apple来了"
    assert joined("“好。”", "“是。”") == "“好。”“是。”"
    assert joined("เขาไป", "เขากิน") == "เขาไป เขากิน"
    assert joined("Une phrase.", "", "Une autre.") == "Une phrase. Une autre."
    assert joined("Une phrase.", "lost") == ""


def test_french_titles_and_initials_end_no_sentence():
    found = ["Je remercie M. Dupont et le Dr. J.-P. Roy  de l'art. 5.", "Il y en a.", "M. Lê dort."]
    assert SentenceSplitter("fr").split(" ".join(found)) == found


def test_a_country_does_not_change_the_rules():
    found = ["Am 3. Mai kam er.", "Er ging."]
    assert SentenceSplitter("de_AT").split(" ".join(found)) == found


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("We have waited. The citizens expect results.", True),
        ("« Nous attendons. » « Élus ? »", True),
        ("これは文です。もう一つ。", True),
        ("هل تعمل؟ نعم", True),
        ("हमने इंतज़ार किया है। नागरिक परिणाम चाहते हैं।", True),
        ("நாங்கள் காத்திருந்தோம். குடிமக்கள்", True),
        ("Hemos esperado. ¿Por qué?", True),
        ("Mr. Smith of the U.S. Senate said so.", False),
        ("The year 1999. 2000 was next.", False),
        ("We waited… and waited.", False),
        ("One sentence.", False),
        ("", False),
    ],
)
def test_a_text_seems_to_have_several(text, several):
    assert seems_to_have_several(text) == several


def test_without_the_package_the_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "sentencex")
    with pytest.raises(
        InputError, match=r"sentencex is not installed: .*rnnsearch-tf\[sentences\]"
    ):
        SentenceSplitter("en")
