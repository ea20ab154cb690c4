"""Typing errors: which letters are exchanged, and how many."""

import random

import pytest

from rnnsearch_tf.text.letter_noise import exchange_letters


def exchanged(text: str, share: float, seed: int = 1) -> str:
    return exchange_letters(text, share, random.Random(seed))


@pytest.mark.parametrize(
    "text", ["", "  ", "a an the", "1234 56789 x_yz_", "été", "我在谷歌工作", "สวัสดีครับ"]
)
def test_short_words_and_digits_stay(text):
    assert exchanged(text, 1.0) == text


def test_two_inner_neighbors_are_exchanged():
    assert exchanged("abcd", 1.0) == "acbd"
    for seed in range(20):
        word = exchanged("abcdefgh", 1.0, seed)
        assert (word[0], word[-1], sorted(word)) == ("a", "h", sorted("abcdefgh"))
        assert sum(a != b for a, b in zip(word, "abcdefgh", strict=True)) == 2


@pytest.mark.parametrize(("word", "swapped"), [("हिमालय", "हिलमाय"), ("كِتَابُ", "كِاتَبُ")])
def test_letters_keep_their_marks(word, swapped):
    assert exchanged(word, 1.0) == swapped


def test_the_share_is_that_of_all_words_on_average():
    text = "the children have eaten bread " * 20  # four of five words can bear an error
    words = text.split()
    counts = [
        sum(a != b for a, b in zip(exchanged(text, 0.3, seed).split(), words, strict=True))
        for seed in range(50)
    ]
    assert sum(counts) / len(counts) / len(words) == pytest.approx(0.3, abs=0.01)
    assert exchanged(text, 0.0) == text
