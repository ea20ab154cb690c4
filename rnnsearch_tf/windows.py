"""Windows of a stream: items that are worked on together."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rnnsearch_tf.errors import until_error

Item = TypeVar("Item")

MAX_LENGTH = 1 << 22  # of the texts that are worked on together


def windows(
    items: Iterable[Item],
    size: int,
    first_of: Callable[[Iterator[Item]], list[Item]] = list,  # what is taken of the next items
) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last one perhaps shorter.

    An error of `items` is raised after the items before it. ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"{size} at once: must be at least 1")
    errors: list[Exception] = []
    items = until_error(items, errors)
    while window := first_of(itertools.islice(items, size)):
        yield window
    if errors:
        raise errors[0]


def text_windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists as `windows`, of texts or of tuples of them; long texts end a list early."""
    return windows(items, size, _up_to_length)


def length_of(item: object) -> int:
    """Count the characters or bytes of a text, or of those in a tuple."""
    texts = item if isinstance(item, tuple) else (item,)
    return sum(len(text) for text in texts if isinstance(text, str | bytes))


def _up_to_length(items: Iterator[Item]) -> list[Item]:
    window: list[Item] = []
    length = 0
    for item in items:
        window.append(item)
        length += length_of(item)
        if length >= MAX_LENGTH:
            break
    return window
