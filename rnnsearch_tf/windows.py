"""Windows of a stream: items that are worked on together."""

import math
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rnnsearch_tf.errors import until_error

Item = TypeVar("Item")

MAX_LENGTH = 1 << 22  # of the texts that are worked on together


def windows(
    items: Iterable[Item],
    size: int,
    max_length: float = math.inf,  # of its texts, by `length_of`: a list ends once they reach it
) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last one perhaps shorter.

    An error of `items` is raised after the items before it. ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"{size} at once: must be at least 1")
    errors: list[Exception] = []
    window: list[Item] = []
    length = 0
    for item in until_error(items, errors):
        window.append(item)
        if max_length < math.inf:  # counting takes longer than reading
            length += length_of(item)
        if len(window) == size or length >= max_length:
            yield window
            window, length = [], 0
    if window:
        yield window
    if errors:
        raise errors[0]


def text_windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists as `windows`, of texts or of tuples of them; long texts end a list early."""
    return windows(items, size, MAX_LENGTH)


def length_of(item: object) -> int:
    """Count the characters or bytes of a text, or of those in a tuple."""
    texts = item if isinstance(item, tuple) else (item,)
    return sum(len(text) for text in texts if isinstance(text, str | bytes))
