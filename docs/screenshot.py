"""Make docs/page.png: the page of export/page with a translation that a server gives it.

    python docs/screenshot.py --server=http://localhost:8501 \
        --text="The European Economic Area will not be small." --word=européenne

The server must run with --rest_api_enable_cors_support. Needs the Python package playwright, and
Chromium.
"""

import argparse
import shutil
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).resolve().parent
PAGE = DOCS.parent / "export" / "page" / "index.html"
SERVER_MS = 120_000  # a safety net


def main() -> None:
    """Take the picture."""
    parser = argparse.ArgumentParser(description="Take a picture of the translation page.")
    parser.add_argument("--server", required=True, help="REST address of TensorFlow Serving")
    parser.add_argument("--text", required=True, help="a sentence")
    parser.add_argument(
        "--word", required=True, help="the word of its translation that is pointed at"
    )
    parser.add_argument("--width", type=int, default=1280, help="pixels")
    parser.add_argument("--output", type=Path, default=DOCS / "page.png")
    arguments = parser.parse_args()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": arguments.width, "height": 800})
        page.goto(f"{PAGE.as_uri()}?{urlencode({'server': arguments.server})}")
        if page.locator("#approve").is_visible():
            page.locator("#approve").click()
        page.locator("#source").fill(arguments.text)
        page.locator("#candidates label").first.wait_for(timeout=SERVER_MS)
        page.locator("#translate").click(trial=True)  # scrolls to the top
        page.locator(".words[data-lang-of=target]").get_by_text(
            arguments.word, exact=True
        ).first.hover()
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(300)  # colors change gently
        page.screenshot(path=arguments.output)
        browser.close()


if __name__ == "__main__":
    main()
