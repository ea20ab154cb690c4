"""Flags of scripts that read sentence pairs: two files, or one with tabs; and that select some."""

from rnnsearch_tf.config import MosesLanguage
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, TabSeparatedFiles
from rnnsearch_tf.limits import COUNT, SEED, Limits
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILES

PairFiles = ParallelFiles | TabSeparatedFiles


def define_pairs(
    command: Command,
    source: str,
    target: str,
    prefix: str = "",
    instead: tuple[str, ...] = (),  # other flags that take the place of these
    required: bool = True,
) -> None:
    """Add --source, --target and --tsv, described, with a prefix where there are several kinds."""
    sides = f"{prefix}source", f"{prefix}target"
    others = ((name,) for name in (f"{prefix}tsv", *instead))
    command.one_of(sides, *others, required=required)
    command.define(f"{prefix}source", INPUT_FILES, f"{source}, UTF-8, plain or .gz")
    command.define(f"{prefix}target", INPUT_FILES, f"{target}, line by line")
    define_tsv(command, prefix)


def define_tsv(command: Command, prefix: str = "") -> None:
    """Add --tsv alone."""
    command.define(
        f"{prefix}tsv",
        INPUT_FILES,
        "lines of a source, a tab and its target, plain or .gz; further columns are ignored. Also "
        "lines of source ||| target, the input of fast_align",
    )


def find_pairs(command: Command, prefix: str = "", target: str = "target") -> PairFiles | None:
    """Return the files that the flags name, or None if they name none.

    `target` is the name of the target's flag; of several values the first is taken. InputError
    if there are not as many files on both sides.
    """
    sources, targets, tsv = (
        command.flags[f"{prefix}{name}"].value for name in ("source", target, "tsv")
    )
    if tsv is not None:
        return TabSeparatedFiles(tsv.split(","))
    if sources is None:
        return None
    assert targets is not None  # `Command.one_of` has both given
    targets = targets if isinstance(targets, str) else targets[0]
    return ParallelFiles(sources.split(","), targets.split(","))


def needed_pairs(command: Command, prefix: str = "", target: str = "target") -> PairFiles:
    """Return the files of required flags; arguments and errors as in `find_pairs`."""
    files = find_pairs(command, prefix, target)
    assert files is not None
    return files


def define_selection(command: Command) -> None:
    """Add --drop_duplicates, --keep, the languages, --order and --seed."""
    command.define("drop_duplicates", bool, "ignore all but the first of equal pairs", False)
    command.define("keep", int, "number of pairs to keep", limits=COUNT, required=True)
    command.define("source_language", MosesLanguage, "Moses rules for the source", "en")
    command.define("target_language", MosesLanguage, "Moses rules for the target", "fr")
    command.define("order", int, "n of the n-gram models", 3, Limits(1, 10))
    command.define("seed", int, "seed of the sample of the pool", 1, SEED)
