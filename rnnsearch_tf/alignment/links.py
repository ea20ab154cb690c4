"""Soft alignments to links between words.

α_i is computed before word y_i is written, from the state that has read y_1 … y_{i−1} (paper,
section 3.1; in the order look_update_generate, y_1 … y_{i−2}). So row i of α tells where the
decoder looks in order to write y_i, and the links of y_i are read off row i. In neither order
does the row before or after do better: it about doubles the alignment error rate.
"""

import dataclasses

import numpy as np

Links = set[tuple[int, int]]  # (source, target) places of words, 0-based

ARGMAX, THRESHOLD = "argmax", "threshold"
RULES = (ARGMAX, THRESHOLD)


@dataclasses.dataclass(frozen=True)
class LinkRule:
    """Which weights of a soft alignment are links.

        argmax:     j-i where j = arg max_j α_ij over all of the source, `</s>` included; a word
                    that looks at `</s>` most has no link, any other has one.
        threshold:  j-i where α_ij >= threshold; a word may have none, or several.

    The row and the column of `</s>` give no links.

    Attributes:
        name: "argmax" or "threshold".
        threshold: for "threshold" alone, above 0, at most 1.

    Raises:
        ValueError: another name, a threshold out of range.
    """

    name: str = ARGMAX
    threshold: float = 0.3

    def __post_init__(self) -> None:
        if self.name not in RULES:
            raise ValueError(f"rule {self.name!r}: choose one of {', '.join(RULES)}")
        if not 0 < self.threshold <= 1:
            raise ValueError(f"threshold {self.threshold}: must be above 0 and at most 1")

    def __str__(self) -> str:
        """For tables: "argmax", "threshold 0.3"."""
        return self.name if self.name == ARGMAX else f"{self.name} {self.threshold:g}"

    def links(self, weights: np.ndarray) -> Links:
        """The links of one sentence pair.

        Args:
            weights: α, [Ty, Tx], with the row and column of `</s>`.
        """
        is_link = weights >= self.threshold
        if self.name == ARGMAX:
            is_link = np.arange(weights.shape[1]) == weights.argmax(axis=1)[:, np.newaxis]
        targets, sources = np.nonzero(is_link[:-1, :-1])
        return set(zip(sources.tolist(), targets.tolist(), strict=True))


def flipped(links: Links) -> Links:
    """Links with source and target exchanged."""
    return {(target, source) for source, target in links}
