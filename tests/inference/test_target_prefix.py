"""Prefixes of translations as text: forced words, and an unfinished one."""

import pytest
import tensorflow as tf

from rnnsearch_tf.inference.target_prefix import read_prefix
from rnnsearch_tf.text.subwords import SentencePieceTokenizer, learn_subwords
from rnnsearch_tf.text.tokenizers import tokenizer_for
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK, Vocabulary

WORDS = ["Il", "fait", "froid", "faisait", ".", "l'"]


def read(target: TextVectorizer, text: str, max_length: int = 9) -> tuple[list[str], str, bool]:
    """The forced words (as the model knows them), the unfinished one, whether a new one follows."""
    prefix = read_prefix(tf.constant([text]), target, max_length)[1].prefix
    forced = [target.vocabulary.tokens[i] for i in prefix.forced.numpy()[0] if i]
    return forced, prefix.partial_word.numpy()[0].decode(), bool(prefix.needs_new_word.numpy()[0])


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> TextVectorizer:
    path = tmp_path_factory.mktemp("words") / "fr.vocab"
    Vocabulary([*SPECIAL_TOKENS, *WORDS]).save(path)
    return TextVectorizer(tokenizer_for("moses", "fr"), path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ([], "", False)),
        (" \t", ([], "", False)),
        ("Il fa", (["Il"], "fa", False)),
        ("Il fait", (["Il"], "fait", False)),
        ("Il fait ", (["Il", "fait"], "", True)),
        ("Il fait\u00a0", (["Il", "fait"], "", True)),
        ("Zork l'", (["[UNK]"], "l'", False)),
        ("Zork l’", (["[UNK]"], "l'", False)),
        ("Zork l’ ", (["[UNK]"] * 3, "", True)),  # as within a line: a quotation mark
        ("Il zork", (["Il", "[UNK]"], "", True)),  # no word begins so
        ("Il </s", (["Il", *["[UNK]"] * 3], "", True)),
        ("Il " * 12 + "fa", (["Il"] * 9, "", True)),
    ],
)
def test_words(words, text, expected):
    assert read(words, text) == expected


def test_an_english_apostrophe_begins_a_contraction(tmp_path):
    Vocabulary([*SPECIAL_TOKENS, "I", "don", "'t", "'", "dogs"]).save(tmp_path / "en.vocab")
    english = TextVectorizer(tokenizer_for("moses", "en"), tmp_path / "en.vocab")
    assert read(english, "I don'") == (["I", "don"], "'", False)
    assert read(english, "I don’") == (["I", "don"], "'", False)
    assert read(english, "dogs' ") == (["dogs", "'"], "", True)
    blanks = TextVectorizer(tokenizer_for("whitespace", "en"), tmp_path / "en.vocab")
    assert read(blanks, "don' ") == (["[UNK]"], "", True)


def test_sentences_side_by_side(words):
    texts = tf.constant(["Il fait fr", "", "Zork ", b"Il \xff"])
    given, constraint = read_prefix(texts, words, 9)
    assert given.to_list() == [[b"Il", b"fait"], [], [b"Zork"], [b"Il", "\ufffd".encode()]]
    assert constraint.prefix.forced.numpy().tolist() == [[3, 4], [0, 0], [UNK, 0], [3, UNK]]
    assert constraint.prefix.max_tokens().numpy().tolist() == [5, 1, 2, 3]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory) -> TextVectorizer:
    tokenizer = SentencePieceTokenizer("fr", learn_subwords(["la maison, les maisons"] * 9, 290))
    path = tmp_path_factory.mktemp("pieces") / "fr.vocab"
    tokenizer.vocabulary().save(path)
    return TextVectorizer(tokenizer, path)


def test_pieces(pieces):
    forced, rest, ends = read(pieces, "la maison")
    assert ("".join(forced), rest, ends) == ("▁la", "▁maison", False)
    forced, rest, ends = read(pieces, "la maison ")
    assert ("".join(forced), rest, ends) == ("▁la▁maison", "", True)
    assert read(pieces, "☃") == ([], "▁☃", False)


def test_pieces_that_stand_behind_a_whole_word(pieces):
    spelling = read_prefix(tf.constant(["la "]), pieces, 9)[1].spelling
    known = dict(zip(pieces.vocabulary.tokens, spelling.begins_word.numpy().tolist(), strict=True))
    spelled = dict(zip(pieces.vocabulary.tokens, spelling.texts.numpy().tolist(), strict=True))
    assert known[","] and known["</s>"] and known["<0x2E>"]
    assert not (known["<0x41>"] or known["<0xE2>"])
    parts = {token: begins for token, begins in known.items() if token.strip("▁").isalpha()}
    assert {token for token, begins in parts.items() if begins} == {t for t in parts if t[0] == "▁"}
    assert {True, False} == set(parts.values())
    assert spelled["<0xE2>"] == b"\xe2" and spelled["</s>"] == b"\0"
