"""Ways from the soft alignments of one or two models to the links of a sentence pair."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.alignment.links import ARGMAX, THRESHOLD, LinkRule, Links, flipped
from rnnsearch_tf.alignment.symmetrization import SYMMETRIZATIONS, symmetrize

FORWARD, REVERSE, BOTH, AVERAGE = "forward", "reverse", "both", "average"
WEIGHTS = (FORWARD, REVERSE, BOTH, AVERAGE)
TRIED_THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 13))


@dataclasses.dataclass(frozen=True)
class LinkMethod:
    """A rule, the weights it reads, and what joins two directions.

    α [Ty, Tx] is the alignment of the source-to-target model, β [Tx, Ty] that of the
    target-to-source model over the same words. The rule is applied to two matrices, once for the
    target words and once for the source words:

        forward:  α and αᵀ, one model by its rows and by its columns
        reverse:  βᵀ and β
        both:     α and β
        average:  γ and γᵀ with γ_ij = √(α_ij β_ji), which is high where both models agree
                  (the product of two directions' posteriors: Liang, Taskar & Klein 2006)

    Attributes:
        rule: which weights are links.
        weights: "forward", "reverse", "both" or "average".
        symmetrization: joins the two sets of links; None, which "both" cannot have, takes the
            source words' links of "reverse", and the target words' of the others.
    """

    rule: LinkRule
    weights: str = FORWARD
    symmetrization: str | None = None

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights {self.weights!r}: choose one of {', '.join(WEIGHTS)}")
        if self.symmetrization not in (None, *SYMMETRIZATIONS):
            raise ValueError(
                f"symmetrize {self.symmetrization!r}: choose one of {', '.join(SYMMETRIZATIONS)}"
            )
        if self.weights == BOTH and self.symmetrization is None:
            raise ValueError("two directions need a symmetrisation")

    def __str__(self) -> str:
        """For tables: "both, threshold 0.3, union"."""
        return ", ".join(filter(None, (self.weights, str(self.rule), self.symmetrization)))

    def links(self, forward: np.ndarray, reverse: np.ndarray | None = None) -> Links:
        """The links of one sentence pair, (source, target).

        Args:
            forward: α, [Ty, Tx], with the row and column of `</s>`.
            reverse: β, [Tx, Ty], likewise; None where only α is read.
        """
        by_target, by_source = self._matrices(forward, reverse)
        if self.symmetrization is not None:
            return symmetrize(
                self.rule.links(by_target),
                flipped(self.rule.links(by_source)),
                self.symmetrization,
            )
        if self.weights == REVERSE:
            return flipped(self.rule.links(by_source))
        return self.rule.links(by_target)

    def _matrices(
        self, forward: np.ndarray, reverse: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What is read for target words, [Ty, Tx], and for source words, [Tx, Ty]."""
        if self.weights == FORWARD:
            return forward, forward.T
        if reverse is None:
            raise ValueError(f"{self.weights!r} needs the alignment of the other direction")
        if self.weights == REVERSE:
            return reverse.T, reverse
        if self.weights == BOTH:
            return forward, reverse
        average = np.sqrt(forward * reverse.T)
        return average, average.T


def all_methods(
    two_models: bool, thresholds: Sequence[float] = TRIED_THRESHOLDS
) -> list[LinkMethod]:
    """Every method that may differ from the others, to be tried on a validation set.

    A threshold finds the same links for target and source words of one matrix: there is nothing
    to symmetrise then.

    Args:
        two_models: whether there is an alignment of the other direction.
        thresholds: those to be tried.
    """
    rules = [LinkRule(ARGMAX), *(LinkRule(THRESHOLD, threshold) for threshold in thresholds)]
    return [
        LinkMethod(rule, weights, how)
        for weights in (WEIGHTS if two_models else (FORWARD,))
        for rule in rules
        for how in (None, *SYMMETRIZATIONS)
        if (how is not None if weights == BOTH else how is None or rule.name == ARGMAX)
    ]
