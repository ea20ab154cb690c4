"""Windows of a stream: items that are worked on together."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rnnsearch_tf.errors import until_error

Item = TypeVar("Item")

MAX_LENGTH = 1 << 22  # of the texts that are worked on together


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last one shorter, also of the items before an error.

    ValueError for a size below 1.
    """
    return _windows(items, size, lambda item: 0)


def text_windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists as `windows`, of texts or of tuples of them; long texts end a list early."""
    return _windows(items, size, length_of)


def length_of(item: object) -> int:
    """Count the characters or bytes of a text, or of those in a tuple."""
    texts = item if isinstance(item, tuple) else (item,)
    return sum(len(text) for text in texts if isinstance(text, str | bytes))


def _windows(
    items: Iterable[Item], size: int, length: Callable[[Item], int]
) -> Iterator[list[Item]]:
    if size < 1:
        raise ValueError(f"{size} at once: must be at least 1")
    errors: list[Exception] = []
    items = until_error(items, errors)
    while window := list(_up_to(items, size, length)):
        yield window
    if errors:
        raise errors[0]


def _up_to(items: Iterator[Item], size: int, length: Callable[[Item], int]) -> Iterator[Item]:
    total = 0
    for item in itertools.islice(items, size):
        yield item
        total += length(item)
        if total >= MAX_LENGTH:
            return
