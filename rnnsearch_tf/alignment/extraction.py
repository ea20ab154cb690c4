"""Extraction of a sentence pair's links from the soft alignments of one or two models."""

import dataclasses
from typing import Literal, get_args

import numpy as np

from rnnsearch_tf.alignment.links import LinkRule, Links, flipped
from rnnsearch_tf.alignment.symmetrization import SYMMETRIZATIONS, Symmetrization, symmetrize
from rnnsearch_tf.config import check_choice

LinkWeights = Literal["forward", "reverse", "both", "average"]
WEIGHTS: tuple[LinkWeights, ...] = get_args(LinkWeights)
TRIED_THRESHOLDS = tuple(round(0.05 * i, 2) for i in range(1, 13))


@dataclasses.dataclass(frozen=True)
class LinkMethod:
    """Rule for links, the weights it is applied to, and the symmetrization of two directions.

    α [Ty, Tx] is the alignment of the source-to-target model, β [Tx, Ty] that of the
    target-to-source model over the same words. The rule is applied to two matrices, once for the
    target words and once for the source words:

        forward:  α and αᵀ, one model by its rows and by its columns
        reverse:  βᵀ and β
        both:     α and β
        average:  γ and γᵀ with γ_ij = √(α_ij β_ji), high where both models agree (compare the
                  product of posteriors in Liang, Taskar & Klein 2006). γ is small in the row and
                  the column of `</s>`, so argmax leaves hardly any word without a link
    """

    rule: LinkRule
    weights: LinkWeights = "forward"
    # None (not for "both"): only the links of source words for "reverse", else of target words.
    symmetrization: Symmetrization | None = None

    def __post_init__(self) -> None:
        check_choice("weights", self.weights, WEIGHTS)
        if self.symmetrization is not None:
            check_choice("symmetrize", self.symmetrization, SYMMETRIZATIONS)
        if self.weights == "both" and self.symmetrization is None:
            raise ValueError("two directions need a symmetrization")

    def __str__(self) -> str:
        """Return the method as tables show it: "both, threshold 0.3, union"."""
        return ", ".join(filter(None, (self.weights, str(self.rule), self.symmetrization)))

    def links(self, forward: np.ndarray, reverse: np.ndarray | None = None) -> Links:
        """Return the links of a sentence pair by α, [Ty, Tx], and β, [Tx, Ty], `</s>` included."""
        by_target, by_source = self._matrices(forward, reverse)
        if self.symmetrization is not None:
            by_words = self.rule.links(by_target), flipped(self.rule.links(by_source))
            return symmetrize(*by_words, self.symmetrization)
        if self.weights == "reverse":
            return flipped(self.rule.links(by_source))
        return self.rule.links(by_target)

    def _matrices(
        self, forward: np.ndarray, reverse: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights for target words, [Ty, Tx], and for source words, [Tx, Ty]."""
        if self.weights == "forward":
            return forward, forward.T
        if reverse is None:
            raise ValueError(f"{self.weights!r} needs the alignment of the other direction")
        if self.weights == "reverse":
            return reverse.T, reverse
        if self.weights == "both":
            return forward, reverse
        average = np.sqrt(forward * reverse.T)
        return average, average.T


ALIGNER_LINKS = LinkMethod(LinkRule("threshold", 0.35), "average")  # of `HmmAligner`


def all_methods(two_models: bool) -> list[LinkMethod]:
    """Return every method that may differ from the others, to be tried on a validation set.

    A threshold selects the same links for target and source words of one matrix: there is nothing
    to symmetrize then.
    """
    rules = [
        LinkRule("argmax"),
        *(LinkRule("threshold", threshold) for threshold in TRIED_THRESHOLDS),
    ]
    return [
        LinkMethod(rule, weights, method)
        for weights in (WEIGHTS if two_models else WEIGHTS[:1])
        for rule in rules
        for method in (None, *SYMMETRIZATIONS)
        if (method is not None if weights == "both" else method is None or rule.name == "argmax")
    ]
