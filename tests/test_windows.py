"""Windows of a stream."""

import itertools
from collections.abc import Iterator

import pytest

from rnnsearch_tf.windows import MAX_LENGTH, text_windows, windows


def test_windows_are_read_on_request():
    items = iter(range(7))
    stream = windows(items, 3)
    assert [next(stream), next(items), list(stream)] == [[0, 1, 2], 3, [[4, 5, 6]]]
    assert list(itertools.islice(windows(itertools.count(), 2), 2)) == [[0, 1], [2, 3]]
    assert list(windows([], 2)) == []
    with pytest.raises(ValueError, match="0 at once: must be at least 1"):
        next(windows("a", 0))


@pytest.mark.parametrize("count", [4, 5])
def test_what_comes_before_an_error_is_given_first(count):
    def broken() -> Iterator[int]:
        yield from range(count)
        raise OSError("broken off")

    given: list[int] = []
    with pytest.raises(OSError, match="broken off"):
        for window in windows(broken(), 2):
            given += window
    assert given == list(range(count))


def test_long_texts_end_a_window_early():
    long, half = b"a" * (MAX_LENGTH - 1), b"a" * (MAX_LENGTH // 2)
    assert list(text_windows(["b", long, "c", "d", "e"], 3)) == [["b", long], ["c", "d", "e"]]
    assert list(text_windows([("b", half), (half, "c"), ("d", "e")], 3)) == [
        [("b", half), (half, "c")],
        [("d", "e")],
    ]
