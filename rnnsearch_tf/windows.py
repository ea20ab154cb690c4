"""Windows of a stream: items that are worked on together."""

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rnnsearch_tf.errors import until_error

Item = TypeVar("Item")


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last one shorter, also of the items before an error.

    ValueError for a size below 1.
    """
    if size < 1:
        raise ValueError(f"{size} at once: must be at least 1")
    errors: list[Exception] = []
    items = until_error(items, errors)
    while window := list(itertools.islice(items, size)):
        yield window
    if errors:
        raise errors[0]
