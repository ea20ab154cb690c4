"""Windows of a stream: items that are worked on together."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size` items, the last one shorter, also of the items before an error."""
    window: list[Item] = []
    try:
        for item in items:
            window.append(item)
            if len(window) == size:
                yield window
                window = []
    except Exception:
        if window:
            yield window
        raise
    if window:
        yield window
