"""AER, precision and recall against gold links."""

from typing import Any

import pytest

from rnnsearch_tf.alignment.error_rate import AlignmentScores, GoldLinks, alignment_scores


def test_by_hand():
    gold = [GoldLinks(sure={(0, 0), (1, 2), (3, 3)}, possible={(2, 1)})]
    scores = alignment_scores([{(0, 0), (1, 1), (2, 1), (4, 4), (5, 5)}], gold)
    # A ∩ S is (0, 0); A ∩ P has (2, 1) too, for what is sure is possible.
    assert scores == AlignmentScores(
        sentences=1, links=5, sure=3, links_in_sure=1, links_in_possible=2
    )
    assert scores.precision == pytest.approx(2 / 5)
    assert scores.recall == pytest.approx(1 / 3)
    assert scores.aer == pytest.approx(1 - (1 + 2) / (5 + 3))


def test_counts_are_summed_over_the_corpus():
    links = [{(0, 0)}, [(0, 0), (1, 1), (1, 1)], []]  # a link listed twice counts once
    scores = alignment_scores(
        links, [GoldLinks([(0, 0)]), GoldLinks({(0, 1)}), GoldLinks({(3, 3)})]
    )
    assert scores == AlignmentScores(3, 3, 3, 1, 1)
    assert scores.aer == pytest.approx(1 - 2 / 6)


def test_perfect_links_have_no_error_and_possible_ones_may_be_left_out():
    gold = GoldLinks({(0, 0), (1, 1)}, {(0, 0), (2, 1)})  # a link may be listed as both
    for links in (gold.sure, {*gold.sure, *gold.possible}):
        scores = alignment_scores([links], [gold])
        assert (scores.aer, scores.precision, scores.recall) == (0, 1, 1)


def test_a_ratio_of_nothing_is_none():
    nothing_found = alignment_scores([set()], [GoldLinks({(0, 0)})])
    assert (nothing_found.aer, nothing_found.precision, nothing_found.recall) == (1, None, 0)
    nothing_sure = alignment_scores([{(0, 0), (1, 1)}], [GoldLinks(set(), {(0, 0)})])
    assert nothing_sure.aer == pytest.approx(1 / 2)
    assert (nothing_sure.precision, nothing_sure.recall) == (1 / 2, None)
    assert alignment_scores([set()], [GoldLinks(set())]).aer is None


def test_the_error_rate_has_an_interval_where_there_are_enough_sentences():
    """Half of the sentences have no error, half nothing but: a binomial's standard deviation."""
    links = [{(0, 0)}] * 100
    gold = [GoldLinks({(0, i % 2)}) for i in range(100)]
    scores = alignment_scores(links, gold)
    assert scores.aer == 0.5
    assert scores.aer_interval == pytest.approx(1.96 * 0.05, rel=0.1)
    assert alignment_scores(links[:9], gold[:9]).aer_interval is None
    none = alignment_scores([set()] * 10, [GoldLinks(set())] * 10)
    assert none.aer is none.aer_interval is None
    one = alignment_scores([{(0, 0)}, *[[]] * 9], [GoldLinks({(0, 0)}), *[GoldLinks(())] * 9])
    assert one.aer_interval is not None and 0 <= one.aer_interval <= 0.5  # some draws lack its link


def test_links_in_pharaohs_format_are_no_pairs():
    text: Any = "0-0 1-1"
    for predicted, gold in (
        (text, GoldLinks([])),
        ([], GoldLinks(text)),
        (text.split(), GoldLinks([])),
    ):
        with pytest.raises(TypeError, match="pairs of positions"):
            alignment_scores([predicted], [gold])


def test_unequal_numbers_of_sentences_are_an_error():
    with pytest.raises(ValueError):
        alignment_scores([{(0, 0)}], [GoldLinks({(0, 0)}), GoldLinks({(1, 1)})])
