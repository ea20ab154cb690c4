"""rnnsearch-lexicon: translations of unknown words, learnt from the model's own attention."""

import sys

from rnnsearch_tf.limits import COUNT
from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.outputs import OutputFile, check_output
from rnnsearch_tf.scripts.shared.decoding_flags import Weights

COMMAND = Command(
    "rnnsearch-lexicon",
    "align training pairs by a model's attention, and write the most frequent translation of each "
    "source word to lexicon.tsv in the model directory; with --replace_unknown the other commands "
    "replace [UNK] by such words.",
)
COMMAND.define("model_dir", str, "the trained model")
COMMAND.define("weights", Weights, "best is by the validation set", "best")
COMMAND.define("source", str, "source side of the training pairs, UTF-8, plain or .gz")
COMMAND.define("target", str, "their translations, line by line")
COMMAND.define("pairs", int, "number of pairs that are aligned, from the first on", 50_000, COUNT)


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
    path = ModelDirectory(flags.model_dir).lexicon_path
    check_output("model_dir", OutputFile, str(path))
    training = ParallelFiles(flags.source.split(","), flags.target.split(","))
    lexicon = lexicon_of(translator, training, flags.pairs)
    write_lexicon(path, lexicon)
    say(f"{path}: {len(lexicon):,} words")
    return 0


def run(arguments: list[str] | None = None) -> int:
    """Run the console script, with `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
