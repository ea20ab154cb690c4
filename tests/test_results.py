"""Results as people see them: a line in a terminal, a drawing in a notebook."""

import math
import xml.etree.ElementTree as ET

import numpy as np

from rnnsearch_tf.results import Alignment, Hypothesis, Translation

ATTACK = "<script>alert(1)</script>&"
WEIGHTS = np.float32([[0.75, 0.25, 0.0], [math.nan, math.nan, math.nan]])
HYPOTHESIS = Hypothesis(f"Un {ATTACK}", (ATTACK, "</s>"), -0.480123456, -0.2, WEIGHTS)
OTHER = Hypothesis("Une", ("Une", "</s>"), -math.inf, None)
RESULT = Translation(f"A {ATTACK}", ("A", ATTACK, "</s>"), (HYPOTHESIS, OTHER), (1,))
PAIR = Alignment(("A", ATTACK, "</s>"), (ATTACK, "</s>"), WEIGHTS)


def test_a_result_is_one_short_line():
    assert repr(RESULT) == (
        f"Translation('A {ATTACK}' → 'Un {ATTACK}', log p -0.48, 2 hypotheses, α 2×3)"
    )
    assert repr(OTHER) == "Hypothesis('Une', log p -inf)"
    assert repr(Translation("A", (), (OTHER,))) == "Translation('A' → 'Une', log p -inf)"
    assert repr(PAIR) == f"Alignment('A {ATTACK} </s>' → '{ATTACK} </s>', α 2×3)"


def test_results_with_alignments_are_compared_and_kept_in_sets():
    again = Hypothesis(f"Un {ATTACK}", (ATTACK, "</s>"), -0.480123456, -0.2, WEIGHTS.copy())
    assert Translation(RESULT.source, RESULT.source_tokens, (again, OTHER), (1,)) == RESULT
    assert len({HYPOTHESIS, again, OTHER}) == 2
    assert PAIR in {PAIR} and Alignment(("A",), ("B",), WEIGHTS) != PAIR


def test_a_notebook_shows_texts_scores_unknown_words_and_the_alignment():
    shown = ET.fromstring(RESULT._repr_html_())  # whole elements, and nothing left unescaped
    assert {element.tag for element in shown.iter()} == {
        "div", "bdi", "small", "svg", "rect", "text", "g", "title",
    }  # fmt: skip
    texts = [element.text for element in shown.iter("bdi")]
    assert texts == [RESULT.source, ATTACK, HYPOTHESIS.text, "Une"]
    assert "log p -0.48 nats, ranked by -0.20<" in RESULT._repr_html_()
    titles = [element.text for element in shown.iter("title")]
    assert titles == [f"{ATTACK[:23]}… ← A: 75%", f"{ATTACK[:23]}… ← {ATTACK[:23]}…: 25%"]


def test_a_drawing_loads_nothing_and_takes_the_colors_of_the_page():
    drawn = PAIR._repr_html_()
    assert not any(name in drawn for name in ("href", "src", "url(", "<style", "onload"))
    shown = ET.fromstring(drawn)
    assert shown.get("fill") == "currentColor"
    assert "direction:ltr" in (shown.get("style") or "")  # else cut in a page from the right
    assert [text.text for text in shown.iter("text")][2:] == ["</s>", f"{ATTACK[:23]}…", "</s>"]


def test_without_an_alignment_there_is_no_drawing():
    shown = Translation("A", (), (Hypothesis("Une", (), -1.0, -1.0),))._repr_html_()
    assert not any(part in shown for part in ("<svg", "vocabulary", "ranked"))


def test_a_long_sentence_stays_small():
    size = 50
    words = tuple(f"word{i}" for i in range(size))
    weights = np.random.default_rng(0).dirichlet([0.05] * size, size)
    assert len(Alignment(words, words, weights)._repr_html_()) < 40_000
