"""Flags that have to be given, that go together, or that take each other's place."""

import dataclasses
from collections.abc import Iterable, Mapping, Set

from rnnsearch_tf.errors import UsageError


@dataclasses.dataclass(frozen=True)
class Requirement:
    """Sets of flags; at most one of them may be given, and only as a whole."""

    alternatives: tuple[tuple[str, ...], ...]
    is_required: bool = True  # whether one of the sets has to be given

    def __str__(self) -> str:
        """Return all sets: "--source and --target, or --tsv"."""
        return ", or ".join(map(_joined, self.alternatives))

    def usage(self, placeholders: Mapping[str, str]) -> str:
        """Return the part of the usage line: "(--source=FILES --target=FILES | --tsv=FILES)"."""
        sets = [
            " ".join(f"--{name}={placeholders[name]}" for name in names)
            for names in self.alternatives
        ]
        return f"({' | '.join(sets)})" if len(sets) > 1 else sets[0]

    def remark(self, name: str) -> str:
        """Return what the description of a flag begins with."""
        first, *others = self.alternatives
        if name not in first:
            return f"instead of {_joined(first)}: "
        return ", or ".join(["required", *map(_joined, others)]) + ": " if self.is_required else ""

    def is_missing(self, given: Set[str]) -> bool:
        """Whether none of the sets is given, and one is required.

        UsageError if a part of a set is given, or more than one set.
        """
        chosen = [names for names in self.alternatives if given & set(names)]
        if len(chosen) > 1:
            raise UsageError(f"{_joined(chosen[1])} cannot be combined with {_joined(chosen[0])}")
        if chosen and not given >= set(chosen[0]):
            raise UsageError(f"{_joined(chosen[0])} go together (see --help)")
        return self.is_required and not chosen


def _joined(names: Iterable[str]) -> str:
    return " and ".join(f"--{name}" for name in names)
