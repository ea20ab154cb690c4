"""Other systems, of the flag --system, and translations in files."""

from collections.abc import Sequence
from pathlib import Path

from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILES, check_path


def named_systems(command: Command) -> dict[str, str]:
    """Return the values of --system, [NAME:]PATH, as paths by name; the default name is the path.

    A value that exists is a path, and so is one that begins with a Windows drive (C:). UsageError
    for two systems of one name, or a name of one letter.
    """
    systems: dict[str, str] = {}
    for value in command.flags.system or []:
        name, _, path = value.partition(":")
        if len(name) == 1 and path and _exists(path) and not _exists(value):
            raise UsageError(f"--system {value}: a name has at least two characters")
        if len(name) < 2 or not path or _exists(value):
            name = path = value
        if name in systems:
            raise UsageError(f"--system {value}: there are two systems named {name}")
        systems[name] = path
    return systems


def _exists(paths: str) -> bool:
    """Whether the first of several paths exists."""
    return Path(paths.split(",")[0]).exists()


def translation_lines(flag: str, paths: str, sources: Sequence[str]) -> list[str]:
    """Read files of a flag, a translation for each source; InputError if one is missing."""
    check_path(flag, INPUT_FILES, paths)
    lines = [line for path in paths.split(",") for line in read_lines(path)]
    if len(lines) != len(sources):
        raise InputError(
            f"{paths} has {len(lines):,} lines, the source has {len(sources):,}: they must "
            "belong together line by line"
        )
    return lines
