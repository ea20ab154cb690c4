"""The flags of scripts that select in-domain sentence pairs."""

from rnnsearch_tf.config import MosesLanguage
from rnnsearch_tf.limits import COUNT, SEED, Limits
from rnnsearch_tf.scripts.shared.command import Command


def define_selection(command: Command) -> None:
    """Add --drop_duplicates, --keep, the languages, --order and --seed."""
    command.define("drop_duplicates", bool, "of equal pairs, keep the first at most", False)
    command.define("keep", int, "number of pairs to keep", limits=COUNT, required=True)
    command.define("source_language", MosesLanguage, "Moses rules for the source", "en")
    command.define("target_language", MosesLanguage, "Moses rules for the target", "fr")
    command.define("order", int, "n of the n-gram models", 3, Limits(1, 10))
    command.define("seed", int, "of the sample of the pool", 1, SEED)
