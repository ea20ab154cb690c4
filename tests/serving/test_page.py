"""The page of export/page in Chromium, against a server whose every answer the test decides."""

import json
import re
import shutil
import socket
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scripted_page_server import LOWEST, PAGE, Server, align, state, weights, without

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)  # a safety net

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
STATUS = "/v1/models/rnnsearch"


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def elsewhere() -> Iterator[Server]:
    """A server at another address than the page's; `cors` says whether it lets the page read."""
    server = Server(cors=True)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


class Visit:
    """A page in a browser that remembers nothing, and what it asked for and complained of."""

    def __init__(self, browser: Any, address: str, clock: bool, **context: Any):
        self.page = browser.new_context(**context).new_page()
        self.requests: list[str] = []
        self.aborted: list[str] = []
        self.complaints: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", self.failed)
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        if clock:
            self.page.clock.install(time=0)
        self.page.goto(address)
        if clock:
            self.page.clock.pause_at(60_000)

    def failed(self, request: Any) -> None:
        if "ABORTED" in request.failure and request.method == "POST":
            self.aborted.append(request.post_data_json["instances"][0])


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """`visit(address)` opens the page; it must not err, and complain of failed requests alone."""
    visits = []

    def open_page(address: str, clock: bool = False, **context: Any) -> Any:
        if address.startswith("http"):
            path, _, query = address.partition("?")
            address = f"{path}/index.html?{query}"
        visits.append(Visit(browser, address, clock, **context))
        page = visits[-1].page
        page.visit = visits[-1]
        return page

    yield open_page
    for seen in visits:
        seen.page.context.close()
        assert seen.errors == []
        harmless = r"Failed to load resource|.*blocked by CORS policy"
        assert [text for text in seen.complaints if not re.match(harmless, text)] == []


def translate(page: Any, text: str, expected: str | None = None) -> None:
    """Fill in a text and wait until the list, which comes last, is there."""
    page.locator("#source").fill(text)
    expect(page.locator("#translation")).to_have_text(expected or text.upper())
    expect(page.locator("#progress")).to_be_empty()


def trouble(page: Any) -> Any:
    return page.locator("#trouble-text")


def wait_for(condition: Callable[[], bool], page: Any) -> None:
    """Until something has happened outside the page; the time-out is a safety net."""
    for _ in range(3000):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it did not happen")


# --- When it translates ---


def test_translates_when_the_writer_pauses(visit, server):
    page = visit(server.url, clock=True)
    for key in "the man":
        page.locator("#source").press(key)
        page.clock.run_for(399)
    assert not [url for url in page.visit.requests if url.endswith(":predict")]
    page.clock.run_for(1)
    expect(page.locator("#translation")).to_have_text("THE MAN")
    expect(page.locator("#candidates label")).to_have_count(2)
    page.clock.run_for(10_000)
    assert server.lines("align") == [["the man"]]
    assert server.lines("nbest") == [["the man"]]


def test_a_healthy_page_asks_only_its_server_and_complains_of_nothing(visit, server):
    page = visit(server.url)
    translate(page, "the man")
    page.locator("#target-word-0").hover()
    assert page.visit.complaints == []
    assert {url[: len(server.url)] for url in page.visit.requests} == {server.url}
    assert [path for path, *_ in server.asked] == [STATUS, f"{STATUS}:predict", f"{STATUS}:predict"]


def test_a_request_for_an_older_text_is_aborted_and_its_answer_not_shown(visit, server):
    page = visit(server.url)
    late = server.hold("one")
    page.locator("#source").fill("one")
    wait_for(lambda: server.lines() == [["one"]], page)
    translate(page, "one two")
    assert page.visit.aborted == ["one"]
    late.set()
    translate(page, "three")
    assert ["one"] not in server.lines("nbest")


def test_an_answer_to_an_older_text_is_marked_as_outdated(visit, server):
    page = visit(server.url)
    translate(page, "one")
    outdated = page.locator(".if-outdated").first
    expect(outdated).to_be_hidden()
    late = server.hold("one two")
    page.locator("#source").fill("one two")
    expect(outdated).to_be_visible()
    expect(page.locator("#progress")).to_have_text("Translating…")
    expect(page.locator("#translation")).to_have_text("ONE")
    late.set()
    expect(page.locator("#translation")).to_have_text("ONE TWO")
    expect(outdated).to_be_hidden()


def test_enter_and_the_button_translate_at_once(visit, server):
    page = visit(server.url, clock=True)
    source = page.locator("#source")
    source.press_sequentially("one")
    source.press("Enter")
    expect(page.locator("#translation")).to_have_text("ONE")
    source.press_sequentially("two")
    source.press("Control+Enter")
    expect(page.locator("#translation p")).to_have_text(["ONE", "TWO"])
    source.press_sequentially(" 2")
    page.locator("#translate").click()
    expect(page.locator("#translation p")).to_have_text(["ONE", "TWO 2"])
    page.clock.run_for(10_000)
    assert server.lines() == [["one"], ["one", "two"], ["one", "two 2"]]


def test_space_at_the_end_asks_nothing_new(visit, server):
    page = visit(server.url, clock=True)
    page.locator("#source").fill("one")
    page.clock.run_for(400)
    expect(page.locator("#translation")).to_have_text("ONE")
    page.locator("#source").press_sequentially("  ")
    page.clock.run_for(10_000)
    expect(page.locator(".if-outdated").first).to_be_hidden()
    assert server.lines() == [["one"]]


def test_a_word_under_composition_is_left_alone(visit, server):
    page = visit(server.url, clock=True)
    page.locator("#source").press_sequentially("a ")
    keyboard = page.context.new_cdp_session(page)
    for text in ("e", "ée"):
        keyboard.send(
            "Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1}
        )
        page.clock.run_for(10_000)
    assert page.locator("#source").input_value() == "a ée"
    assert server.lines() == []
    keyboard.send("Input.insertText", {"text": "été"})
    page.clock.run_for(400)
    expect(page.locator("#translation")).to_have_text("A ÉTÉ")
    assert server.lines() == [["a été"]]


def test_blank_text_clears_the_page(visit, server):
    page = visit(server.url)
    translate(page, "one")
    page.locator("#source").fill(" \n ")
    expect(page.locator("#translation")).to_be_empty()
    expect(page.locator("#alignment-box")).to_be_hidden()
    expect(page.locator("#candidates-box")).to_be_hidden()
    assert server.lines() == [["one"]]


def test_each_line_is_an_instance_of_one_call(visit, server):
    page = visit(server.url)
    translate(page, "one\n\n two three \n", "ONETWO THREE")
    assert server.lines("align") == server.lines("nbest") == [["one", "", "two three"]]
    expect(page.locator("#translation p")).to_have_text(["ONE", "", "TWO THREE"])
    chooser = page.get_by_label("Shown below")
    expect(chooser.locator("option")).to_have_text(["1. one", "2. ", "3. two three"])
    expect(chooser).to_have_value("2")  # where the caret is
    expect(page.locator("#matrix tbody th")).to_have_text(["TWO", "THREE", "</s>"])
    chooser.select_option("0")
    expect(page.locator("#matrix tbody th")).to_have_text(["ONE", "</s>"])
    expect(page.locator("#candidates .text")).to_have_text(["ONE", "ONE BIS"])
    expect(page.locator("#translation p.chosen")).to_have_text("ONE")
    chooser.select_option("1")
    expect(page.locator("#alignment-box")).to_be_hidden()
    page.get_by_role("textbox", name="English").fill("one")
    expect(chooser).to_be_hidden()


@pytest.mark.parametrize("missing", [None, "align"])
def test_a_line_of_500_tokens_gets_a_note(visit, server, missing):
    if missing:
        server.signatures[missing] = lambda lines: without(missing)
    page = visit(server.url)
    translate(page, "a " * 499)
    expect(page.locator("#source-note")).to_be_empty()
    translate(page, "a " * 500)
    expect(page.locator("#source-note")).to_contain_text("the first 500 tokens")
    expect(page.locator("#matrix table")).to_be_hidden()  # a quarter of a million cells


# --- The n-best list ---


def test_choosing_another_translation(visit, server):
    page = visit(server.url)
    translate(page, "one two")
    entries = page.get_by_role("radiogroup", name="Best translations").get_by_role("radio")
    expect(entries).to_have_count(2)  # the slot for which nothing was found is left out
    expect(page.locator("#candidates label")).to_have_text(
        ["ONE TWO−1.250log p −7.000", "ONE TWO BIS−1.500log p −9.500"]
    )
    expect(entries.first).to_be_checked()
    expect(page.locator("#score")).to_have_text("log p −7.000 nats")
    entries.first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#translation")).to_have_text("ONE TWO BIS")
    expect(page.locator("#score")).to_have_text("log p −9.500 nats")
    expect(page.locator("#alignment")).to_be_hidden()
    expect(page.locator("#alignment-note")).to_contain_text("best translation only")
    page.get_by_text("ONE TWO", exact=True).last.click()
    expect(page.locator("#translation")).to_have_text("ONE TWO")
    expect(page.locator("#alignment")).to_be_visible()
    expect(page.locator("#alignment-note")).to_be_empty()


def test_without_nbest_the_rest_works(visit, server):
    server.signatures["nbest"] = lambda lines: without("nbest")
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("#candidates-note")).to_contain_text("no signature “nbest”")
    expect(page.locator("#candidates label")).to_have_count(0)
    expect(page.locator("#alignment")).to_be_visible()
    expect(trouble(page)).to_be_empty()


def test_without_align_the_rest_works(visit, server):
    server.signatures["align"] = lambda lines: (404, without("align")[1])
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("#alignment-note")).to_contain_text("no signature “align”")
    expect(page.locator("#alignment")).to_be_hidden()
    expect(page.locator("#candidates label")).to_have_count(2)
    expect(trouble(page)).to_be_empty()


# --- The alignment ---


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
    told = np.array([[float(text) for text, _ in row] for row in cells])
    np.testing.assert_allclose(told, expected, rtol=1e-3)
    greys = np.round(255 * expected).astype(int)
    assert [[colour for _, colour in row] for row in cells] == [
        [f"rgb({grey}, {grey}, {grey})" for grey in row] for row in greys
    ]
    expect(page.locator("#matrix thead th")).to_have_text([*line.split(), "</s>"])
    expect(rows.locator("th")).to_have_text([*line.upper().split(), "</s>"])
    assert page.locator("#matrix thead th").first.get_attribute("lang") == "en"
    assert rows.locator("th").first.get_attribute("lang") == "fr"
    assert page.locator("#matrix th.end").count() == 2


def test_a_cell_tells_its_weight_to_pointer_and_keyboard(visit, server):
    page = visit(server.url)
    line = "one two three"
    translate(page, line)
    tooltip = page.locator("#matrix-tooltip")

    def told(i, j):
        cell = page.locator("#matrix tbody tr").nth(i).locator("td").nth(j)
        weight = cell.get_attribute("aria-label")
        return f"{line.upper().split()[i]} ← {line.split()[j]}: {weight}"

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
    for key in ("ArrowUp", "ArrowLeft", "Control+Home"):  # at the edge nothing moves
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
    expect(page.locator("#lines-readout")).to_contain_text("HAS: from ")
    page.mouse.move(0, 0)
    assert lit_lines(page) == set()
    page.locator("#source-word-1").focus()
    assert_lit(page, line, "source", 1)
    page.keyboard.press("ArrowRight")
    assert_lit(page, line, "source", 2)
    page.keyboard.press("End")
    assert_lit(page, line, "source", 6)
    page.keyboard.press("ArrowRight")
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
    told = ", ".join(f"“{words[j]}” {round(100 * float(row[j]))} %" for j in order)
    word = page.get_by_role("toolbar", name="French words").get_by_role("button", name="TWO")
    expect(word).to_have_accessible_description(f"from {told}")
    english = page.get_by_role("toolbar", name="English words").get_by_role("button").first
    expect(english).to_have_accessible_description(re.compile("^read for “ONE” [0-9]+ %"))


# --- What can go wrong ---

FAILURES = {
    "refused": (
        lambda lines: (503, {"error": "overloaded <b>now</b>"}),
        state("AVAILABLE"),
        ["The server refused: HTTP 503.", "overloaded <b>now</b>"],
    ),
    "bad request": (
        lambda lines: (400, {"error": "Unrecognized servable version label: x"}),
        state("AVAILABLE"),
        ["HTTP 400", "Unrecognized servable version label: x"],
    ),
    "no model": (
        lambda lines: (404, {"error": "Servable not found for request: Latest(rnnsearch)"}),
        (404, {"error": "Could not find any versions of model rnnsearch"}),
        ["has no model rnnsearch", "Could not find any versions", "--model_name"],
    ),
    "loading": (
        lambda lines: (404, {"error": "Servable not found for request: Latest(rnnsearch)"}),
        state("LOADING"),
        ["still loading rnnsearch", "in a moment"],
    ),
    "not loaded": (
        lambda lines: (404, {"error": "Servable not found for request: Latest(rnnsearch)"}),
        state("END", "no such file"),
        ["could not load rnnsearch", "no such file"],
    ),
    "another server": (
        lambda lines: (501, b"<html>Unsupported method</html>"),
        state("AVAILABLE"),
        ["answered HTTP 501, not as TensorFlow Serving does", "address in the settings"],
    ),
    "garbage": (lambda lines: (200, b"{garbage"), state("AVAILABLE"), ["it is not JSON"]),
    "no predictions": (
        lambda lines: (200, {"outputs": []}),
        state("AVAILABLE"),
        ["there are no predictions in it"],
    ),
    "too few": (
        lambda lines: (200, {"predictions": []}),
        state("AVAILABLE"),
        ["0 predictions for 1 line"],
    ),
    "no text": (
        lambda lines: (200, {"predictions": [{**align(lines)[1]["predictions"][0], "score": "x"}]}),
        state("AVAILABLE"),
        ["a score is missing"],
    ),
    "misshapen": (
        lambda lines: (
            200,
            {"predictions": [{**align(lines)[1]["predictions"][0], "alignment": [[1]]}]},
        ),
        state("AVAILABLE"),
        ["the alignment does not fit the words"],
    ),
    "null": (lambda lines: (200, {"predictions": [None]}), state("AVAILABLE"), ["is missing"]),
}


def test_each_failure_is_told_and_mended_by_trying_again(visit, server):
    page = visit(server.url)
    expect(trouble(page)).to_have_attribute("aria-live", "polite")
    for failure, (signature, server.status, expected) in FAILURES.items():
        server.signatures["align"] = signature
        page.locator("#source").fill(failure)
        for text in expected:
            expect(trouble(page), failure).to_contain_text(text)
        expect(page.locator("#translation"), failure).not_to_have_text(failure.upper())
        server.signatures["align"] = align
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#translation"), failure).to_have_text(failure.upper())
        expect(trouble(page), failure).to_be_empty()
        expect(page.locator("#again"), failure).to_be_hidden()
        expect(page.locator("#source"), failure).to_be_focused()


def test_the_server_goes_and_comes_back(visit, server, elsewhere):
    page = visit(f"{server.url}?server={elsewhere.url}")
    translate(page, "one")
    elsewhere.stop()
    page.locator("#source").fill("one two")
    expect(trouble(page)).to_contain_text(f"{elsewhere.url} cannot be reached.")
    expect(trouble(page)).to_contain_text("--rest_api_enable_cors_support")
    expect(page.locator("#translation")).to_have_text("ONE")
    expect(page.locator(".if-outdated").first).to_be_visible()
    back = Server(elsewhere.server_port, cors=True)
    try:
        page.locator("#source").press("End")
        page.locator("#source").press(" ")  # any keystroke, though it asks for the same
        expect(page.locator("#translation")).to_have_text("ONE TWO")
        expect(trouble(page)).to_be_empty()
        expect(page.locator(".if-outdated").first).to_be_hidden()
    finally:
        back.stop()


def test_a_server_that_is_down_is_told_before_anything_is_typed(visit, server):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        page = visit(f"{server.url}?server={address}")
        expect(trouble(page)).to_contain_text(f"{address} cannot be reached.")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_server_that_lets_no_page_read_is_told_apart(visit, server, elsewhere):
    elsewhere.cors = False
    page = visit(f"{server.url}?server={elsewhere.url}")
    expect(trouble(page)).to_contain_text("does not let this page read")
    expect(trouble(page)).to_contain_text("--rest_api_enable_cors_support")
    elsewhere.cors = True
    translate(page, "one")
    expect(trouble(page)).to_be_empty()


def test_a_slow_server_is_given_up(visit, server):
    page = visit(server.url, clock=True)
    late = server.hold("one")
    page.locator("#source").fill("one")
    page.clock.run_for(400)
    wait_for(lambda: server.lines() == [["one"]], page)
    page.clock.run_for(59_000)
    expect(page.locator("#progress")).to_have_text("Translating…")
    page.clock.run_for(1_000)
    expect(trouble(page)).to_contain_text(f"{server.url} gave no answer in 60 seconds.")
    late.set()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#translation")).to_have_text("ONE")


def test_a_failing_list_leaves_the_translation(visit, server):
    server.signatures["nbest"] = lambda lines: (500, {"error": "out of memory"})
    page = visit(server.url)
    page.locator("#source").fill("one")
    expect(trouble(page)).to_contain_text("out of memory")
    expect(page.locator("#translation")).to_have_text("ONE")
    expect(page.locator("#alignment")).to_be_visible()
    expect(page.locator(".if-outdated").first).to_be_hidden()


def test_text_from_the_server_is_never_markup(visit, server):
    attack = "<img/src=x/onerror=document.body.dataset.hacked=1>"

    def hostile(lines):
        answer = align(lines)[1]["predictions"][0]
        answer["translation"] = answer["target_tokens"][0] = answer["source_tokens"][0] = attack
        return 200, {"predictions": [answer]}

    server.signatures["align"] = hostile
    server.signatures["nbest"] = lambda lines: (
        200,
        {"predictions": [{"translations": [attack], "scores": [-1], "normalized_scores": [-1]}]},
    )
    page = visit(server.url)
    page.locator("#source").fill(attack)
    expect(page.locator("#translation")).to_have_text(attack)
    expect(page.locator("#candidates .text")).to_have_text(attack)
    expect(page.locator("#target-word-0")).to_have_text(attack)
    page.locator("#target-word-0").hover()
    expect(page.locator("#matrix tbody th").first).to_have_text(attack)
    server.signatures["align"] = lambda lines: (500, {"error": attack})
    page.locator("#translate").click()
    expect(trouble(page)).to_contain_text(attack)
    assert page.locator("img").count() == 0
    assert page.evaluate("document.body.dataset.hacked") is None


def test_a_script_that_is_injected_all_the_same_does_not_run(visit, server):
    page = visit(server.url)
    page.evaluate(
        """() => { const script = document.createElement("script");
                   script.textContent = "document.body.dataset.hacked = 1";
                   document.body.append(script); }"""
    )
    assert page.evaluate("document.body.dataset.hacked") is None
    assert any("Content Security Policy" in text for text in page.visit.complaints)
    page.visit.complaints.clear()


# --- Settings ---


def test_settings_are_kept_and_shared_and_reset(visit, server, elsewhere):
    page = visit(server.url)
    page.locator("summary").click()
    assert page.get_by_label("Server address").input_value() == server.url
    assert page.get_by_label("Model name").input_value() == "rnnsearch"
    page.get_by_label("Server address").fill(f"{elsewhere.url}/")
    page.get_by_label("Model name").fill("my model")
    page.get_by_label("or label (optional)").fill("canary")
    page.get_by_role("button", name="Save").click()
    wait_for(lambda: elsewhere.asked, page)
    assert elsewhere.asked[-1][0] == "/v1/models/my%20model/labels/canary"
    expect(page.locator("#address")).to_have_text(f"my model, label canary at {elsewhere.url}/")
    shared = page.url
    page.goto(f"{server.url}/index.html")  # without the query, from what was kept
    translate(page, "one")
    assert elsewhere.asked[-1][0] == "/v1/models/my%20model/labels/canary:predict"
    stranger = visit(server.url)
    expect(stranger.locator("#address")).to_have_text(f"rnnsearch at {server.url}")
    stranger.goto(shared)
    expect(stranger.locator("#address")).to_have_text(f"my model, label canary at {elsewhere.url}/")
    stranger.goto(f"{server.url}/index.html")  # a link changes nothing that is kept
    expect(stranger.locator("#address")).to_have_text(f"rnnsearch at {server.url}")
    page.locator("summary").click()
    page.get_by_role("button", name="Reset to defaults").click()
    expect(page.locator("#address")).to_have_text(f"rnnsearch at {server.url}")
    assert page.url == f"{server.url}/index.html"
    translate(page, "one two")
    assert server.asked[-1][0] == f"{STATUS}:predict"


def test_other_settings_mark_the_translation_as_outdated(visit, server):
    page = visit(server.url)
    translate(page, "one")
    late = server.hold("one")
    page.locator("summary").click()
    page.get_by_label("Version").fill("7")
    page.keyboard.press("Enter")
    expect(page.locator(".if-outdated").first).to_be_visible()
    late.set()
    expect(page.locator(".if-outdated").first).to_be_hidden()
    wait_for(lambda: server.asked[-1][1] == "nbest", page)
    assert server.asked[-1][0] == f"{STATUS}/versions/7:predict"


IMPOSSIBLE = [
    ("Server address", "localhost:8501", "begins with http:// or https://"),
    ("Server address", "javascript:alert(1)", "begins with http:// or https://"),
    ("Server address", "http://me:secret@localhost", "must not hold a user name"),
    ("Server address", "http://localhost/?x", "before any ? or #"),
    ("Model name", " ", "The model's name is missing."),
    ("Version", "one", "The version must be a number, not “one”."),
    ("or label", "stable", "not both"),
]


def test_settings_that_cannot_be_are_not_taken(visit, server):
    page = visit(f"{server.url}?version=3")
    page.locator("summary").click()
    for label, value, message in IMPOSSIBLE:
        field = page.get_by_label(label)
        before = field.input_value()
        field.fill(value)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#settings-error")).to_contain_text(message)
        expect(page.locator("#address")).to_have_text(f"rnnsearch, version 3 at {server.url}")
        field.fill(before)
    assert page.evaluate("localStorage.length") == 0


def test_a_link_that_cannot_be_asks_nobody(visit, server):
    page = visit(f"{server.url}?server=ftp://127.0.0.1")
    expect(trouble(page)).to_contain_text("“ftp://127.0.0.1” is not an address that begins")
    assert server.asked == []


def test_it_works_from_a_file(visit, elsewhere):
    page = visit(f"{PAGE.as_uri()}/index.html")
    expect(page.locator("#address")).to_have_text("rnnsearch at http://localhost:8501")
    page.locator("summary").click()
    page.get_by_label("Server address").fill(elsewhere.url)
    page.get_by_role("button", name="Save").click()
    translate(page, "one two")
    expect(page.locator("#matrix tbody td")).to_have_count(9)
    page.goto(f"{PAGE.as_uri()}/index.html")
    expect(page.locator("#address")).to_have_text(f"rnnsearch at {elsewhere.url}")
    known = ("file:", elsewhere.url, "http://localhost:8501/v1/models")
    assert all(url.startswith(known) for url in page.visit.requests)


# --- On a phone, for a screen reader, in the dark ---

LONG = " ".join(f"word{i}" for i in range(48)) + " " + "x" * 80 + " end"


def test_nothing_but_the_matrix_scrolls_sideways_on_a_phone(visit, server):
    page = visit(server.url, viewport={"width": 360, "height": 740}, has_touch=True)
    page.locator("summary").click()
    translate(page, LONG)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    box = page.locator("#matrix")
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.locator("#lines").evaluate("box => box.scrollWidth <= box.clientWidth")
    sizes = page.locator("thead th, tbody th").evaluate_all(
        "words => words.map(word => parseFloat(getComputedStyle(word).fontSize))"
    )
    assert min(sizes) >= 12
    small = page.evaluate(
        """() => [...document.querySelectorAll("button, select, textarea, summary, " +
                  "input:not([type=radio]), #candidates label")]
             .filter(control => control.checkVisibility())
             .map(control => [control.id, control.getBoundingClientRect()])
             .filter(([, box]) => box.width < 44 || box.height < 44).map(([id]) => id)"""
    )
    assert small == []
    page.locator("#matrix tbody td").first.focus()
    page.keyboard.press("Control+End")
    expect(page.locator("#matrix tbody td").last).to_be_in_viewport()
    server.signatures["align"] = lambda lines: (500, {"error": "x" * 300})
    page.locator("#translate").click()
    expect(trouble(page)).to_contain_text("xxx")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


# Text and what it stands on, as a person sees them: the least contrast by WCAG's formula.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => {
    const [r, g, b] = parse(text).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      const alpha = parse(colour)[3] ?? 1;
      if (alpha === 1) return colour;
      if (alpha !== 0) throw new Error("half-transparent");
    }
    throw new Error("no ground");
  };
  const written = (e) => e.value !== undefined && e.matches("input, textarea, select") ||
    [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  return [...document.querySelectorAll("body, body *")]
    .filter(e => !e.closest("svg, noscript") && e.checkVisibility() && written(e))
    .map(e => {
      const [a, b] = [getComputedStyle(e).color, ground(e)].map(light);
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return [contrast, e.tagName, e.id, e.textContent];
    });
}"""


def assert_readable(page: Any) -> None:
    texts = page.evaluate(CONTRAST)
    assert len(texts) > 20
    assert [text for text in texts if text[0] < 4.5] == []


def assert_sound(page: Any) -> None:
    """Every control has a name, ids are unique, and every reference finds its element."""
    problems = page.evaluate(
        """() => {
          const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
          const referring = ["for", "aria-labelledby", "aria-describedby"];
          const referred = referring.flatMap(name => [...document.querySelectorAll(`[${name}]`)]
            .flatMap(e => e.getAttribute(name).split(" ")));
          const levels = [...document.querySelectorAll("h1, h2, h3, h4")]
            .filter(e => e.checkVisibility()).map(e => Number(e.tagName[1]));
          return {
            doubled: ids.filter((id, i) => ids.indexOf(id) !== i),
            dangling: referred.filter(id => !ids.includes(id)),
            skipped: levels.filter((level, i) => level > (levels[i - 1] ?? 0) + 1),
          };
        }"""
    )
    assert problems == {"doubled": [], "dangling": [], "skipped": []}
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    focusable = [
        node
        for node in tree
        if not node["ignored"]
        and node["role"]["value"] != "RootWebArea"
        and any(p["name"] == "focusable" and p["value"]["value"] for p in node["properties"])
    ]
    assert len(focusable) > 10
    assert [node["role"] for node in focusable if not node["name"]["value"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_is_readable_and_sound(visit, server, scheme):
    page = visit(server.url, color_scheme=scheme)
    page.locator("summary").click()
    translate(page, "one\ntwo three", "ONETWO THREE")
    page.locator("#target-word-0").hover()
    assert_readable(page)
    assert_sound(page)
    page.locator("#matrix tbody td").first.focus()
    assert_readable(page)
    server.signatures["align"] = lambda lines: (500, {"error": "out of memory"})
    page.get_by_label("Version").fill("x")
    page.get_by_role("button", name="Save").click()
    page.locator("#source").fill("two")
    expect(trouble(page)).to_contain_text("out of memory")
    expect(page.locator(".if-outdated").first).to_be_visible()
    assert_readable(page)
    assert_sound(page)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    assert dark == (scheme == "dark")


def test_languages_live_regions_and_focus(visit, server):
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("#source")).to_have_attribute("lang", "en")
    translation = page.locator("#translation")
    expect(translation).to_have_attribute("lang", "fr")
    expect(translation).to_have_attribute("aria-live", "polite")
    expect(translation).to_have_attribute("aria-busy", "false")
    for kind in ("align", "nbest"):
        server.signatures[kind] = lambda lines, kind=kind: without(kind)
    translate(page, "one")
    for note in ("#alignment-note", "#candidates-note"):
        expect(page.locator(note)).not_to_be_empty()
        expect(page.locator(note)).to_have_attribute("aria-live", "polite")
    page.locator("#translate").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.locator("#translate").evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_the_same_translation_is_not_announced_twice(visit, server):
    page = visit(server.url)
    translate(page, "one")
    page.evaluate(
        """() => { window.changes = 0;
                   new MutationObserver(() => window.changes++).observe(
                     document.getElementById("translation"),
                     {childList: true, subtree: true, characterData: true}); }"""
    )
    for _ in range(2):
        page.locator("#translate").click()
        expect(page.locator("#progress")).to_be_empty()
    wait_for(lambda: len(server.lines("nbest")) == 3, page)
    expect(page.locator("#candidates label")).to_have_count(2)
    assert page.evaluate("changes") == 0
    translate(page, "two")
    assert page.evaluate("changes") == 1


def test_nothing_moves_for_those_who_want_no_motion(visit, server):
    for motion, moves in (("reduce", False), ("no-preference", True)):
        page = visit(server.url, reduced_motion=motion)
        translate(page, "one two")
        lasts = page.locator("#target-word-0").evaluate(
            "e => getComputedStyle(e).transitionDuration"
        )
        assert (set(lasts.replace(" ", "").split(",")) != {"0s"}) == moves


# --- With a model ---


@pytest.mark.serving
def test_with_a_real_model(visit, export_dir):
    """The page shows what the server answers, and the SavedModel's signatures are as it expects."""
    from tfserving import running

    text = "The man is here."
    with running(export_dir, "--rest_api_enable_cors_support") as served:
        page = visit(f"{PAGE.as_uri()}/index.html?server={served.rest}")
        page.locator("#source").fill(text)
        expect(page.locator("#candidates label").first).to_be_visible(timeout=120_000)
        expect(trouble(page)).to_be_empty()
        answers = {
            signature: predict(served.rest, signature, text) for signature in ("align", "nbest")
        }
        shown = page.locator("#translation").inner_text()
        assert shown == answers["align"]["translation"]
        best = answers["nbest"]["translations"]
        scores = answers["nbest"]["scores"]
        texts = [text for text, score in zip(best, scores, strict=True) if score > LOWEST]
        expect(page.locator("#candidates .text")).to_have_text(texts)
        words = [word for word in answers["align"]["target_tokens"] if word]
        expect(page.locator("#matrix tbody th")).to_have_text(words)
        told = page.locator("#matrix tbody td").evaluate_all(
            "cells => cells.map(cell => Number(cell.getAttribute('aria-label')))"
        )
        np.testing.assert_allclose(told, np.ravel(answers["align"]["alignment"]), rtol=1e-3)


def predict(rest: str, signature: str, text: str) -> dict[str, Any]:
    body = json.dumps({"signature_name": signature, "instances": [text]}).encode()
    with urllib.request.urlopen(f"{rest}{STATUS}:predict", body, timeout=120) as answer:
        return json.load(answer)["predictions"][0]
