"""Examples that Hypothesis draws, the same for the same seed."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st


def for_each(
    strategy: st.SearchStrategy, count: int, act: Callable[[Any], None], number: int = 0
) -> None:
    """Call a function with `count` examples; of those that fail, the simplest is told.

    Args:
        strategy: the examples.
        count: how many.
        act: the function.
        number: the seed.
    """

    def run(example: Any) -> None:
        act(example)

    options = settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    seed(number)(options(given(strategy)(run)))()
