"""rnnsearch-evaluate: BLEU of a model on a test set."""

import json
import sys

from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.scripts.alignment_evaluation import (
    define_alignment_evaluation,
    evaluate_alignments,
    wants_alignments,
)
from rnnsearch_tf.scripts.command import Command, quiet_start
from rnnsearch_tf.scripts.decoding_flags import decoding_settings, define_decoding, model_dirs

COMMAND = Command(
    "rnnsearch-evaluate",
    "translate a test set and score it: sacreBLEU (cased, detokenised) of all sentences and by "
    "source length, and the paper's BLEU (cased Moses tokens) beside it. With --alignments, score "
    "its links between words against gold links instead.",
)
COMMAND.define("source", str, "test sentences, UTF-8, plain or .gz")
COMMAND.define("reference", str, "their reference translations")
COMMAND.define("translations", str, "a file to keep the translations in")
COMMAND.define("json", str, "a file to write the figures to; - is standard output, no table then")
define_decoding(COMMAND)
define_alignment_evaluation(COMMAND)


def main() -> int:
    """Evaluate."""
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "reference")
    if wants_alignments(COMMAND):
        evaluate_alignments(COMMAND)
        return 0
    with quiet_start():
        from rnnsearch_tf.corpus.parallel import read_parallel
        from rnnsearch_tf.evaluation import evaluate_translations
        from rnnsearch_tf.translator import Translator

        translator = Translator.load(model_dirs(COMMAND), decoding_settings(COMMAND), flags.weights)
    text = read_parallel(flags.source, flags.reference)
    translations = [found.text for found in translator.translate(text.source)]
    scores = evaluate_translations(
        translations,
        text.target,
        translator.source_lengths(text.source),
        translator.target_tokenizer,
    )
    if flags.translations:
        content = "".join(line + "\n" for line in translations)
        write_atomically(flags.translations, content.encode())
    figures = json.dumps(scores.as_dict(), indent=2) + "\n"
    if flags.json and flags.json != "-":
        write_atomically(flags.json, figures.encode())
    print(figures if flags.json == "-" else scores.table(), end="")
    return 0


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
