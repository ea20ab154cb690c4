"""Paired bootstrap resampling: of equal, better and too few translations."""

import numpy as np
import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation import metrics
from rnnsearch_tf.evaluation.metrics import METRICS, bleu, text_metrics
from rnnsearch_tf.evaluation.significance import compare, difference

WORDS = ["le", "chat", "noir", "dort", "sur", "un", "grand", "lit", "blanc"]


def lines(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.permutation(WORDS)) for _ in range(count)]


RIGHT = lines(29, 0)
WRONG = lines(29, 1)


def test_a_clear_difference_is_significant():
    better = [*RIGHT[:23], *WRONG[23:]]
    comparison = compare("other.fr", better, WRONG, RIGHT, [5] * 29)
    assert comparison.other == "other.fr"
    assert list(comparison.differences) == ["bleu", "chrf", "ter"]
    for name, metric in text_metrics().items():
        difference = comparison.differences[name]
        assert difference.score == pytest.approx(metric.score(better, RIGHT).score)
        theirs = metric.score(WRONG, RIGHT, intervals=True)
        assert difference.other == pytest.approx(theirs.score)
        assert difference.other_interval == pytest.approx(theirs.interval, abs=1e-6)
        # No drawn set departs as far from the mean as the difference is large.
        assert difference.p_value == pytest.approx(1 / 1001)
        assert "bs:1000" in difference.signature and "seed:12345" in difference.signature


def test_one_sentence_is_no_evidence():
    """Wherever it is drawn, the systems differ, as far as it is drawn often."""
    for changed, at_least in ((1, 0.3), (4, 0.03)):
        ours = [*RIGHT[:changed], *WRONG[changed:]]
        found = difference(METRICS["chrf"], ours, WRONG, RIGHT)
        assert found.p_value and found.p_value > at_least
        assert found.low is not None and found.high is not None
        assert found.low < found.score - found.other < found.high


def test_a_draw_with_twice_the_difference_counts_though_scores_are_rounded():
    """Of 3 wrong lines in 20, 0, 6 or more are drawn with a probability of 0.106; 6, with 0.045."""
    right = ["a b c d e f g h i j k l m"] * 20
    wrong = ["a b c d e f g h i j k l x"] * 3 + right[3:]
    found = difference(METRICS["ter"], wrong, right, right)
    assert found.p_value == pytest.approx(0.106, abs=0.03)


def test_of_equally_good_systems_as_many_are_significant_as_p_says(monkeypatch):
    """With p < 0.2, a fifth."""
    monkeypatch.setattr(metrics, "SAMPLES", 100)
    random = np.random.default_rng(3)
    ps = []
    for seed in range(60):
        references = lines(30, seed)
        wrong = lines(30, 1_000 + seed)
        ours, theirs = (
            [a if is_right else b for a, b, is_right in zip(references, wrong, right, strict=True)]
            for right in random.random([2, 30]) < 0.5
        )
        ps.append(difference(METRICS["bleu"], ours, theirs, references).p_value or 0)
    assert 5 <= sum(p < 0.2 for p in ps) <= 20  # 12 expected, with a standard deviation of 3


def test_lost_lines_are_no_difference():
    with pytest.raises(InputError, match="29 references, 29 translations, 24 others: there must"):
        difference(METRICS["bleu"], RIGHT, RIGHT[:24], RIGHT)
    with pytest.raises(InputError, match="28 lengths"):
        compare("other", RIGHT, WRONG, RIGHT, [5] * 28)


def test_the_same_translations_do_not_differ():
    comparison = compare("other", WRONG, list(WRONG), RIGHT, [5] * 29)
    assert [d.p_value for d in comparison.differences.values()] == [1, 1, 1]
    assert [b.p_value for b in comparison.by_length] == [1]


def test_without_a_seed_both_are_scored_on_the_same_draws(monkeypatch):
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    found = difference(METRICS["chrf"], RIGHT[:9] + WRONG[9:], [*RIGHT[:9], *WRONG[9:]], RIGHT)
    assert (found.low, found.high, found.p_value) == (0, 0, 1)
    assert "seed:none" in found.signature


def test_bins_are_compared_each_by_itself_and_small_ones_not_at_all():
    lengths = [5] * 12 + [15] * 9 + [25] * 8
    theirs = [*RIGHT[:6], *WRONG[6:]]
    bins = compare("other", WRONG, theirs, RIGHT, lengths).by_length
    assert [b[:3] for b in bins] == [(1, 10, 12), (11, 20, 9), (21, 30, 8)]
    assert bins[0].bleu == pytest.approx(bleu(theirs[:12], RIGHT[:12]).score)
    assert (bins[0].p_value or 1) < 0.05 and (bins[0].interval or 0) > 1
    assert [b.p_value for b in bins[1:]] == [None, None]
    few = compare("other", WRONG[:9], theirs[:9], RIGHT[:9], lengths[:9]).differences["bleu"]
    assert few.p_value is few.other_interval is None and few.other > few.score


def test_as_json():
    values = compare("other", WRONG, RIGHT, RIGHT, [5] * 29).as_dict()
    assert list(values) == ["other", "method", "bleu", "chrf", "ter", "by_length"]
    assert values["other"] == "other"
    assert "Koehn 2004" in values["method"] and "1000" in values["method"]
    assert values["ter"]["other"] == 0 and values["bleu"]["other"] == pytest.approx(100)
    assert list(values["chrf"]) == [
        "score", "other", "other_interval", "low", "high", "p_value", "signature",
    ]  # fmt: skip
    assert values["by_length"][0]["p_value"] == pytest.approx(1 / 1001)


def test_several_references_are_all_taken():
    both = list(zip(WRONG, RIGHT, strict=True))
    comparison = compare("other", WRONG, lines(29, 2), both, [5] * 29)
    difference = comparison.differences["bleu"]
    assert difference.score == pytest.approx(100) and "nrefs:2" in difference.signature
    assert difference.p_value == pytest.approx(1 / 1001)
    assert comparison.by_length[0].bleu == pytest.approx(bleu(lines(29, 2), both).score)
