"""Flags of scripts that read sentence pairs: two files, or one with tabs."""

from rnnsearch_tf.data.parallel_corpus import ParallelFiles, TabSeparatedFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILES

PairFiles = ParallelFiles | TabSeparatedFiles


def define_pairs(command: Command, source: str, target: str, prefix: str = "") -> None:
    """Add --source, --target and --tsv, described, with a prefix where there are several kinds."""
    command.define(f"{prefix}source", INPUT_FILES, f"{source}, UTF-8, plain or .gz")
    command.define(f"{prefix}target", INPUT_FILES, f"{target}, line by line")
    define_tsv(command, f"--{prefix}source and --{prefix}target", prefix)


def define_tsv(command: Command, instead_of: str, prefix: str = "") -> None:
    """Add --tsv alone."""
    command.define(
        f"{prefix}tsv",
        INPUT_FILES,
        f"instead of {instead_of}: a file whose lines are a source, a tab and its target, plain or "
        ".gz; further columns are ignored",
    )


def find_pairs(command: Command, prefix: str = "", target: str = "target") -> PairFiles | None:
    """Return the files that the flags name, or None where they name none.

    Args:
        command: with the flags.
        prefix: of their names.
        target: name of the target's flag; of several values the first is taken.

    Raises:
        InputError: one side alone, both ways at once, or not as many files on both sides.
    """
    names = f"--{prefix}source and --{prefix}{target}"
    sources, targets, tsv = (
        command.flags[f"{prefix}{name}"].value for name in ("source", target, "tsv")
    )
    if tsv is not None and (sources, targets) != (None, None):
        raise InputError(f"--{prefix}tsv takes the place of {names}")
    if tsv is not None:
        return TabSeparatedFiles(tsv.split(","))
    if sources is None and targets is None:
        return None
    if sources is None or targets is None:
        raise InputError(f"{names} go together (see --help)")
    targets = targets if isinstance(targets, str) else targets[0]
    return ParallelFiles(sources.split(","), targets.split(","))


def needed_pairs(command: Command, prefix: str = "", target: str = "target") -> PairFiles:
    """Return the files that the flags name; arguments and errors as of `find_pairs`.

    Raises:
        InputError: none are named.
    """
    files = find_pairs(command, prefix, target)
    if files is None:
        raise InputError(
            f"--{prefix}source and --{prefix}{target} are needed, or --{prefix}tsv (see --help)"
        )
    return files
