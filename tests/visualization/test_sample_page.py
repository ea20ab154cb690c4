"""The worst and the best translations, and the page of them."""

import html
import json

import numpy as np
import pytest

from rnnsearch_tf.results import Alignment
from rnnsearch_tf.visualization.sample_page import SampleText, differences, extremes, write_sample


def test_the_lowest_and_the_highest_without_repeats():
    scores = [50.0, 10.0, 90.0, 10.0, 90.0, 30.0, 70.0]
    assert extremes(scores, 2) == ([1, 3], [2, 4])
    assert extremes(scores, 3) == ([1, 3, 5], [2, 4, 6])
    assert extremes(scores, 5) == ([1, 3, 5, 0, 6], [2, 4])
    assert extremes([1.0], 5) == ([0], [])


SOURCES = ["one <b>", "two", "three", "four", "five"]
REFERENCES = ["un", "deux mots", "trois", "quatre mots", "cinq"]
TRANSLATIONS = ["un", "deux", "xyz", "quatre mots", "cinq et six"]


def align(sources: list[str], targets: list[str]) -> list[Alignment]:
    def of_pair(source: str, target: str) -> Alignment:
        x, y = [*source.split(), "</s>"], [*target.split(), "</s>"]
        return Alignment(tuple(x), tuple(y), np.full((len(y), len(x)), 1 / len(x), np.float32))

    return [of_pair(*pair) for pair in zip(sources, targets, strict=True)]


def score(sources: list[str], targets: list[str]) -> list[float]:
    return [-float(len(target)) for target in targets]


def test_words_that_differ_are_found():
    assert differences("Le chat noir dort.", "Le chien dort !") == [(3, 7), (8, 12), (17, 18)]
    assert differences("a b", "b a") == [(2, 3)]
    assert differences("l'e\u0301te\u0301", "l'été") == []
    assert differences("", "a") == differences("a", "a") == []
    assert differences("彼は学生です", "彼は先生です") == [(2, 3)]
    assert differences("नमस्ते मित्र", "नमस्ता मित्र") == [(0, 6)]  # vowel signs are no words
    assert differences("เขาไม่", "เขาไม้") == [(4, 6)]


def test_the_page_has_sentences_texts_scores_and_alignments(tmp_path):
    text = SampleText(SOURCES, REFERENCES, TRANSLATIONS, ("en", "fr"))
    write_sample(tmp_path / "new" / "a.html", text, align, score, 2)
    page = (tmp_path / "new" / "a.html").read_text("utf-8")
    heads = [part.split("</h2>")[0].split(">")[-1] for part in page.split("<h2")[1:]]
    assert [head.split(",")[0] for head in heads] == [
        "Worst 1: sentence 3", "Worst 2: sentence 2",
        "Best 1: sentence 1", "Best 2: sentence 4",
    ]  # fmt: skip
    assert heads[0].endswith("chrF2 0.00") and heads[2].endswith("chrF2 100.00")
    assert '<dd dir="auto" lang="en">one &lt;b&gt;</dd>' in page
    assert '<dd dir="auto" lang="fr">deux <mark>mots</mark></dd>' in page
    scores = json.loads(html.unescape(page.split('data-scores="')[3].split('"')[0]))
    expected = {"source words": 2, "log p": -2.0, "BLEU": 100.0, "chrF2": 100.0, "TER": 0.0}
    assert scores == pytest.approx(expected)
    assert '"target":["xyz","</s>"]' not in page  # no "<" in the data
    assert '"target":["xyz","\\u003c/s>"]' in page
    assert "The 2 sentences of the lowest chrF2 and the 2 of the highest, of 5." in page
