"""rnnsearch-lexicon: what to write for unknown words, learnt from the model's own attention."""

import sys

from rnnsearch_tf.scripts.shared.command import Command, quiet_start

COMMAND = Command(
    "rnnsearch-lexicon",
    "align training pairs by a model's attention, and keep the word that each source word is "
    "mostly translated by as lexicon.tsv in the model directory; --replace_unknown of the other "
    "commands puts such words in the place of [UNK].",
)
COMMAND.define("model_dir", str, "the trained model")
COMMAND.define("weights", str, "which weights: best (on the validation set) or last", "best")
COMMAND.define("source", str, "source side of the training pairs, UTF-8, plain or .gz")
COMMAND.define("target", str, "target side, line by line the translations")
COMMAND.define("pairs", int, "how many of them, from the first on", 50_000)


def main() -> int:
    """Align, count and write."""
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "target")
    with quiet_start():
        from rnnsearch_tf.alignment.lexicon import lexicon_of, write_lexicon
        from rnnsearch_tf.data.parallel_corpus import ParallelFiles
        from rnnsearch_tf.inference.translator import Translator
        from rnnsearch_tf.models.model_directory import ModelDirectory
        from rnnsearch_tf.progress import say

        translator = Translator.load(flags.model_dir, weights=flags.weights)
    training = ParallelFiles(flags.source.split(","), flags.target.split(","))
    lexicon = lexicon_of(translator, training, flags.pairs)
    path = ModelDirectory(flags.model_dir).lexicon_path
    write_lexicon(path, lexicon)
    say(f"{path}: {len(lexicon):,} words")
    return 0


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
