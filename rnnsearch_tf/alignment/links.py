"""Links between words from soft alignments.

α_i is computed before word y_i is written, from the state that has read y_1 … y_{i−1} (paper,
section 3.1; in the order look_update_generate, y_1 … y_{i−2}). So row i of α shows where the
decoder attends in order to write y_i, and the links of y_i are taken from row i. The rows before
and after it give worse links in both orders.
"""

import dataclasses
from collections.abc import Collection
from typing import Literal, get_args

import numpy as np

from rnnsearch_tf.config import check_choice
from rnnsearch_tf.limits import Limits

Links = set[tuple[int, int]]  # (source, target) positions of words, 0-based

RuleName = Literal["argmax", "threshold"]
RULES: tuple[RuleName, ...] = get_args(RuleName)
THRESHOLD = Limits(0, 1, without_low=True)
DEFAULT_THRESHOLD = 0.3


@dataclasses.dataclass(frozen=True)
class LinkRule:
    """Rule that selects links from the weights of a soft alignment.

        argmax:     j-i where j = arg max_j α_ij over all of the source, `</s>` included; a word
                    that attends most to `</s>`, or to nothing, has no link, any other has one.
        threshold:  j-i where α_ij >= threshold; a word may have none, or several.

    The row and the column of `</s>` give no links, nor do weights that are NaN.
    """

    name: RuleName = "argmax"
    threshold: float | None = None  # of "threshold" alone, which has `DEFAULT_THRESHOLD`

    def __post_init__(self) -> None:
        check_choice("rule", self.name, RULES)
        if self.threshold is not None:
            THRESHOLD.check("threshold", self.threshold)
            if self.name == "argmax":
                raise ValueError(f"threshold {self.threshold:g}: the rule argmax has none")
        elif self.name == "threshold":
            object.__setattr__(self, "threshold", DEFAULT_THRESHOLD)

    def __str__(self) -> str:
        """Return the rule as tables show it: "argmax", "threshold 0.3"."""
        return self.name if self.threshold is None else f"{self.name} {self.threshold:g}"

    def links(self, weights: np.ndarray) -> Links:
        """Return the links of a sentence pair with weights α, [Ty, Tx], `</s>` included."""
        if self.threshold is not None:
            is_link = weights >= self.threshold
        else:
            is_link = np.arange(weights.shape[1]) == weights.argmax(axis=1)[:, np.newaxis]
            is_link &= weights > 0  # NaN is not
        targets, sources = np.nonzero(is_link[:-1, :-1])
        return set(zip(sources.tolist(), targets.tolist(), strict=True))


def flipped(links: Collection[tuple[int, int]]) -> Links:
    """Return the links with source and target exchanged."""
    return {(target, source) for source, target in links}
