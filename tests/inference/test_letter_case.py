"""Which lines are in one case, and what a model of subwords reads in their place."""

import pytest
import tensorflow as tf

from rnnsearch_tf.inference.letter_case import LetterCaseCorrection
from rnnsearch_tf.text.subwords import SentencePieceTokenizer, learn_subwords
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

TEXT = ["The Man who SAW the EU", "NATO, UN and EU", "É ß ÇA VA", "12 A 7"]
# The most frequent one first.
PIECES = ["▁the", "s", "▁I", "▁The", "▁EU", "▁man", "▁us", "▁Man", "▁saw", "▁who", "▁Spain", "▁US"]


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> TextVectorizer:
    path = tmp_path_factory.mktemp("vocabulary") / "source.vocab"
    Vocabulary([*SPECIAL_TOKENS, *PIECES]).save(path)
    return TextVectorizer(SentencePieceTokenizer("en", learn_subwords(TEXT * 9, 300)), path)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        # In capitals.
        ("THE MAN!", "The man!"),
        ("  I SAW\u00a0IT  ", "I saw it"),
        ("ÇA VA, ÉLÈVE?", "Ça va, élève?"),
        ("« ÇA VA »", "« Ça va »"),
        ("12. AB-7 CD’EF", "12. AB-7 cd’ef"),
        ("[A(2002) EU5-2 - (DEF7)]", "[A(2002) EU5-2 - (DEF7)]"),
        ("THE EU'S MAN IN (SPAIN)", "The EU's man in (Spain)"),
        ("SPAIN-EU AND SPAIN.EU", "Spain-eu and spain.eu"),
        ("WHO SAW THE U.S., (U.K.) OR E.U?", "Who saw the U.S., (U.K.) or e.u?"),
        ("- 1. (THE MAN)", "- 1. (The man)"),
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
        # In lower case.
        ("i saw the eu's man in spain", "I saw the EU's man in Spain"),
        ('"eu" and us', '"EU" and us'),  # the country is less frequent
        ("the man", "the man"),  # which a line may begin with
        ("spain", "Spain"),
        ("eu-spain, i'm", "EU-spain, I'm"),
        ("www.spain.eu or i@eu.eu eu2", "www.spain.eu or i@eu.eu eu2"),
        ("spain-us@eu.eu and eu-man.eu/us", "spain-us@eu.eu and eu-man.eu/us"),
        ("İ saw spain", "İ saw spain"),  # with a capital
        ("ǅ spain", "ǅ spain"),
        ("12 × 7", "12 × 7"),
        # In title case.
        ("The Man Who Saw NATO in Spain", "The man who saw NATO in Spain"),
        ("“Who Saw Us”: A Man", "“Who saw us”: a man"),
        ("L’UE: Who Saw The Man In U.S. Ads", "L’UE: who saw the man in U.S. ads"),
        # Three of these are usually written otherwise.
        ("The Man Saw Spain, Bonn and Rome", "The Man Saw Spain, Bonn and Rome"),
        ("Who Was the Man from Spain? Us!", "Who Was the Man from Spain? Us!"),
    ],
)
def test_a_line_in_one_case(source, given, read):
    check(source, given, read)


def check(source: TextVectorizer, given: str, read: str) -> None:
    """Check what is read for a line among lines that stay."""
    tokenize = source.tokenizer.tokenize
    corrected = LetterCaseCorrection(source, 500).correct(tokenize(["The Man", given, "", "UN"]))
    assert corrected.to_list() == tokenize(["The Man", read, "", "UN"]).to_list()


def test_tokens_of_other_lines_stay_as_they_are(source):
    letters = tf.RaggedTensor.from_row_lengths([b"\xe2\x96\x81", b"m", b"a", b"n"], [4])
    tokens = tf.concat([letters, source.tokenizer.tokenize(["AB CD", ""])], axis=0)
    corrected = LetterCaseCorrection(source, 500).correct(tokens)
    assert corrected[0].numpy().tolist() == tokens[0].numpy().tolist()
    assert source.tokenizer.detokenize(corrected).numpy().tolist() == [b"man", b"Ab cd", b""]


def test_a_line_that_was_cut_within_a_character_keeps_its_words(source):
    tokens = source.tokenizer.tokenize(["i saw spain €"])
    for length in range(1, tokens.row_lengths()[0] + 1):
        cut = tokens[:, :length]
        read = LetterCaseCorrection(source, 500).correct(cut)
        counts = [source.tokenizer.words(each).row_lengths()[0] for each in (cut, read)]
        assert counts[0] == counts[1]
    assert source.tokenizer.detokenize(read)[0] == "I saw Spain €".encode()


def test_a_line_is_not_longer_than_the_limit(source):
    tokens = source.tokenizer.tokenize(["ÉÉ ÉÉ"])
    length = int(tokens.row_lengths()[0])
    for limit, expected in ((500, length + 3), (length, length)):
        read = LetterCaseCorrection(source, limit).correct(tokens)
        assert read.row_lengths().numpy().tolist() == [expected]


def test_nothing_is_written_to_standard_error(source, capfd):
    """RE2 does, where a pattern takes too much memory."""
    tokens = source.tokenizer.tokenize(["The Commission has adopted the report. " * 9])
    LetterCaseCorrection(source, 500).correct(tokens)
    assert capfd.readouterr().err == ""


def test_there_may_be_no_lines(source):
    tokens = source.tokenizer.tokenize(tf.zeros([0], tf.string))
    assert LetterCaseCorrection(source, 500).correct(tokens).to_list() == []


def test_a_vocabulary_may_have_no_whole_words(tmp_path, source):
    path = tmp_path / "source.vocab"
    Vocabulary([*SPECIAL_TOKENS, "a", "<0x20>", "▁"]).save(path)
    check(TextVectorizer(source.tokenizer, path), "THE MAN", "The man")
