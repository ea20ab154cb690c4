"""The text that `--help` prints: usage, an example, and the flags in groups."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from absl import flags

from rnnsearch_tf.scripts.shared.requirements import Requirement

_WIDTH = 80
_INDENT = 26  # of the descriptions

_COMMON = {
    "--flagfile=FILE": "read flags from a file, one per line",
    "--version": "print the version",
    "--help": "print this",
}


def help_text(
    name: str,
    description: str,  # one paragraph, without its first capital
    example: str,  # whose lines fit
    flag_values: flags.FlagValues,  # whose modules are the groups
    placeholders: Mapping[str, str],  # behind "=", by flag
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
    lines.append("Of every command:")
    for left, text in _COMMON.items():
        lines += _entry(left, text)
    if not {"FILES", "FOLDERS"}.isdisjoint(placeholders.values()):
        lines += ["", "FILES, FOLDERS: one, or several with commas."]
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
