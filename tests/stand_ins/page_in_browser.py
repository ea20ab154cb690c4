"""The page of export/page in Chromium: a visit, and what a visitor does."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
expect.set_options(timeout=30_000)  # a safety net

CHROMIUM = shutil.which("chromium")
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


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
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


def translate(page: Any, text: str, expected: str | None = None) -> None:
    """Fill in a text and wait until the list, which comes last, is there."""
    page.locator("#source").fill(text)
    expect(page.locator("#translation")).to_have_text(expected or text.upper())
    expect(page.locator("#progress")).to_be_empty()


def trouble(page: Any) -> Any:
    return page.locator("#trouble-text")


def approve(page: Any) -> None:
    """Agree that the server which the link names gets what is typed."""
    page.get_by_role("button", name="Send my text there").click()


def wait_for(condition: Callable[[], bool], page: Any) -> None:
    """Until something has happened outside the page; the time-out is a safety net."""
    for _ in range(3000):
        if condition():
            return
        page.wait_for_timeout(20)
    raise AssertionError("it did not happen")
