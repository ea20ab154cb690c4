"""Shortlists of words: their order, their files, their ids."""

import hashlib
from collections import Counter
from typing import Any

import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

SPECIAL_LINES = b"<pad>\n</s>\n[UNK]\n"
# Characters at which str.splitlines or str.split would cut, and some that str.strip would take.
ODD_WORDS = [
    "a\u2028b",
    "c\u0085d",
    "e\u00a0f",
    "\u00a0",
    "\u2029",
    "\x0b",
    "\x1c",
    "\ufeff",
    "g\rh",
]


def test_frequent_words_come_first_and_equals_in_code_point_order():
    counts = Counter({"b": 2, "é": 5, "a": 2, "Z": 2, "the": 7, "rare": 1})
    vocabulary = Vocabulary.build(counts, size=8)
    assert vocabulary.tokens == ["<pad>", "</s>", "[UNK]", "the", "é", "Z", "a", "b"]
    assert len(vocabulary) == 8


def test_size_counts_the_special_tokens():
    counts = Counter("aabc")
    assert Vocabulary.build(counts, 4).tokens == [*SPECIAL_TOKENS, "a"]
    assert Vocabulary.build(counts, 3).tokens == [*SPECIAL_TOKENS]
    assert len(Vocabulary.build(counts, 1000)) == 6


def test_special_tokens_in_the_text_are_not_counted_twice():
    vocabulary = Vocabulary.build(Counter({"[UNK]": 9, "</s>": 8, "a": 1}), 10)
    assert vocabulary.tokens == [*SPECIAL_TOKENS, "a"]


def test_build_does_not_depend_on_the_order_of_counting():
    words = ["x", "y", "z", "y"]
    forwards, backwards = (Vocabulary.build(Counter(w), 10) for w in (words, words[::-1]))
    assert forwards.tokens == backwards.tokens == [*SPECIAL_TOKENS, "y", "x", "z"]


def test_words_to_ids_and_back():
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "a", "b"])
    assert vocabulary.encode(["b", "zebra", "a"]) == [4, 2, 3, 1]
    assert vocabulary.encode([]) == [1]
    assert vocabulary.encode([b"b", "zébra".encode(), "</s>"]) == [4, 2, 2, 1]
    no_tokens: Any = (None, 3)
    for no_token in no_tokens:
        with pytest.raises(TypeError, match=f"expected a token, a str, not {no_token}"):
            vocabulary.encode(["a", no_token])
    assert vocabulary.decode([4, 2, 3, 1, 4, 0]) == ["b", "[UNK]", "a"]
    assert vocabulary.decode([3, 0, 4]) == ["a"]
    assert vocabulary.decode([3, 4]) == ["a", "b"]
    for no_id in (-1, 5):
        with pytest.raises(IndexError, match=f"^id {no_id}: the vocabulary has ids from 0 to 4$"):
            vocabulary.decode([3, no_id])


# --- files ----------------------------------------------------------------------------------------


def test_file_has_one_word_a_line_and_the_line_number_is_the_id(tmp_path):
    Vocabulary([*SPECIAL_TOKENS, "the", "été"]).save(tmp_path / "v")
    assert (tmp_path / "v").read_bytes() == SPECIAL_LINES + "the\nété\n".encode()
    loaded = Vocabulary.load(tmp_path / "v")
    lines = (tmp_path / "v").read_text("utf-8").split("\n")
    assert [loaded.encode([line])[0] for line in lines[3:5]] == [3, 4]


@pytest.mark.parametrize("word", ODD_WORDS, ids=ascii)
def test_odd_words_survive_their_file(tmp_path, word):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "first", word, "last"])
    vocabulary.save(tmp_path / "v")
    loaded = Vocabulary.load(tmp_path / "v")
    assert loaded.tokens == vocabulary.tokens
    assert loaded.encode([word, "last"]) == [4, 5, 1]


def test_digest_is_the_sha256_of_the_file(tmp_path):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, "été", "a\u2028b"])
    vocabulary.save(tmp_path / "v")
    expected = hashlib.sha256((tmp_path / "v").read_bytes()).hexdigest()
    assert vocabulary.digest == Vocabulary.load(tmp_path / "v").digest == expected
    assert Vocabulary([*SPECIAL_TOKENS, "été"]).digest != expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "must begin with <pad> </s> "),
        (b"the\na\n", "must begin with <pad> </s> "),
        (b"</s>\n<pad>\n[UNK]\na\n", "must begin with <pad> </s> "),
        (SPECIAL_LINES + b"a\nb\na\n", "empty or repeated tokens"),
        (SPECIAL_LINES + b"a\n</s>\n", "empty or repeated tokens"),
        (SPECIAL_LINES + b"a\n\nb\n", "empty"),
        (SPECIAL_LINES + b"caf\xe9\n", "not UTF-8"),
        (SPECIAL_LINES.replace(b"\n", b"\r\n"), "must begin with"),
    ],
)
def test_wrong_file_is_an_error_that_names_it(tmp_path, content, message):
    path = tmp_path / "words.vocab"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        Vocabulary.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
