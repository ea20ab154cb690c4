"""The page in Chromium: what can go wrong."""

import socket
from functools import partial

from page_in_browser import approve, expect, translate, trouble, wait_for
from scripted_page_server import Half, Server, align, state

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
    "half": (lambda lines: (200, Half(b"{")), state("AVAILABLE"), ["broke off", "Try again"]),
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


def test_parts_that_were_answered_are_not_asked_again(visit, server):
    failures = [(500, {"error": "ill"})]

    def failing(lines):
        return failures.pop() if "line 40" in lines and failures else align(lines)

    server.signatures["align"] = failing
    page = visit(server.url)
    page.locator("#source").fill("\n".join(f"line {i}" for i in range(80)))
    expect(trouble(page)).to_contain_text("ill")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#translation div")).to_have_count(80)
    expect(page.locator("#translation div").last).to_have_text("LINE 79")
    first = [lines[0] for lines in server.lines()]
    assert first == ["line 0", "line 32", "line 32", "line 64"]
    page.locator("#translate").click()  # all of a text that was answered
    wait_for(lambda: len(server.lines()) == 7, page)


def test_a_server_that_was_asked_too_often_is_asked_again(visit, server):
    def was_asked(times: int) -> bool:
        return len(server.lines()) == times

    refusals = [(429, b"<html>Too Many Requests</html>")] * 2
    server.signatures["align"] = lambda lines: refusals.pop() if refusals else align(lines)
    page = visit(server.url, clock=True)
    page.locator("#source").fill("one")
    for number, pause in enumerate((400, 1_000, 2_000), 1):
        page.clock.run_for(pause)
        wait_for(partial(was_asked, number), page)
        page.wait_for_timeout(50)  # until the answer is read
    expect(page.locator("#translation")).to_have_text("ONE")
    expect(trouble(page)).to_be_empty()


def test_the_server_goes_and_comes_back(visit, server, elsewhere):
    page = visit(f"{server.url}?server={elsewhere.url}")
    approve(page)
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
        approve(page)
        expect(trouble(page)).to_contain_text(f"{address} cannot be reached.")
        expect(page.get_by_role("button", name="Try again")).to_be_visible()


def test_a_server_that_lets_no_page_read_is_told_apart(visit, server, elsewhere):
    elsewhere.cors = False
    page = visit(f"{server.url}?server={elsewhere.url}")
    approve(page)
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


def test_no_other_page_may_frame_it(visit, server, elsewhere):
    page = visit(elsewhere.url)
    page.evaluate(
        """address => new Promise(done => {
             const frame = document.createElement("iframe");
             frame.onload = done;
             frame.src = address;
             document.body.append(frame);
           })""",
        f"{server.url}/index.html",
    )
    assert page.frames[1].locator("#source").count() == 0
    assert all("Content Security Policy" in text for text in page.visit.complaints)
    page.visit.complaints.clear()
    assert server.asked == []
