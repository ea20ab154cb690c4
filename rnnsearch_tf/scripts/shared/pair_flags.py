"""Flags of scripts that read sentence pairs: two files, or one with tabs."""

from rnnsearch_tf.data.parallel_corpus import ParallelFiles, TabSeparatedFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import InputFiles

PairFiles = ParallelFiles | TabSeparatedFiles


def define_pairs(command: Command, source: str, target: str, prefix: str = "") -> None:
    """Add --source, --target and --tsv, with a prefix where there are several kinds of pairs.

    Args:
        command: gets the flags.
        source: what the source's file has.
        target: what the target's file has.
        prefix: of the names.
    """
    command.define(f"{prefix}source", InputFiles, f"{source}, UTF-8, plain or .gz")
    command.define(f"{prefix}target", InputFiles, f"{target}, line by line")
    define_tsv(command, f"--{prefix}source and --{prefix}target", prefix)


def define_tsv(command: Command, instead_of: str, prefix: str = "") -> None:
    """Add --tsv alone."""
    command.define(
        f"{prefix}tsv",
        InputFiles,
        f"instead of {instead_of}: a file whose lines are a source, a tab and its target, plain or "
        ".gz; further columns are ignored",
    )


def find_pairs(command: Command, prefix: str = "", target_name: str = "target") -> PairFiles | None:
    """Return the files that the flags name, or None where they name none.

    Args:
        command: with the flags.
        prefix: of their names.
        target_name: name of the target's flag behind the prefix; of several values the first is
            taken.

    Raises:
        InputError: one side alone, both ways at once, or not as many files on both sides.
    """
    names = f"{prefix}source", f"{prefix}{target_name}"
    source, target = (command.flags[name].value for name in names)
    tsv = command.flags[f"{prefix}tsv"].value
    if tsv is not None and (source is not None or target is not None):
        raise InputError(f"--{prefix}tsv takes the place of --{names[0]} and --{names[1]}")
    if (source is None) != (target is None):
        raise InputError(f"--{names[0]} and --{names[1]} go together (see --help)")
    if tsv is not None:
        return TabSeparatedFiles(tsv.split(","))
    if source is None:
        return None
    return ParallelFiles(
        source.split(","), (target if isinstance(target, str) else target[0]).split(",")
    )


def needed_pairs(command: Command, prefix: str = "", target_name: str = "target") -> PairFiles:
    """Return the files that the flags name; arguments as of `find_pairs`.

    Raises:
        InputError: none are named; and as `find_pairs`.
    """
    files = find_pairs(command, prefix, target_name)
    if files is None:
        raise InputError(
            f"--{prefix}source and --{prefix}{target_name} are needed, or --{prefix}tsv "
            "(see --help)"
        )
    return files
