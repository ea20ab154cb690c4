"""Pairs held out of a training corpus for validation."""

import itertools

import pytest

from rnnsearch_tf.data import parallel_corpus
from rnnsearch_tf.data.held_out import hold_out
from rnnsearch_tf.data.parallel_corpus import ParallelText, read_all
from rnnsearch_tf.errors import InputError

CORPUS = ParallelText([f"s{i}" for i in range(97)], [f"t{i}" for i in range(97)])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 7)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (13, 13), (0.1, 10), (0.001, 1), (96, 96)])
def test_each_pair_is_on_one_side_in_order(size, count):
    rest, held_out = hold_out(CORPUS, size)
    left = read_all(rest)
    assert len(held_out.source) == count
    for text in (left, held_out):
        numbers = [int(source[1:]) for source in text.source]
        assert numbers == sorted(numbers)
        assert text.target == [f"t{number}" for number in numbers]
    assert sorted(left.source + held_out.source) == sorted(CORPUS.source)


def test_the_sample_is_always_the_same_and_no_run_of_lines():
    rest, held_out = hold_out(CORPUS, 20)
    again, same = hold_out(CORPUS, 20)
    assert held_out == same and rest.fingerprint() == again.fingerprint()
    assert rest.fingerprint() not in (CORPUS.fingerprint(), hold_out(CORPUS, 21)[0].fingerprint())
    numbers = [int(source[1:]) for source in held_out.source]
    assert len({b - a for a, b in itertools.pairwise(numbers)}) > 3


def test_blank_sentences_are_not_drawn():
    text = ParallelText(["a", " ", "b", "c"], ["x", "y", "", "z"])
    rest, held_out = hold_out(text, 1)
    assert held_out.source[0] in ("a", "c")
    assert len(read_all(rest).source) == 3
    with pytest.raises(InputError, match=r"^2 of 2 pairs"):
        hold_out(text, 2)


@pytest.mark.parametrize("size", [97, 1000])
def test_something_must_be_left(size):
    with pytest.raises(InputError, match=rf"^{size:,} of 97 pairs cannot be held out"):
        hold_out(CORPUS, float(size))
