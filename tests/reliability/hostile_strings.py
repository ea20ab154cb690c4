"""Strings that no user means to send, among sentences that must not notice them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

# Padding depends on the longest of a block: sums of float32 may differ in their last digits.
TOLERANCE = 1e-4  # nats

NEIGHBORS = (
    b"The man will eat.",
    b"She has not seen the old cat in Paris.",
    b"",
    b"It is cold.",
)
MEGABYTE = 2**20
LONG_LINES = (
    b"a" * MEGABYTE,
    b"the " * (MEGABYTE // 4),
    b"." * MEGABYTE,
    b"'" * MEGABYTE,
    b"\xff" * MEGABYTE,
    b"a\xcc\x81" * (MEGABYTE // 3),
    b"\0 " * (MEGABYTE // 2),
    "\N{PILE OF POO}".encode() * (MEGABYTE // 4),
)


class Translations(NamedTuple):
    texts: list[bytes]
    scores: np.ndarray  # float32 [B], nats


Translate = Callable[[list[bytes]], Translations]


_ODD_WORDS = (
    *("</s>", "<pad>", "[UNK]", "<unk>", "&amp;", "&#124;", "@-@", "@,@", "--", "...", "''", "``"),
    *("n't", "don't", "l'", "U.S.", "No.", "1,000", ".5", "%s", "%00", "\\0", "${x}", "<script>"),
    *("'", '"', "\\", "|", "|||", "\t", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\ufeff"),
)
_PATTERN = "aA0.*+?()[]{}|\\^$-,:=!<>PpLNsSdDwWbB&"
_RIGHT_TO_LEFT = "אבגםןابتثلا٠١٢ abc\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2069"
_EMOJI = "😀👩🏽💻👨👧🇫🇷🏳🌈❤\u200d\u200d\ufe0f\ufe0e"
_REPETITIONS = 3000  # of a character, at most
_MARKS = "\u0301\u0308\u0323\u20dd\u0489\u0e47\u1ab0"


def hostile_strings() -> st.SearchStrategy[bytes]:
    """Generate strings, most of them short."""
    encoded = _texts().map(lambda text: text.encode("utf-8", "surrogatepass"))
    torn = st.builds(
        lambda text, byte: byte + text + byte, encoded, st.binary(min_size=1, max_size=2)
    )
    return st.one_of(encoded, encoded, torn, st.binary(max_size=60))


def hostile_batches(size: int) -> st.SearchStrategy[list[bytes]]:
    """Generate lists of `size` of them."""
    return st.lists(hostile_strings(), min_size=size, max_size=size)


def _texts() -> st.SearchStrategy[str]:
    def of(letters: str) -> st.SearchStrategy[str]:
        return st.text(st.sampled_from(letters), min_size=1, max_size=60)

    invisible = st.characters(categories=["Cc", "Cf", "Cn", "Co", "M", "Z"])
    words, times = st.sampled_from(_ODD_WORDS), st.integers(1, _REPETITIONS)
    short = st.text(max_size=2)
    return st.one_of(
        st.text(max_size=60),
        st.text(st.characters(max_codepoint=0x9F), max_size=40),  # half of them control characters
        st.text(invisible, max_size=40),
        st.text(st.characters(categories=["Cs"]), min_size=1, max_size=10),
        *map(of, (_PATTERN, _RIGHT_TO_LEFT, _EMOJI)),
        st.lists(words, max_size=30).map(" ".join),
        st.builds(lambda base, mark, n: base + mark * n, short, of(_MARKS), times),
        st.builds(lambda letter, n, end: letter * n + end, short, times, short),
        st.builds(lambda word, n: f"{word} " * n, words, st.integers(1, 60)),
    )


class Company:
    """Good sentences, and what they give when they are alone.

    Args:
        translate: through the interface under test.
    """

    def __init__(self, translate: Translate):
        self._translate = translate
        self._neighbors = list(NEIGHBORS)
        self._alone = translate(self._neighbors)

    def check(self, hostile: Sequence[bytes], reference: Translate | None = None) -> None:
        """Translate strings among the neighbors, which stand between them.

        Args:
            hostile: the strings.
            reference: gives the same, for all of them.

        Raises:
            AssertionError: a neighbor changed, or the reference gives something else.
        """
        places = [len(hostile) * i // len(self._neighbors) + i for i in range(len(self._neighbors))]
        batch = list(hostile)
        for place, neighbor in zip(places, self._neighbors, strict=True):
            batch.insert(place, neighbor)
        found = self._translate(batch)
        beside = Translations([found.texts[i] for i in places], found.scores[places])
        assert_same(beside, self._alone)
        assert np.isfinite(found.scores).all()
        if reference is not None:
            assert_same(found, reference(batch))


def assert_same(found: Translations, expected: Translations) -> None:
    assert found.texts == expected.texts
    np.testing.assert_allclose(found.scores, expected.scores, atol=TOLERANCE, rtol=1e-5)
