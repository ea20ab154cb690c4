"""Beam search with lists, a hypothesis at a time: the oracle of the search."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

import numpy as np

EOS = 1
Found = tuple[float, float, tuple[int, ...]]  # score, log p, words


class Model(Protocol):
    """What is searched."""

    def log_softmax(self, sentence: int, prefix: Sequence[int]) -> np.ndarray:
        """Return log p(next word | prefix) of every word."""


def naive_beam_search(
    model: Model,
    sentence: int,
    *,
    k: int,
    longest: int,
    shortest: int = 0,
    banned: Collection[int] = (),
    alpha: float = 0.0,
) -> list[Found]:
    """Return the hypotheses that the beam finishes, best first."""
    finished: list[Any] = []
    live: list[Any] = [(0.0, ())]
    while live:
        options = []
        for log_prob, words in live:
            p = model.log_softmax(sentence, words)
            for word in range(len(p)):
                is_last = len(words) + 1 == longest
                if word == EOS:
                    allowed = is_last or len(words) >= shortest
                else:
                    allowed = not is_last and word not in banned
                if allowed:
                    options.append((log_prob + p[word], (*words, word)))
        options = sorted(options, reverse=True)[: k - len(finished)]
        finished += [option for option in options if option[1][-1] == EOS]
        live = [option for option in options if option[1][-1] != EOS]
    scored = [(log_prob / len(words) ** alpha, log_prob, words) for log_prob, words in finished]
    return sorted(scored, key=lambda item: -item[0])
