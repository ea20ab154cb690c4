"""Symmetrization: one set of links from those of two models of opposite directions."""

from typing import Literal, get_args

from rnnsearch_tf.alignment.links import Links
from rnnsearch_tf.config import check_choice

Symmetrization = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)

# (target, source) steps, in the order in which Moses' symal tries them.
_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(forward: Links, reverse: Links, method: Symmetrization) -> Links:
    """Join (source, target) links of two directions (Och & Ney 2003; Koehn et al. 2005).

        intersection:         links of both directions.
        union:                links of either.
        grow-diag:            the intersection; then links of the union that touch one already
                              taken, at a side or a corner, and have a word that no link taken has,
                              repeated until there are no more.
        grow-diag-final:      then also links of the forward set, and after them of the reverse
                              set, that have a word which no link taken has.
        grow-diag-final-and:  the same, but both their words must have none.

    Links are tried by target position and then source position, as in Moses' symal; the result
    depends on this order. ValueError for another method.
    """
    check_choice("method", method, SYMMETRIZATIONS)
    if method == "union":
        return forward | reverse
    if method == "intersection":
        return forward & reverse
    taken = forward & reverse
    # The words that have a link: (0, source) and (1, target).
    linked = {word for link in taken for word in enumerate(link)}

    def take(link: tuple[int, int], free_words: int) -> None:
        """Take a link if at least `free_words` of its two words have no link yet."""
        if sum(word not in linked for word in enumerate(link)) >= free_words:
            taken.add(link)
            linked.update(enumerate(link))

    union = forward | reverse
    size = -1
    while size < len(taken):
        size = len(taken)
        for source, target in sorted(union, key=_target_first):
            if (source, target) in taken:  # perhaps only since this pass began
                for down, right in _NEIGHBORS:
                    if (neighbor := (source + right, target + down)) in union:
                        take(neighbor, 1)
    if method != "grow-diag":
        for links in (forward, reverse):
            for link in sorted(links, key=_target_first):
                take(link, 2 if method == "grow-diag-final-and" else 1)
    return taken


def _target_first(link: tuple[int, int]) -> tuple[int, int]:
    return link[1], link[0]
