"""Random choices that stay the same on every platform and version of Python."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Dice with a seed."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def pick(self, items: Sequence[T]) -> T:
        """Return one item, all equally likely."""
        return items[int(self._random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Return one item, chosen in proportion to its weight."""
        rest = self._random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            rest -= weight
            if rest < 0:
                return item
        return items[-1]

    def between(self, low: int, high: int) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self._random() * (high - low + 1))
