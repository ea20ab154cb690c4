"""The page in Chromium: when it translates, and the n-best list."""

import re
import threading
from typing import Any

import pytest
from page_in_browser import STATUS, expect, translate, trouble, wait_for
from scripted_page_server import (
    BEYOND,
    LOWEST,
    Answer,
    align,
    complete,
    describe,
    nbest,
    without,
)


def test_translates_when_the_writer_pauses(visit, server):
    page = visit(server.url, clock=True)
    for key in "the man":
        page.locator("#source").press(key)
        page.clock.run_for(399)
    assert server.texts() == []
    page.clock.run_for(1)
    expect(page.locator("#translation")).to_have_text("THE MAN")
    expect(page.locator("#translation div")).to_have_attribute("dir", "ltr")  # line by line
    expect(page.locator("#candidates label")).to_have_count(2)
    page.clock.run_for(10_000)
    assert server.lines("align") == [["the man"]]
    assert server.lines("nbest") == [["the man"]]


def test_a_translation_may_run_from_right_to_left(visit, server):
    """Its scripted answer is the text itself, which has no capitals."""
    page = visit(server.url)
    translate(page, "Ada שלום עולם")  # a name does not turn the line
    for place in ("#translation div", "#translation .word >> nth=0", ".words >> nth=0"):
        direction = page.locator(place).evaluate("x => getComputedStyle(x).direction")
        assert direction == "rtl", place


def test_a_healthy_page_asks_only_its_server_and_complains_of_nothing(visit, server):
    page = visit(server.url)
    translate(page, "the man")
    page.locator("#target-word-0").hover()
    assert page.visit.complaints == []
    assert {url[: len(server.url)] for url in page.visit.requests} == {server.url}
    assert [(path, signature) for path, signature, _ in server.asked] == [
        (STATUS, ""),
        *((f"{STATUS}:predict", signature) for signature in ("describe", "align", "nbest")),
    ]


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
    expect(page.locator("#translation div")).to_have_text(["ONE", "TWO"])
    source.press_sequentially(" 2")
    page.locator("#translate").click()
    expect(page.locator("#translation div")).to_have_text(["ONE", "TWO 2"])
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


def test_a_word_under_composition_is_waited_for(visit, server):
    page = visit(server.url, clock=True)
    page.locator("#source").press_sequentially("a ")
    keyboard = page.context.new_cdp_session(page)
    for text in ("e", "ée"):
        keyboard.send(
            "Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1}
        )
        page.clock.run_for(1_000)
    assert page.locator("#source").input_value() == "a ée"
    assert server.lines() == []
    page.clock.run_for(1_000)  # some phones compose every word until a space
    expect(page.locator("#translation")).to_have_text("A ÉE")
    keyboard.send("Input.insertText", {"text": "été"})
    page.clock.run_for(400)
    expect(page.locator("#translation")).to_have_text("A ÉTÉ")
    assert server.lines() == [["a ée"], ["a été"]]


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
    expect(page.locator("#translation div")).to_have_text(["ONE", "", "TWO THREE"])
    chooser = page.get_by_label("Shown in detail")
    expect(chooser.locator("option")).to_have_text(["1. one", "2. ", "3. two three"])
    expect(chooser).to_have_value("2")  # where the caret is
    expect(page.locator("#matrix tbody th")).to_have_text(["TWO", "THREE", "</s>"])
    chooser.select_option("0")
    expect(page.locator("#matrix tbody th")).to_have_text(["ONE", "</s>"])
    expect(page.locator("#candidates .text")).to_have_text(["ONE", "ONE BIS"])
    expect(page.locator("#translation div.chosen")).to_have_text("ONE")
    chooser.select_option("1")
    expect(page.locator("#alignment-box")).to_be_hidden()
    page.get_by_role("textbox", name="English").fill("one")
    expect(chooser).to_be_hidden()


def test_32_lines_are_sent_at_a_time(visit, server):
    lines = [f"line {number}" for number in range(40)]
    page = visit(server.url)
    translate(page, "\n".join(lines), "".join(lines).upper())
    assert server.lines("align") == server.lines("nbest") == [lines[:32], lines[32:]]
    expect(page.locator("#translation div")).to_have_text([line.upper() for line in lines])


def test_the_end_of_a_line_that_is_not_read_is_told(visit, server):
    page = visit(server.url)
    translate(page, "a " * 500)
    expect(page.locator("#source-note")).to_be_empty()
    expect(page.locator("#matrix table")).to_be_hidden()  # a quarter of a million cells
    translate(page, f"a {BEYOND}")
    expect(page.locator("#source-note")).to_contain_text("The end is not read")
    translate(page, f"a\n{BEYOND}\n{BEYOND}", f"A{BEYOND}{BEYOND}")
    expect(page.locator("#source-note")).to_contain_text("The end of line 2, 3 is not read")


# --- The n-best list ---


def test_choosing_another_translation(visit, server):
    page = visit(server.url)
    translate(page, "one two")
    entries = page.get_by_role("radiogroup", name="Best translations").get_by_role("radio")
    expect(page.locator("#candidates-box > p + #candidates")).to_be_visible()  # below its legend
    expect(page.locator("#candidates-hint")).to_contain_text("Ranked by score: log p divided by")
    expect(entries).to_have_count(2)  # the slot for which nothing was found is left out
    expect(page.locator("#candidates label")).to_have_text(
        ["ONE TWOscore −1.25log p −7.00", "ONE TWO BISscore −1.50log p −9.50"]
    )
    expect(entries.first).to_be_checked()
    expect(page.locator("#score")).to_have_text("log p −7.00 nats")
    entries.first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#translation")).to_have_text("ONE TWO BIS")
    expect(page.locator("#score")).to_have_text("log p −9.50 nats")
    expect(page.locator("#alignment")).to_be_hidden()
    expect(page.locator("#alignment-note")).to_contain_text("best translation only")
    page.get_by_text("ONE TWO", exact=True).last.click()
    expect(page.locator("#translation")).to_have_text("ONE TWO")
    expect(page.locator("#alignment")).to_be_visible()
    expect(page.locator("#alignment-note")).to_be_empty()


def test_words_are_shaded_by_their_probability(visit, server):
    page = visit(server.url)
    translate(page, "one two <b>")
    words, hint = page.locator("#translation .word"), page.locator("#shading-hint")
    expect(words).to_have_text(["ONE", "TWO", "<B>"])
    told = [words.nth(i).get_attribute("title") for i in range(3)]
    assert told == [f"probability {p}\u00a0%" for p in (100, 50, 33)]
    shades = words.evaluate_all("all => all.map(word => getComputedStyle(word).backgroundColor)")
    assert len(set(shades)) == 3
    expect(hint).to_be_visible()
    page.locator("#candidates label").last.click()
    expect(words).to_have_text(["ONE", "TWO", "<B>", "BIS"])
    expect(page.locator("#translation")).to_have_text("ONE TWO <B> BIS")
    # Behind a word in place of [UNK], a short word is not looked for within it.
    words = ["le", "[UNK]", "a", ".", "</s>"]
    assert page.evaluate("words => placesOf(words, 'le Maria a.')", words) == [0, -1, 9, 10, -1]


def test_an_older_export_tells_no_probabilities_of_words(visit, server):
    for name, scripted in (("align", align), ("nbest", nbest)):
        server.signatures[name] = lambda lines, scripted=scripted: older(scripted(lines))
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("#candidates label")).to_have_count(2)
    expect(page.locator("#translation .word")).to_have_count(0)
    expect(page.locator("#shading-hint")).to_be_hidden()


def older(answer: Answer) -> Answer:
    """Without what version 0.1.0 did not send."""
    status, content = answer
    new = ("words", "word_scores")
    rows = [{k: v for k, v in row.items() if k not in new} for row in content["predictions"]]
    return status, {"predictions": rows}


def test_a_word_is_exchanged_and_the_model_goes_on_from_it(visit, server):
    page = visit(server.url)
    translate(page, "one two three")
    words, offers = page.locator("#translation .word[role=button]"), page.locator("#offered button")
    words.nth(1).click()
    expect(offers).to_have_text(["A", "D", "(end)"])
    assert server.asked[-1][1:] == ("complete", [{"text": "one two three", "prefix": "ONE "}])
    expect(offers.first).to_be_focused()
    expect(offers.first).to_have_attribute("title", "probability 50\u00a0%")
    offers.nth(1).click()
    expect(page.locator("#translation")).to_have_text("ONE D")
    expect(page.locator("#score")).to_have_text("log p −3.00 nats")
    expect(page.locator("#offers")).to_be_hidden()
    expect(page.locator("#alignment-note")).to_contain_text("best translation only")
    words.first.click()
    expect(offers).to_have_text(["A", "D", "(end)"])
    assert server.asked[-1][2] == [{"text": "one two three", "prefix": ""}]
    page.locator("#candidates label").first.click()
    expect(page.locator("#translation")).to_have_text("ONE TWO THREE")
    expect(page.locator("#offers")).to_be_hidden()


def test_a_word_in_place_of_an_unknown_one_is_offered_as_it_stands(visit, server):
    texts = ["ONE Zork B", "ONE B", "ONE Zork"]
    words = [["ONE", "[UNK]", "B", "</s>"], ["ONE", "B", "</s>", ""], ["ONE", "[UNK]", "</s>", ""]]
    ranks, scores = [-1.0, -2.0, -3.0], [[-0.5] * 4] * 3
    row = {"translations": texts, "scores": ranks, "normalized_scores": ranks}
    row |= {"words": words, "word_scores": scores}
    server.signatures["complete"] = lambda lines: (200, {"predictions": [row]})
    page = visit(server.url)
    translate(page, "one two")
    page.locator("#translation .word[role=button]").nth(1).click()
    offers = page.locator("#offered button")
    expect(offers).to_have_text(["Zork", "B"])
    offers.first.click()
    page.locator("#translation .word[role=button]").last.click()  # behind the replaced word
    expect(offers).to_have_text(["B", "(end)"])


def test_places_of_words_behind_a_compound_in_place_of_an_unknown_word(visit, server):
    page = visit(server.url)
    found = page.evaluate(
        "placesOf(['La', '[UNK]', 'et', 'Paris', '.', '</s>'], 'La Seine-et-Marne et Paris.')"
    )
    assert found == [0, -1, 18, 21, 26, -1]


def test_a_translation_can_be_selected_and_its_words_used_by_keys(visit, server):
    page = visit(server.url)
    translate(page, "one two three")
    words = page.locator("#translation .word[role=button]")
    first, last = (word.bounding_box() for word in (words.first, words.last))
    page.mouse.move(first["x"] + 1, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] - 1, last["y"] + 5, steps=5)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()") == "ONE TWO THREE"
    expect(page.locator("#offers")).to_be_hidden()
    words.nth(1).press("Enter")
    expect(page.locator("#offered button")).to_have_text(["A", "D", "(end)"])


def test_lines_are_copied_as_they_are(visit, server):
    page = visit(server.url, permissions=["clipboard-read", "clipboard-write"])
    translate(page, "one\n\ntwo. Three\nfour", "ONETWO. THREEFOUR")
    page.evaluate("getSelection().selectAllChildren(document.getElementById('translation'))")
    page.keyboard.press("Control+c")
    read = "async () => (await navigator.clipboard.read()).flatMap(item => item.types)"
    assert page.evaluate(read) == ["text/plain"]  # without colors
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == "ONE\n\nTWO. THREE\nFOUR"


def test_an_example_can_be_taken_back(visit, server):
    page = visit(server.url)
    translate(page, "one two three")
    page.locator("#examples button").first.click()
    expect(page.locator("#translation")).not_to_have_text("ONE TWO THREE")
    page.keyboard.press("Control+z")
    assert page.locator("#source").input_value() == "one two three"


def test_a_number_in_place_of_an_unknown_word_is_offered_whole(visit, server):
    row = {"translations": ["ONE 12.5 . END", "", ""], "scores": [-1.0, LOWEST, LOWEST]}
    row |= {"normalized_scores": row["scores"], "word_scores": [[-0.5] * 5] * 3}
    row["words"] = [["ONE", "[UNK]", ".", "END", "</s>"], [""] * 5, [""] * 5]
    server.signatures["complete"] = lambda lines: (200, {"predictions": [row]})
    page = visit(server.url)
    translate(page, "one two")
    page.locator("#translation .word[role=button]").nth(1).click()
    expect(page.locator("#offered button")).to_have_text(["12.5"])


def test_words_are_no_buttons_where_the_model_completes_nothing(visit, server):
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("#translation .word[role=button]")).to_have_count(2)
    expect(page.locator("#shading-hint")).to_contain_text("Click a word")
    server.signatures["describe"] = lambda lines: told(completions="no", alignment="aligner")
    page = visit(server.url)
    translate(page, "one two")
    expect(page.locator("#translation .word")).to_have_count(2)
    expect(page.locator("#translation .word[role=button]")).to_have_count(0)
    expect(page.locator("#shading-hint")).to_be_visible()
    expect(page.locator("#offers-hint")).to_be_hidden()
    expect(page.locator("#matrix-view .hint")).to_contain_text("an aligner's link probabilities")
    expect(page.locator("#by-attention")).to_be_hidden()


def told(**values: str) -> Answer:
    return 200, {"predictions": [{**describe([""])[1]["predictions"][0], **values}]}


def test_the_sentences_of_a_line_are_translated_one_by_one(visit, server):
    page = visit(server.url)
    first = ["Mr. Smith met J. R. Doe.", "They left!"]
    line = " ".join(first)
    translate(page, f"{line}\n\nOne.", f"{line}One.".upper())
    assert server.lines("align")[-1] == server.lines("nbest")[-1] == [*first, "", "One."]
    shown = page.locator("#translation div")
    expect(shown).to_have_text([line.upper(), "", "ONE."])
    expect(page.locator("#chosen option")).to_have_count(4)
    expect(page.locator("#translation .chosen")).to_have_text("ONE.")  # the caret is there
    sentence = page.locator("#translation .chosen").element_handle()
    page.locator("#chosen").select_option("1")
    expect(page.locator("#translation .chosen")).to_have_text("THEY LEFT!")
    assert sentence.is_visible()  # it is the same element: nothing is read out again
    expect(page.locator("#lines .words").first).to_have_text(re.compile("^They"))
    # Joined otherwise, the same sentences are other lines.
    translate(page, f"{first[0]}\n{first[1]} One.", f"{line} One.".upper().replace(". T", ".T"))
    expect(shown).to_have_text([first[0].upper(), f"{first[1].upper()} ONE."])


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("See a.org/?q=1&r!x. Thanks!", ["See a.org/?q=1&r!x.", "Thanks!"]),
        ("1. Open it. 2. Save it.", ["1. Open it.", "2. Save it."]),
        ("It was 12. She left.", ["It was 12.", "She left."]),
        ("Half \x00 an emoji.", ["Half \ufffd an emoji."]),
        ('"Stop!" he said. "Why?" He left.', ['"Stop!" he said.', '"Why?"', "He left."]),
        ("Gen. Smith met Sen. Lee. He left.", ["Gen. Smith met Sen. Lee.", "He left."]),
        ("彼は言った。「はい。」「え。」", ["彼は言った。", "「はい。」", "「え。」"]),
        ("« Viens ! » dit-il. « Non. » Il part.", ["« Viens ! » dit-il.", "« Non. »", "Il part."]),
    ],
)
def test_the_sentences_of_addresses_lists_and_halves(visit, server, line, sentences):
    page = visit(server.url)
    half = r"line.replace('\0', '\ud83d')"
    assert page.evaluate(f"line => linesOf({half}).flatMap(sentencesOf)", line) == sentences


def test_german_has_stops_in_its_sentences(visit, server):
    page = visit(server.url)
    line = "Am 3. Mai war z. B. Nr. 2 da. Es ist groß. „Halt!“ rief er. Gut."
    read = "line => { languages.source = 'de'; return sentencesOf(line); }"
    assert page.evaluate(read, line) == [
        "Am 3. Mai war z. B. Nr. 2 da.", "Es ist groß.", "„Halt!“ rief er.", "Gut.",
    ]  # fmt: skip


def test_sentences_touch_in_chinese_and_japanese(visit, server):
    page = visit(server.url)
    read = "texts => lineOf(texts.map((text) => make('span', {}, text))).textContent"
    sides = [
        ["他走了。", "“你好”。", "Apple来了"],
        ["เขาไป", "เขากิน"],
        ["Un.", "中", "Deux."],
        ["“好。”", "“是。”"],
    ]
    assert [page.evaluate(read, side) for side in sides] == [
        "他走了。“你好”。Apple来了", "เขาไป เขากิน", "Un.中 Deux.", "“好。”“是。”",
    ]  # fmt: skip


def test_a_browser_that_knows_no_sentences_translates_lines(visit, server):
    page = visit(server.url)
    page.evaluate("delete Intl.Segmenter")
    translate(page, "One. Two.")
    assert server.lines("align") == [["One. Two."]]


def test_of_several_lines_the_chosen_one_is_exchanged(visit, server):
    page = visit(server.url)
    translate(page, "one\ntwo", "ONETWO")
    expect(page.locator("#translation div").first.locator("button")).to_have_count(0)
    page.locator("#translation .word[role=button]").click()
    expect(page.locator("#offered button")).to_have_count(3)
    assert server.asked[-1][2] == [{"text": "two", "prefix": ""}]
    page.locator("#offered button").first.click()
    expect(page.locator("#translation div")).to_have_text(["ONE", "A B"])


def test_an_answer_for_another_line_offers_nothing(visit, server):
    page = visit(server.url)
    late = threading.Event()
    server.signatures["complete"] = lambda lines: late.wait(60) and complete(lines)
    leave_by = {
        "two": lambda: page.locator("#chosen").select_option("0"),
        "one": lambda: page.locator("#source").press("x"),
    }
    for line, leave in leave_by.items():
        translate(page, "one\ntwo", "ONETWO")
        page.locator("#translation .word[role=button]").click()
        expect(page.locator("#offers-note")).to_contain_text("Looking")
        leave()
        wait_until_aborted(page, {"text": line, "prefix": ""})
        expect(page.locator("#offers")).to_be_hidden()
    late.set()


def wait_until_aborted(page: Any, request: dict[str, str]) -> None:
    wait_for(lambda: page.visit.aborted[-1:] == [request], page)


def test_a_choice_stays_when_the_list_comes(visit, server):
    page = visit(server.url)
    late = threading.Event()
    server.signatures["nbest"] = lambda lines: late.wait(60) and nbest(lines)
    page.locator("#source").fill("one two")
    page.locator("#translation .word[role=button]").nth(1).click()
    page.locator("#offered button").nth(1).click()
    expect(page.locator("#translation")).to_have_text("ONE D")
    late.set()
    expect(page.locator("#candidates label")).to_have_count(2)
    expect(page.locator("#candidates input:checked")).to_have_count(0)
    expect(page.locator("#translation")).to_have_text("ONE D")


def test_no_other_words(visit, server):
    page = visit(server.url)
    translate(page, "one")
    note = page.locator("#offers-note")
    for answer, said in (
        (without("complete"), "no signature “complete”"),
        ((200, {"predictions": [EMPTY]}), "No translation found."),
        ((500, {"error": "ill"}), "The server refused: HTTP 500."),
    ):
        server.signatures["complete"] = lambda lines, answer=answer: answer
        page.locator("#translation .word[role=button]").click()
        expect(note).to_contain_text(said)
    expect(page.locator("#translation")).to_have_text("ONE")


EMPTY = {"translations": [""], "scores": [LOWEST], "normalized_scores": [LOWEST]}


def test_five_are_shown_and_more_on_request(visit, server):
    def beam(lines: list[str]) -> Any:
        texts = [f"{lines[0].upper()} {i}".removesuffix(" 0") for i in range(8)]
        ranks = [-float(i + 1) for i in range(8)]
        row = {"translations": texts, "scores": ranks, "normalized_scores": ranks}
        return 200, {"predictions": [row]}

    server.signatures["nbest"] = beam
    page = visit(server.url)
    translate(page, "one")
    shown, more = page.locator("#candidates label:visible"), page.locator("#more")
    expect(shown).to_have_count(5)
    expect(more).to_have_text("3 more")
    expect(more).to_have_attribute("aria-expanded", "false")
    more.click()
    expect(shown).to_have_count(8)
    shown.last.click()
    expect(page.locator("#translation")).to_have_text("ONE 7")
    more.click()
    expect(shown).to_have_count(5)
    server.signatures["nbest"] = nbest
    translate(page, "two")
    expect(more).to_be_hidden()


# --- The model's languages ---


def test_an_example_is_translated_with_a_click(visit, server):
    page = visit(server.url)
    examples = page.get_by_role("group", name="Examples").get_by_role("button")
    expect(examples).not_to_have_count(0)
    expect(examples.first).to_have_attribute("lang", "en")
    expect(examples.first).to_have_attribute("translate", "no")  # or its translation would be sent
    text = examples.first.inner_text()
    examples.first.click()
    expect(page.locator("#source")).to_have_value(text)
    expect(page.locator("#translation")).to_have_text(text.upper())
    page.locator("#source").fill("")
    expect(page.locator("#introduction")).to_be_visible()


def test_an_example_keeps_the_focus_when_the_model_tells_the_same_languages_again(visit, server):
    page = visit(server.url)
    example = page.get_by_role("group", name="Examples").get_by_role("button").first
    example.focus()
    page.evaluate("showLanguages({ ...languages })")
    expect(example).to_be_focused()


def test_the_languages_are_the_models(visit, server):
    languages = {"source_language": "pt-BR", "target_language": "ja"}
    server.signatures["describe"] = lambda lines: (200, {"predictions": [languages]})
    page = visit(server.url)
    expect(page.locator("#direction")).to_have_text(
        "Brazilian Portuguese to Japanese with soft alignment"
    )
    translate(page, "one")
    expect(page.get_by_role("textbox", name="Brazilian Portuguese")).to_have_attribute(
        "lang", "pt-BR"
    )
    expect(page.get_by_role("heading", name="Japanese")).to_be_visible()
    of_model = page.locator("[lang]:not([lang=en])").all()
    assert {element.get_attribute("lang") for element in of_model} == {"pt-BR", "ja"}
    assert {element.get_attribute("translate") for element in of_model} == {"no"}
    expect(page.locator("#chosen")).to_have_attribute("lang", "pt-BR")
    expect(page.locator("#candidates .text").first).to_have_attribute("lang", "ja")
    expect(page.locator("#examples")).to_be_hidden()


@pytest.mark.parametrize(
    "answer", [(400, {"error": "signature"}), (200, {"predictions": [{"source_language": "<b>"}]})]
)
def test_languages_that_are_not_told_are_not_guessed(visit, server, answer):
    """Exports of version 0.1.0 have no signature `describe`."""
    server.signatures["describe"] = lambda lines: answer
    page = visit(server.url)
    translate(page, "one")
    expect(page.get_by_role("heading", name="Source")).to_be_visible()
    expect(page.locator("#translation-label")).to_contain_text("Translation")
    for element in ("#source", "#translation"):
        assert page.locator(element).get_attribute("lang") is None
    expect(page.locator("#direction")).to_have_text("Translation with soft alignment")


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
