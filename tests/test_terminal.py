"""What a terminal shows: text that it does not obey, and bars; what a log has instead."""

import contextlib
import io
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from typing import NamedTuple

import bars_on_terminal
import pytest
from rich.console import Console

from rnnsearch_tf import progress
from rnnsearch_tf.bars import Row, drawn
from rnnsearch_tf.progress import Bar, counted, say
from rnnsearch_tf.terminal import printable

HOSTILE = "\x1b]0;title\x07\x9b31m\u202eevil\u2069"
TAME = r"\x1b]0;title\x07\x9b31m\u202eevil\u2069"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, TAME),
        ("\0\b\r\x0b\x7f\x85", r"\x00\x08\r\x0b\x7f\x85"),
        ("a\u2028b\u2029c\u061c\u200e\u200f", r"a\u2028b\u2029c\u061c\u200e\u200f"),
        ("\u202a\u202b\u202c\u202d", r"\u202a\u202b\u202c\u202d"),
        ("\u2066\u2067\u2068", r"\u2066\u2067\u2068"),
        # What words need stays: no-break spaces, joiners, combining marks, other planes.
        *((text, text) for text in ("l'\u00e9t\u00e9\u00a0!", "a\tb\nc", "\u0645\u06cc\u200c\u0631",
                                    "e\u0301", "👩\u200d🚀", "\\x1b", "\udc80")),
    ],
)  # fmt: skip
def test_what_is_shown(text, shown):
    assert printable(text) == shown
    assert printable(shown) == shown


# --- logs -----------------------------------------------------------------------------------------


def test_a_log_has_lines(capsys, monkeypatch):
    """So has a notebook, whose standard error is no terminal."""
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0)
    assert list(counted("ab", "line", 2)) == ["a", "b"]
    with contextlib.closing(Bar("update", 30_000, begins_at=0)) as bar:
        bar.update(12_000, "2.500 nats/token", HOSTILE)
    say(HOSTILE)
    say("\nmodel\nall is well: no such directory")
    written = capsys.readouterr().err
    assert written.splitlines() == [
        "line 0/2",
        "line 1/2: 0 s left",
        f"update 12,000/30,000: 2.500 nats/token, {TAME}",
        TAME,
        "",
        "model all is well: no such directory",
    ]


def test_the_time_left_of_items_that_come_in_blocks(capsys, monkeypatch):
    """The first block takes longer, since graphs are traced: its time says nothing."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)

    def blocks():
        nonlocal now
        for seconds in (100.0, 30.0, 30.0):
            now += seconds
            yield from range(64)

    assert len(list(counted(blocks(), "line", 192))) == 192
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["line 0/192", "line 64/192: 60 s left", "line 128/192: 30 s left"]


def test_a_logger_in_place_of_standard_error_has_lines(monkeypatch):
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0)
    lines: list[str] = []
    stream = SimpleNamespace(write=lines.append, flush=lambda: None)  # many have no more
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(counted("ab", "line", 2)) == ["a", "b"]
    say("x" * 200)
    assert "".join(lines).splitlines() == ["line 0/2", "line 1/2: 0 s left", "x" * 200]


def test_short_work_shows_nothing(capsys):
    assert len(list(counted(range(1000), "line"))) == 1000
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (3900, "1 h 05 min")]
)
def test_durations(seconds, text):
    assert progress._duration(seconds) == text


def test_rich_is_imported_where_a_bar_is_shown_and_nowhere_else():
    names = "progress", "client", "scripts.shared.command"
    lines = [f"import rnnsearch_tf.{name}" for name in names]
    lines += ["from rnnsearch_tf.progress import *", "list(counted('ab', 'line'))"]
    code = "\n".join([*lines, "import sys", "assert 'rich' not in sys.modules"])
    subprocess.run([sys.executable, "-c", code], check=True)


# --- a terminal -----------------------------------------------------------------------------------


class Painted(NamedTuple):
    """What a script of `bars_on_terminal` painted on a terminal."""

    status: int
    views: list[list[str]]  # lines on the screen after each piece that was written
    written: bytes

    @property
    def last(self) -> list[str]:
        return self.views[-1]


def painted(name: str, columns: int = 80, keys: bytes = b"", **environment: str) -> Painted:
    """Run a script on a terminal, and type keys once it shows two bars."""
    from terminal_screen import TerminalScreen  # it skips the test on Windows

    with TerminalScreen(columns) as screen:
        process = screen.start([sys.executable, bars_on_terminal.__file__, name], environment)
        views = []
        for lines in screen.views(process):
            views.append(lines)
            if keys and re.fullmatch("line (.+ )?0", lines[-1]):
                time.sleep(0.5)  # it may still be drawing, and sleeps then
                screen.type(keys)
                keys = b""
        assert screen.has_cursor
        return Painted(process.returncode, views, screen.written)


def bars(lines: list[str]) -> list[str]:
    return [line for line in lines if "━" in line]


@pytest.mark.parametrize("columns", [80, 40, 120])
def test_bars_stay_below_what_is_said_and_leave_nothing(columns):
    status, views, _ = shown = painted("train", columns)
    assert status == 0
    text = "".join(" ".join(shown.last).split())  # lines may have been broken within words
    said = ("one", "of absl", "of logging", "UserWarning: careful", "many words many", "printed",
            printable(bars_on_terminal.MARKUP), "of absl, later")  # fmt: skip
    places = [text.index(words.replace(" ", "")) for words in said]
    assert places == sorted(places)
    assert shown.last[-1] == "of absl, later"
    assert not bars(shown.last) and "nats" not in text
    both = [lines for lines in views if len(bars(lines)) == 2]
    assert both and all(lines[-2:] == bars(lines) for lines in both)
    assert max(len(bars(lines)) for lines in views) == 2
    assert max(len(line) for lines in views for line in bars(lines)) <= columns - 4


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (76, ["update 40% 12,000/30,000 12 min left, 3.421 nats/token",
              "validation 2% 25/1,040 40 s left",
              "update 40% 12,000/30,000 12 min left, 3.421 nats/token, 12,345 tok/s"]),
        (40, ["update 40% 12,000/30,000", "validation 2% 25/1,040", "update 40% 12,000/30,000"]),
    ],
)  # fmt: skip
def test_what_fits(width, expected):
    notes = ["12 min left", "3.421 nats/token", "12,345 tok/s", "perplexity 30.6"]
    update = Row(("update", " 40%", "12,000/30,000"), 0.4, notes)
    validation = Row(("validation", "  2%", "25/1,040"), 0.02, ["40 s left"])
    console = Console(width=200, file=io.StringIO())
    with console.capture() as written:
        console.print(drawn([update, validation], width))
        console.print(drawn([update], width))
    lines = written.get().splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("update     ━")
    assert [re.sub("[╸╺━ ]+", " ", line).strip() for line in lines] == expected


@pytest.mark.parametrize("terminal", ["dumb", "unknown"])
def test_a_terminal_without_a_cursor_has_lines(terminal):
    shown = painted("train", TERM=terminal)
    assert b"\x1b" not in shown.written
    assert b"update 12,001/30,000: 3.421 nats/token, 12,345 tok/s" in shown.written


@pytest.mark.parametrize(
    ("terminal", "before"), [("xterm-256color", []), ("dumb", ["line 0", "^C"])]
)
def test_ctrl_c_leaves_a_line_of_its_own(terminal, before):
    shown = painted("never_end", keys=b"\x03", TERM=terminal)
    assert b"^C" in shown.written  # what the terminal itself shows at the end of the bar
    assert shown.status == 130
    assert shown.last == [*before, "paint: interrupted"]


def test_threads_have_one_terminal(monkeypatch):
    made = []

    class SlowBars:
        def __init__(self) -> None:
            self.rows: dict[object, object] = {}
            time.sleep(0.05)
            made.append(self)

        def refresh(self) -> None:
            pass

    monkeypatch.setattr("rnnsearch_tf.bars.Bars", SlowBars)
    monkeypatch.setattr(progress, "_bars", None)
    each = [Bar("line") for _ in range(4)]
    threads = [threading.Thread(target=bar._draw, args=(1, [])) for bar in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
