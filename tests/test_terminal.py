"""Text that a terminal shows and does not obey."""

import pytest

from rnnsearch_tf.progress import ProgressLine, say
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


def test_progress_and_lines_that_stay(capsys):
    say(HOSTILE)
    line = ProgressLine()
    line.show(HOSTILE)
    line.finish(HOSTILE)
    assert capsys.readouterr().err.splitlines() == [TAME] * 3
