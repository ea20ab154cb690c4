"""The page in Chromium: on a phone, for a screen reader, in the dark."""

from typing import Any

import pytest
from page_in_browser import expect, translate, trouble, wait_for
from scripted_page_server import without

SENTENCE = "The old man has not seen the small platypus in Paris ."
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


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (375, 2 * 812)])
def test_the_alignment_is_in_view(visit, server, width, height):
    """Without scrolling on a small laptop, within two screens of a phone."""
    page = visit(server.url, viewport={"width": width, "height": height}, has_touch=width < 500)
    translate(page, SENTENCE)
    views = ["#lines", "#matrix"] if width > 500 else ["#lines"]
    for view in views:
        expect(page.locator(view)).to_be_in_viewport(ratio=1)
        assert page.locator(view).evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_what_is_cut_off_says_so(visit, server):
    page = visit(server.url, viewport={"width": 375, "height": 812})
    translate(page, SENTENCE)
    cut = page.locator("#matrix-view .cut")
    expect(cut).to_contain_class("right")
    page.locator("#matrix").evaluate("box => box.scrollLeft = box.scrollWidth")
    expect(cut).not_to_contain_class("right")


def assert_accessible(page: Any) -> None:
    """No violation of axe-core's rules, of which there are about a hundred."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-core")
    violations = axe.Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in violations] == []


# Text and what it stands on, as a person sees them: the least contrast by WCAG's formula.
CONTRAST = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const parse = (text) => text.startsWith("color(srgb")  // 0 to 1, where others have 0 to 255
    ? numbers(text).map((v, i) => i < 3 ? 255 * v : v) : numbers(text);
  const light = (text) => {
    const [r, g, b] = parse(text).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = getComputedStyle(e).backgroundColor;
      const alpha = parse(color)[3] ?? 1;
      if (alpha === 1) return color;
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
    assert_accessible(page)
    translate(page, "one\ntwo three platypus", "ONETWO THREE PLATYPUS")
    page.locator("#target-word-0").hover()
    assert_readable(page)
    assert_sound(page)
    assert_accessible(page)
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


def test_colors_that_the_system_chooses_hide_nothing(visit, server):
    page = visit(server.url, forced_colors="active")
    translate(page, "one\ntwo three", "ONETWO THREE")
    page.locator("#target-word-0").hover()

    def style(place: str, name: str) -> str:
        script = "(e, name) => getComputedStyle(e)[name]"
        return page.locator(place).first.evaluate(script, name)

    grounds = {style(place, "backgroundColor") for place in (".word", ".word >> nth=2", ".lit")}
    assert len(grounds) == 3
    assert style("#translation div", "borderLeftStyle") == "none"
    assert style("#translation div.chosen", "borderLeftStyle") == "solid"
