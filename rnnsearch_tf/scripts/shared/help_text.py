"""Flags that are required or need each other; and the text of `--help`, with flags in groups."""

import dataclasses
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from absl import flags

from rnnsearch_tf.errors import UsageError

_WIDTH = 80
_INDENT = 26  # of the descriptions

_COMMON = {
    "--flagfile=FILE": "read flags from a file, one per line",
    "--version": "print the version",
    "--help": "print this help",
}


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
        """Return the beginning of a flag's description."""
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
            raise UsageError(f"{_joined(chosen[0])} must be given together (see --help)")
        return self.is_required and not chosen


def _joined(names: Iterable[str]) -> str:
    return " and ".join(f"--{name}" for name in names)


def help_text(
    name: str,
    description: str,  # one paragraph, without its first capital
    example: str,  # whose lines fit
    flag_values: flags.FlagValues,  # whose modules are the groups
    placeholders: Mapping[str, str],  # after "=", by flag
    requirements: Sequence[Requirement],
    shown_defaults: Mapping[str, Any],  # what flags without a default stand for, by flag
) -> str:
    """Return the help of a command, at most 80 columns wide."""
    needed = [one.usage(placeholders) for one in requirements if one.is_required]
    remarks = {flag: one.remark(flag) for one in requirements for flag in sum(one.alternatives, ())}
    usage = _wrapped(" ".join(["usage:", name, *needed, "[--FLAG=VALUE …]"]), " " * 4)
    lines = [*usage, "", *_wrapped(description[0].upper() + description[1:]), ""]
    if example:
        lines += ["Example:", *(f"  {line}" for line in example.splitlines()), ""]
    for group, members in flag_values.flags_by_module_dict().items():
        lines.append(f"{group}:")
        for flag in members:
            name = flag.name
            left = f"--[no]{name}" if flag.boolean else f"--{name}={placeholders[name]}"
            default = shown_defaults.get(name, flag.default)
            is_shown = default is not None and default is not False and default != ""
            shown = f" (default: {default})" if is_shown else ""
            lines += _entry(left, f"{remarks.get(name, '')}{flag.help}{shown}")
        lines.append("")
    lines.append("All commands:")
    for left, text in _COMMON.items():
        lines += _entry(left, text)
    if not {"FILES", "FOLDERS"}.isdisjoint(placeholders.values()):
        lines += ["", "FILES, FOLDERS: one, or several separated by commas."]
    return "\n".join(lines)


def _entry(left: str, text: str) -> Iterator[str]:
    left = f"  {left}"
    indent = " " * _INDENT
    if len(left) >= _INDENT - 1:
        yield left
    else:
        indent = left.ljust(_INDENT)
    yield from _wrapped(text, " " * _INDENT, indent)


def _wrapped(text: str, indent: str = "", first_indent: str = "") -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=first_indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
