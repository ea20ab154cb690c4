"""The page in Chromium: the alignment, as a matrix and as lines."""

import re
from typing import Any

import numpy as np
import pytest
from page_in_browser import expect, translate
from scripted_page_server import align, weights


def test_the_matrix_holds_the_weights(visit, server):
    page = visit(server.url)
    line = "the man has seen the cat"
    translate(page, line)
    rows = page.locator("#matrix tbody tr")
    cells = rows.evaluate_all(
        """rows => rows.map(row => [...row.querySelectorAll("td")].map(cell =>
             [cell.getAttribute("aria-label"), getComputedStyle(cell).backgroundColor]))"""
    )
    expected = weights(line)
    told = np.array([[float(text[:-2]) for text, _ in row] for row in cells])
    np.testing.assert_allclose(told, 100 * expected, atol=0.5)
    grays = np.round(255 * expected).astype(int)
    assert [[color for _, color in row] for row in cells] == [
        [f"rgb({gray}, {gray}, {gray})" for gray in row] for row in grays
    ]
    expect(page.locator("#matrix thead th")).to_have_text([*line.split(), "</s>"])
    expect(rows.locator("th")).to_have_text([*line.upper().split(), "</s>"])
    assert page.locator("#matrix thead th span").first.get_attribute("lang") == "en"
    assert rows.locator("th span").first.get_attribute("lang") == "fr"
    assert page.locator("#matrix th.end").count() == 2


def test_a_cell_tells_its_weight_to_pointer_and_keyboard(visit, server):
    page = visit(server.url)
    line = "one two three"
    translate(page, line)
    tooltip = page.locator("#matrix-tooltip")

    def told(i, j):
        cell = page.locator("#matrix tbody tr").nth(i).locator("td").nth(j)
        weight = cell.get_attribute("aria-label")
        return f"\u2068{line.upper().split()[i]}\u2069 ← \u2068{line.split()[j]}\u2069: {weight}"

    page.locator("#matrix tbody tr").nth(1).locator("td").nth(2).hover()
    expect(tooltip).to_have_text(told(1, 2))
    expect(page.locator("#matrix th.lit")).to_have_text(["three", "TWO"])
    page.mouse.move(0, 0)
    expect(tooltip).to_be_hidden()
    cells = page.get_by_role("grid", name="Matrix").locator("tbody").get_by_role("gridcell")
    assert page.locator("#matrix [tabindex='0']").count() == 1
    cells.first.focus()
    expect(tooltip).to_have_text(told(0, 0))
    for key, (i, j) in {
        "ArrowRight": (0, 1),
        "ArrowDown": (1, 1),
        "ArrowLeft": (1, 0),
        "Home": (1, 0),
        "ArrowUp": (0, 0),
    }.items():
        page.keyboard.press(key)
        expect(tooltip).to_have_text(told(i, j))
    # At the edge nothing moves, nor at the browser's keys for Back and Forward.
    for key in ("ArrowUp", "ArrowLeft", "Control+Home", "Alt+ArrowRight", "Meta+ArrowRight"):
        page.keyboard.press(key)
        expect(tooltip).to_have_text(told(0, 0))
        expect(cells.first).to_be_focused()
    page.keyboard.press("Control+End")
    expect(cells.last).to_be_focused()
    assert page.locator("#matrix [tabindex='0']").count() == 1
    page.keyboard.press("Escape")
    expect(tooltip).to_be_hidden()


def linked(line: str, axis: str, place: int) -> set[tuple[int, int]]:
    """The (target, source) places of the lines that end at a word."""
    shown = {(int(i), int(j)) for i, j in np.argwhere(weights(line) >= 0.05)}
    return {pair for pair in shown if pair[axis == "source"] == place}


def lit_lines(page: Any) -> set[tuple[int, int]]:
    return {
        (int(target.split("-")[-1]), int(source.split("-")[-1]))
        for target, source in page.locator(".stage path.lit").evaluate_all(
            "paths => paths.map(path => [path.dataset.target, path.dataset.source])"
        )
    }


def assert_lit(page: Any, line: str, axis: str, place: int) -> None:
    pairs = linked(line, axis, place)
    assert lit_lines(page) == pairs
    words = {f"target-word-{i}" for i, _ in pairs} | {f"source-word-{j}" for _, j in pairs}
    lit = page.locator(".words .lit").evaluate_all("words => words.map(word => word.id)")
    assert set(lit) == words | {f"{axis}-word-{place}"}


def test_lines_are_the_weights_and_light_up(visit, server):
    page = visit(server.url)
    line = "the man has seen the cat"
    translate(page, line)
    drawn = page.locator(".stage path").evaluate_all(
        """paths => paths.map(path => [path.dataset.target, path.dataset.source,
             Number(path.getAttribute("stroke-opacity"))])"""
    )
    expected = weights(line)
    assert len(drawn) == (expected >= 0.05).sum()
    for target, source, opacity in drawn:
        i, j = (int(word.split("-")[-1]) for word in (target, source))
        assert opacity == pytest.approx(expected[i, j], rel=1e-6)
    assert lit_lines(page) == set()
    page.locator("#target-word-2").hover()
    assert_lit(page, line, "target", 2)
    expect(page.locator("#lines-readout")).to_contain_text("\u2068HAS\u2069: from ")
    page.mouse.move(0, 0)
    assert lit_lines(page) == set()
    page.locator("#source-word-1").focus()
    assert_lit(page, line, "source", 1)
    page.keyboard.press("ArrowRight")
    assert_lit(page, line, "source", 2)
    for pressed in ("true", "false"):
        page.keyboard.press("Enter")
        expect(page.locator("#source-word-2")).to_have_attribute("aria-pressed", pressed)
    expect(page.locator("#source-word-2")).to_be_focused()
    page.keyboard.press("End")
    assert_lit(page, line, "source", 6)
    for key in ("ArrowRight", "Alt+ArrowLeft", "Meta+ArrowLeft"):
        page.keyboard.press(key)
        expect(page.locator("#source-word-6")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    expect(page.locator("#target-word-0")).to_be_focused()
    assert_lit(page, line, "target", 0)
    page.locator("#source").focus()
    assert lit_lines(page) == set()


def test_a_tap_lights_a_word_and_another_puts_it_out(visit, server):
    page = visit(server.url, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    line = "one two three"
    translate(page, line)
    word = page.locator("#target-word-1")
    word.tap()
    assert_lit(page, line, "target", 1)
    expect(word).to_have_attribute("aria-pressed", "true")
    page.locator("#alignment-label").tap()
    assert_lit(page, line, "target", 1)
    word.tap()
    expect(word).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("width", [1200, 390])
def test_lines_run_from_word_to_word(visit, server, width):
    page = visit(server.url, viewport={"width": width, "height": 800})
    translate(page, "one two three")
    page.set_viewport_size({"width": width + 60, "height": 700})  # they follow the words
    ends = page.evaluate(
        """async () => {
          await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
          const edges = (box) => [box.left, box.right, box.top, box.bottom];
          return [...document.querySelectorAll(".stage path")].map(path => {
            const matrix = path.getScreenCTM();
            const at = (way) => {
              const point = path.getPointAtLength(way).matrixTransform(matrix);
              return [point.x, point.y];
            };
            return [at(0), at(path.getTotalLength()), path.dataset].map((end, i) =>
              i == 2 ? [end.source, end.target].map(id =>
                edges(document.getElementById(id).getBoundingClientRect())) : end);
          });
        }"""
    )
    assert ends
    for start, end, boxes in ends:
        for (x, y), (left, right, top, bottom) in zip((start, end), boxes, strict=True):
            assert left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + 1


def test_each_word_tells_a_screen_reader_its_weights(visit, server):
    page = visit(server.url)
    line = "one two three"
    translate(page, line)
    row = weights(line)[1]
    order = [j for j in np.argsort(-row)[:3] if row[j] >= 0.05]
    words = [*line.split(), "</s>"]
    told = ", ".join(f"“\u2068{words[j]}\u2069” {round(100 * float(row[j]))} %" for j in order)
    word = page.get_by_role("toolbar", name="French").get_by_role("button", name="TWO")
    expect(word).to_have_accessible_description(f"from {told}")
    english = page.get_by_role("toolbar", name="English").get_by_role("button").first
    expect(english).to_have_accessible_description(
        re.compile(r"^read for “\u2068ONE\u2069” [0-9]+\s%")
    )
    end = page.get_by_role("toolbar", name="French").get_by_role("button").last
    expect(end).to_have_accessible_description(re.compile("^the end of the sentence; from “"))
    expect(end).to_have_attribute("title", "the end of the sentence")
    expect(page.locator("#alignment > .hint")).to_contain_text("is the end of the sentence")


def test_words_that_the_model_does_not_know_are_marked(visit, server):
    page = visit(server.url)
    translate(page, "one platypus two")
    said = "Not in the model's vocabulary, read as [UNK]: “\u2068platypus\u2069”."
    expect(page.locator("#unknown-note")).to_have_text(said)
    expect(page.locator(".words .unknown")).to_have_text(["platypus"])
    expect(page.locator("#matrix th.unknown")).to_have_text(["platypus"])
    expect(page.locator("#unknown-legend")).to_be_visible()
    word = page.get_by_role("toolbar", name="English").get_by_role("button", name="platypus")
    expect(word).to_have_accessible_description(re.compile("^not in the model's vocabulary"))
    expect(page.locator("#corrected-note")).to_be_empty()
    translate(page, "one wmoan")
    said = "Read “\u2068wmoan\u2069” as “\u2068woman\u2069”."
    expect(page.locator("#corrected-note")).to_have_text(said)
    expect(page.locator("#unknown-note")).to_be_empty()
    expect(page.locator(".words .unknown, #unknown-legend:visible")).to_have_count(0)


def test_an_older_export_tells_of_no_unknown_words(visit, server):
    def aligned(lines: list[str]) -> Any:
        status, answer = align(lines)
        for prediction in answer["predictions"]:
            del prediction["model_input"]
        return status, answer

    server.signatures["align"] = aligned
    page = visit(server.url)
    translate(page, "one platypus")
    expect(page.locator(".words button")).to_have_count(6)
    expect(page.locator(".unknown:visible")).to_have_count(0)
