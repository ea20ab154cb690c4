"""Fixtures of the page's tests: servers, and a browser that they share."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from scripted_page_server import Server


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


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    from page_in_browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """`visit(address)` opens the page; it must not err, and complain of failed requests alone."""
    from page_in_browser import Visit

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
        # A test may type before the browser gives a field the focus; the browser then says so.
        harmless = r"Failed to load resource|.*blocked by CORS policy|Autofocus processing was"
        assert [text for text in seen.complaints if not re.match(harmless, text)] == []
