"""Symmetrisation: one set of links from those of two models of opposite directions."""

import typing
from typing import Literal

from rnnsearch_tf.alignment.links import Links
from rnnsearch_tf.config import check_choice

Symmetrization = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"
]
SYMMETRIZATIONS: tuple[Symmetrization, ...] = typing.get_args(Symmetrization)

# (target, source) steps, in the order in which Moses' symal tries them.
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


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

    The order decides what is taken: by target position and then source position, as in Moses'
    symal.
    """
    check_choice("symmetrize", method, SYMMETRIZATIONS)
    if method == "union":
        return forward | reverse
    if method == "intersection":
        return forward & reverse
    taken = _Taken(forward & reverse)
    taken.grow(forward | reverse)
    if method != "grow-diag":
        for links in (forward, reverse):
            taken.finish(links, both=method == "grow-diag-final-and")
    return taken.links


class _Taken:
    """Links taken so far, and the words that have one."""

    def __init__(self, links: Links):
        self.links = set(links)
        self._sources = {source for source, _ in links}
        self._targets = {target for _, target in links}

    def grow(self, union: Links) -> None:
        """Add neighbours out of the union until there are no more."""
        size = -1
        while size < len(self.links):
            size = len(self.links)
            for source, target in sorted(union, key=_target_first):
                if (source, target) in self.links:  # perhaps only since this pass began
                    for down, right in _NEIGHBOURS:
                        neighbour = source + right, target + down
                        if neighbour in union and self._free_words(neighbour):
                            self._take(neighbour)

    def finish(self, links: Links, both: bool) -> None:
        """Add the links that have a free word, or `both` their words free."""
        for link in sorted(links, key=_target_first):
            if self._free_words(link) >= (2 if both else 1):
                self._take(link)

    def _free_words(self, link: tuple[int, int]) -> int:
        return (link[0] not in self._sources) + (link[1] not in self._targets)

    def _take(self, link: tuple[int, int]) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])


def _target_first(link: tuple[int, int]) -> tuple[int, int]:
    return link[1], link[0]
