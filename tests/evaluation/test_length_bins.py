"""BLEU over source length: bins, and their bounds and intervals."""

from typing import Any

import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import LengthBin, bleu_by_length, length_bins
from rnnsearch_tf.evaluation.metrics import bleu

LINES = ["Le chat dort sur le lit.", "Il fait beau à Paris aujourd'hui.", "Une dame lit un livre."]
OTHER = ["un deux trois quatre cinq", "six sept huit neuf dix", "bleu blanc rouge vert noir"]


def test_bleu_has_bins_of_source_lengths():
    lengths = [10, 11, 1, 20, 35]
    translations = [LINES[0], LINES[1], LINES[2], OTHER[0], OTHER[1]]
    references = [LINES[0], LINES[1], LINES[2], OTHER[2], OTHER[1]]
    bins = bleu_by_length(translations, references, lengths)
    assert [b[:3] for b in bins] == [(1, 10, 2), (11, 20, 2), (31, 40, 1)]
    assert bins[0].bleu == pytest.approx(100)
    assert bins[1].bleu == pytest.approx(
        bleu([LINES[1], OTHER[0]], [LINES[1], OTHER[2]]).score
    )  # fmt: skip
    assert bins[1].bleu < 90
    assert bins[2]._replace(bleu=round(bins[2].bleu, 6)) == LengthBin(31, 40, 1, 100)


class Labeled:
    """A column of a shuffled table: its elements in their order, by [] those of labels."""

    def __init__(self, values: list):
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __getitem__(self, label: int):
        return self._values[-1 - label]


def test_columns_are_read_in_their_order():
    changed, lengths = [LINES[0], OTHER[0], LINES[2]], [10, 15, 20]
    columns: list[Any] = [Labeled(LINES), Labeled(changed), Labeled(lengths)]
    assert bleu_by_length(*columns) == bleu_by_length(LINES, changed, lengths)
    with pytest.raises(InputError, match="3 references, 3 translations, 2 lengths"):
        bleu_by_length(LINES, LINES, [10, 15])


def test_bins_of_ten_sentences_have_intervals():
    lines = [LINES[0], OTHER[1]] * 10
    references = [LINES[0], LINES[1]] * 10
    lengths = [5] * 9 + [15] * 10 + [25]
    bins = bleu_by_length(lines, references, lengths)
    assert [b.interval is not None for b in bins] == [False, True, False]
    assert all(b.p_value is None for b in bins)


def test_every_sentence_is_in_its_bin():
    assert length_bins([10, 11, 1, 35, 20]) == {(1, 10): [0, 2], (11, 20): [1, 4], (31, 40): [3]}
    assert length_bins([10, 11, 1, 35], bounds=[3, 12]) == {(1, 3): [2], (4, 12): [0, 1]}
