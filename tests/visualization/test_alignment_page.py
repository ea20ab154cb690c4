"""The page of soft alignments: what is in the file, and what it does in Chromium."""

import dataclasses
import html.parser
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch_tf.results import Alignment
from rnnsearch_tf.visualization.alignment_page import (
    AlignedSentence,
    LabeledText,
    alignment_page,
    write_page,
)

ATTACK = """<img src=x onerror="document.body.dataset.hacked=1"></script><b>&amp;'"""

HOUSE = AlignedSentence(
    Alignment(
        ("the", "white", "house", "</s>"),
        ("la", "maison", "blanche", ".", "</s>"),
        np.float32(
            [
                [0.9, 0.0, 0.1, 0],
                [0.04, 0.06, 0.9, 0],
                [0, 0.8, 0.2, 0],
                [0.02, 0.02, 0.01, 0.95],
                [0, 0, 0.25, 0.75],
            ]
        ),
    ),
    "A house",
    [LabeledText("Source", "the white house", "en"), LabeledText("Reference", "Casa", "")],
)
ARABIC = AlignedSentence(
    Alignment(("house", "</s>"), ("AB", "أبيض", "</s>"), np.float32([[1, 0], [0.5, 0.5], [0, 1]]))
)


# --- the file ---


class Elements(html.parser.HTMLParser):
    """The elements of a page, and the text in each."""

    def __init__(self, page: str):
        super().__init__()
        self.inside = False
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            tag, attributes, text = self.elements[-1]
            self.elements[-1] = (tag, attributes, text + data)

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [element[1:] for element in self.elements if element[0] == tag]


def test_texts_words_and_weights_are_in_the_file():
    elements = Elements(alignment_page([HOUSE, ARABIC], "Houses & more", "Two of them.", "en"))
    assert [text for _, text in elements.named("title")] == ["Houses & more"]
    assert [text.strip() for _, text in elements.named("h2")] == ["A house", "Sentence 2"]
    assert elements.named("dd") == [
        ({"dir": "auto", "lang": "en"}, "the white house"),
        ({"dir": "auto"}, "Casa"),
    ]
    first, second = (
        json.loads(text)
        for attributes, text in elements.named("script")
        if attributes.get("type") == "application/json"
    )
    assert first["source"] == ["the", "white", "house", "</s>"]
    assert first["alignment"][1] == [0.04, 0.06, 0.9, 0]
    assert first["languages"] == ["en", ""]
    assert second["target"] == ["AB", "أبيض", "</s>"]


def test_weights_that_are_not_finite_are_empty():
    pair = Alignment(("a", "b", "c"), ("d",), np.array([[np.nan, np.inf, -np.inf]]))
    assert '"alignment":[[0.0,0.0,0.0]]' in alignment_page([AlignedSentence(pair)], "Infinite")


def test_nothing_is_loaded_and_text_is_no_markup():
    pair = Alignment((ATTACK,), (ATTACK,), np.ones((1, 1)))
    texts = [LabeledText(ATTACK, ATTACK, ATTACK), LabeledText("", ATTACK, "", [(0, 5), (9, 12)])]
    attacked = AlignedSentence(pair, ATTACK, texts, {ATTACK: 1.0})
    elements = Elements(alignment_page([attacked], ATTACK, ATTACK))
    assert not any({"src", "href"} & set(attributes) for _, attributes, _ in elements.elements)
    assert {tag for tag, *_ in elements.elements} == {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "span", "noscript",
        "main", "section", "h2", "dl", "div", "dt", "dd", "mark", "script",
    }  # fmt: skip
    assert [a for a, _ in elements.named("main")] == [{"translate": "no"}]  # by a browser
    assert [text for _, text in elements.named("dd")] == [ATTACK, ""]
    assert [text for _, text in elements.named("mark")] == [ATTACK[:5], ATTACK[9:12]]


def test_an_alignment_has_the_shape_of_its_words():
    pair = HOUSE.alignment
    turned = Alignment(pair.source_tokens, pair.target_tokens, pair.weights.T)
    with pytest.raises(ValueError, match="sentence 2"):
        alignment_page([HOUSE, AlignedSentence(turned)], "Houses")


# --- in a browser ---


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from page_in_browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page of sentences; it must not complain, nor ask for anything but itself."""
    path = tmp_path / "page.html"
    complaints: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_page(*sentences: AlignedSentence, **context: Any) -> Any:
        write_page(path, alignment_page(sentences, "Alignments", "", "en", ""))
        contexts.append(browser.new_context(**context))
        page = contexts[-1].new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector(".stage")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert set(requests) == {path.as_uri()}


def readout(page: Any) -> str:
    return page.locator(".readout").first.inner_text().replace("\u2068", "").replace("\u2069", "")


def lit(page: Any, selector: str) -> list[str]:
    return page.locator(f"{selector}.lit").all_inner_texts()


def words(page: Any, side: int) -> Any:
    return page.locator(".words").nth(side).locator("button")


def test_the_matrix_is_the_papers(visit):
    page = visit(HOUSE)
    cells = page.locator("tbody td")
    colors = cells.evaluate_all("cells => cells.map(cell => cell.style.backgroundColor)")
    grays = [int(color.split("(")[1].split(",")[0]) for color in colors]
    np.testing.assert_array_equal(grays, np.ravel(HOUSE.alignment.weights * 255).round())
    labels = cells.evaluate_all("cells => cells.map(cell => Number(cell.ariaLabel))")
    np.testing.assert_allclose(labels, np.ravel(HOUSE.alignment.weights), atol=5e-5)
    assert page.locator("thead th").all_inner_texts() == list(HOUSE.alignment.source_tokens)
    assert page.locator("tbody th").all_inner_texts() == list(HOUSE.alignment.target_tokens)


def test_a_word_that_is_pointed_at_lights_what_it_is_aligned_to(visit):
    page = visit(HOUSE)
    for element in (words(page, 1).nth(1), page.locator("tbody th").nth(1)):
        element.hover()
        assert readout(page) == "“maison” ← “house” 90 %, “white” 6 %"
        assert lit(page, ".words button") == ["white", "house", "maison"]
        assert lit(page, "th") == ["maison"]
        assert page.locator("tr.lit").count() == 1
        opacities = page.locator("path").evaluate_all(
            "p => p.map(p => p.getAttribute('stroke-opacity'))"
        )
        assert opacities == ["0.15", "0.9"]  # fmt: skip
    for element in (words(page, 0).nth(2), page.locator("thead th").nth(2)):
        element.hover()
        assert readout(page) == "“house” → “maison” 90 %, “</s>” 25 %, “blanche” 20 %, “la” 10 %"
        assert lit(page, "th") == ["house"]
        assert page.locator("td.lit").count() == 5
    page.locator("h1").hover()
    assert readout(page) == ""
    assert page.locator(".lit").count() == 0
    weights = np.array(HOUSE.alignment.weights)
    assert page.locator("path").count() == (weights >= 0.05).sum()  # where nothing is chosen
    page.set_viewport_size({"width": 120, "height": 800})  # words wrap, and would be in the way
    page.wait_for_function("() => !document.querySelector('path')")


def test_a_cell_that_is_pointed_at_tells_its_weight(visit):
    page = visit(HOUSE)
    page.locator("tbody tr").nth(1).locator("td").nth(0).hover()
    assert readout(page) == "“maison” ← “the”: 0.04"
    assert lit(page, "th") == ["the", "maison"]
    assert lit(page, ".words button") == ["the", "maison"]
    assert page.locator("path").count() == 1


def test_all_are_drawn_when_they_come_near_or_are_printed(visit):
    page = visit(*[HOUSE] * 40)
    assert 0 < page.locator(".stage").count() < 40
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".stage").count() == 40


def test_lines_join_the_words(visit):
    page = visit(HOUSE)
    word = words(page, 1).nth(0)
    word.hover()
    ends = page.locator("path").first.evaluate(
        """path => {
          const origin = path.ownerSVGElement.getBoundingClientRect();
          return [0, path.getTotalLength()].map(at => path.getPointAtLength(at))
            .map(point => [point.x + origin.left, point.y + origin.top]);
        }"""
    )
    above, below = words(page, 0).nth(0).bounding_box(), word.bounding_box()
    middles = [box["x"] + box["width"] / 2 for box in (above, below)]
    expected = [[middles[0], above["y"] + above["height"]], [middles[1], below["y"]]]
    np.testing.assert_allclose(ends, expected, atol=0.1)


def test_all_of_it_by_keyboard(visit):
    page = visit(HOUSE)
    press = page.keyboard.press
    press("Tab")
    assert readout(page).startswith("“the” →")
    press("ArrowRight")
    assert readout(page) == "“white” → “blanche” 80 %, “maison” 6 %"
    press("End")
    press("ArrowRight")  # beyond the edge
    assert readout(page).startswith("“</s>” →")
    press("Tab")
    assert readout(page).startswith("“la” ←")
    press("Tab")
    assert readout(page) == "“la” ← “the”: 0.9"
    press("ArrowDown")
    press("ArrowRight")
    assert readout(page) == "“maison” ← “white”: 0.06"
    press("Control+End")
    assert readout(page) == "“</s>” ← “</s>”: 0.75"
    press("ArrowDown")
    press("Home")
    press("ArrowLeft")
    assert readout(page) == "“</s>” ← “the”: 0"
    press("Shift+Tab")  # back to the word where one was
    assert readout(page).startswith("“la” ←")
    press("Shift+Tab")
    assert readout(page).startswith("“</s>” →")
    press("Escape")
    assert readout(page) == ""


def test_by_touch(visit):
    page = visit(HOUSE, has_touch=True, viewport={"width": 360, "height": 740})
    page.locator("tbody tr").nth(2).locator("td").nth(1).tap()
    assert readout(page) == "“blanche” ← “white”: 0.8"
    page.locator("tbody th").nth(1).tap()
    assert readout(page).startswith("“maison” ←")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_text_from_the_right(visit):
    page = visit(ARABIC)
    directions = [
        page.locator(".words").nth(side).evaluate("e => getComputedStyle(e).direction")
        for side in (0, 1)
    ]
    assert directions == ["ltr", "rtl"]
    boxes = [words(page, 1).nth(i).bounding_box()["x"] for i in range(3)]
    assert boxes == sorted(boxes, reverse=True)
    words(page, 1).nth(0).focus()
    page.keyboard.press("ArrowLeft")
    assert readout(page).startswith("“أبيض” ←")
    assert page.locator(".words").nth(0).get_attribute("lang") == "en"
    assert page.locator(".words").nth(1).get_attribute("lang") is None


def test_long_sentences_stay_readable_and_far_ones_wait(visit):
    tokens = tuple(f"word{i}" for i in range(100))
    long = AlignedSentence(Alignment(tokens, tokens, np.eye(100)))
    page = visit(long, *[HOUSE] * 13, viewport={"width": 1000, "height": 500})
    boxes = (
        page.locator("table")
        .first.locator("thead th")
        .evaluate_all(
            "cells => cells.map(cell => [cell.getBoundingClientRect().left,"
            " cell.firstChild.getBoundingClientRect().width])"
        )
    )
    assert len(boxes) == 100
    gaps = np.diff([left for left, _ in boxes])
    assert gaps.min() >= 24 and gaps.max() <= 40  # px
    assert max(width for _, width in boxes) <= gaps.min()
    assert page.evaluate("document.documentElement.scrollWidth") == 1000
    assert page.locator("table").count() < 14
    page.locator("h2").last.scroll_into_view_if_needed()
    page.wait_for_selector("section:last-child table", state="attached")


def test_too_many_cells_are_not_drawn_but_the_words_are(visit):
    tokens = tuple("w" * 201)
    page = visit(AlignedSentence(Alignment(tokens, tokens, np.eye(201))))
    assert (
        page.locator(".note").inner_text() == "Too large to be drawn as a matrix: 201 × 201 words."
    )
    words(page, 0).nth(200).hover()
    assert readout(page) == "“w” → “w” 100 %"


def test_text_is_never_markup(visit):
    pair = Alignment((ATTACK, "b"), (ATTACK,), np.float32([[0.5, 0.5]]))
    page = visit(AlignedSentence(pair, ATTACK, [LabeledText(ATTACK, ATTACK)]))
    words(page, 1).nth(0).hover()
    assert readout(page) == f"“{ATTACK}” ← “{ATTACK}” 50 %, “b” 50 %"
    assert words(page, 0).nth(0).inner_text() == ATTACK
    assert page.locator("img, b").count() == 0
    assert page.evaluate("document.body.dataset.hacked") is None


def named(name: str, length: int, score: float) -> AlignedSentence:
    return AlignedSentence(
        HOUSE.alignment, name, HOUSE.texts, {"source tokens": length, "BLEU": score}
    )


SEVERAL = (named("One", 3, 50.0), named("Two", 1, 7.25), named("Three", 2, -math.inf))


def test_several_sentences_are_listed_and_sorted(visit):
    page = visit(*SEVERAL)
    rows = page.get_by_role("navigation", name="Sentences").locator("tbody tr")
    head = page.locator(".overview thead th")
    assert rows.all_inner_texts() == ["One\t3\t50.00", "Two\t1\t7.25", "Three\t2\t–"]
    orders = {
        "source tokens": (["Two", "Three", "One"], ["One", "Three", "Two"]),
        "BLEU": (["Three", "Two", "One"], ["One", "Two", "Three"]),
        "Sentence": (["One", "Two", "Three"], ["Three", "Two", "One"]),
    }
    for name, ways in orders.items():
        for way, order in zip(("ascending", "descending"), ways, strict=True):
            head.get_by_role("button", name=name).click()
            assert rows.locator("th").all_inner_texts() == order
            assert page.locator("h2").all_inner_texts() == order
            assert head.filter(has_text=name).get_attribute("aria-sort") == way
            assert page.locator("[aria-sort]").count() == 1
    assert page.locator(".scores").first.inner_text() == "source tokens 2 · BLEU –"
    rows.last.get_by_role("button").click()
    assert page.evaluate("document.activeElement.textContent") == "One"


def test_unknown_words_and_the_end_are_marked(visit):
    pair = dataclasses.replace(HOUSE.alignment, unknown_source=(1,), unknown_target=(2,))
    page = visit(AlignedSentence(pair, scores={"BLEU": 50.0}))
    assert page.locator(".overview").count() == 0  # the list of several sentences
    assert page.locator(".words .unknown").all_inner_texts() == ["white", "blanche"]
    assert page.locator(".matrix .unknown").all_inner_texts() == ["white", "blanche"]
    assert words(page, 0).nth(1).get_attribute("title").startswith("not in the model's vocabulary")
    assert words(page, 0).nth(3).get_attribute("title") == "the end of the sentence"


def test_a_wide_matrix_shows_that_there_is_more(visit):
    tokens = tuple(f"word{i}" for i in range(30))
    page = visit(
        AlignedSentence(Alignment(tokens, tokens, np.eye(30))),
        viewport={"width": 375, "height": 812},
    )
    page.wait_for_selector(".cut.right")
    page.locator(".matrix").evaluate("box => box.scrollLeft = box.scrollWidth")
    page.wait_for_selector(".cut:not(.right)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing(visit, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    page = visit(*SEVERAL, color_scheme=scheme)
    words(page, 0).nth(1).hover()
    violations = axe.Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in violations] == []
