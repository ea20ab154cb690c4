"""The page in Chromium: which server it asks, and who decides that."""

from typing import Any

import pytest
from page_in_browser import STATUS, approve, expect, translate, trouble, wait_for
from scripted_page_server import PAGE


def test_settings_are_kept_and_shared_and_reset(visit, server, elsewhere):
    page = visit(server.url)
    page.locator("summary").click()
    assert page.get_by_label("Server address").input_value() == server.url
    assert page.get_by_label("Model name").input_value() == "rnnsearch"
    page.get_by_label("Server address").fill(f"{elsewhere.url}/")
    page.get_by_label("Model name").fill("my model")
    page.get_by_label("or label (optional)").fill("canary")
    page.get_by_role("button", name="Save").click()
    wait_for(lambda: len(elsewhere.asked) == 2, page)
    paths = [path for path, *_ in elsewhere.asked]  # its state, then its languages
    assert paths == [f"/v1/models/my%20model/labels/canary{end}" for end in ("", ":predict")]
    expect(page.locator("#address")).to_have_text(f"my model, label canary at {elsewhere.url}/")
    shared = page.url
    page.goto(f"{server.url}/index.html")  # without the query, from what was kept
    translate(page, "one")
    assert elsewhere.asked[-1][0] == "/v1/models/my%20model/labels/canary:predict"
    stranger = visit(server.url)
    expect(stranger.locator("#address")).to_have_text(f"rnnsearch at {server.url}")
    stranger.goto(shared)
    expect(consent(stranger)).to_be_visible()
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


def consent(page: Any) -> Any:
    return page.locator("#consent-text")


@pytest.mark.parametrize("from_file", [False, True])
def test_a_link_to_another_server_sends_nothing_there_before_one_agrees(
    visit, server, elsewhere, from_file
):
    own = f"{PAGE.as_uri()}/index.html" if from_file else server.url
    page = visit(f"{own}?server={elsewhere.url}/&model=m", clock=True)
    expect(consent(page)).to_contain_text(f"selects {elsewhere.url}.")
    page.locator("#source").fill("my secret")
    page.clock.run_for(10_000)
    page.locator("#translate").click()
    page.locator("#source").press("Control+Enter")
    page.clock.run_for(10_000)
    assert not [url for url in page.visit.requests if "/v1/" in url]
    assert elsewhere.asked == server.asked == []
    approve(page)
    expect(page.locator("#translation")).to_have_text("MY SECRET")
    expect(consent(page)).to_be_hidden()
    expect(page.get_by_role("button", name="Send my text there")).to_be_hidden()
    expect(page.locator("#source")).to_be_focused()
    assert elsewhere.lines() == [["my secret"]]
    assert page.evaluate("localStorage.length") == 0  # a link changes nothing that is kept
    page.reload()
    expect(consent(page)).to_be_visible()


def test_one_may_stay_with_the_pages_own_server(visit, server, elsewhere):
    page = visit(f"{server.url}?server={elsewhere.url}&model=m")
    page.locator("#source").fill("one")
    page.get_by_role("button", name="Use this page's server").click()
    expect(page.locator("#translation")).to_have_text("ONE")
    expect(consent(page)).to_be_hidden()
    expect(page.locator("#address")).to_have_text(f"rnnsearch at {server.url}")
    assert page.url == f"{server.url}/index.html"
    assert elsewhere.asked == []
    assert server.asked[-1][0] == f"{STATUS}:predict"


def test_who_chose_a_server_is_not_asked(visit, server, elsewhere):
    page = visit(f"{server.url}?server={server.url}/proxy&label=canary")  # this page's own
    expect(trouble(page)).not_to_be_empty()
    expect(consent(page)).to_be_hidden()
    page.goto(f"{server.url}/index.html?server={elsewhere.url}")
    expect(consent(page)).to_be_visible()
    page.locator("summary").click()
    page.get_by_role("button", name="Save").click()
    expect(consent(page)).to_be_hidden()
    translate(page, "one")
    page.reload()
    translate(page, "two")
    assert elsewhere.lines() == [["one"], ["two"]]


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
