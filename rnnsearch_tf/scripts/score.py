"""rnnsearch-score: likelihood of given translations."""

import math
import sys

from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.decoding_flags import define_model, open_translator
from rnnsearch_tf.scripts.shared.finite_values import FiniteCheck
from rnnsearch_tf.scripts.shared.text_output import write_lines

COMMAND = Command(
    "rnnsearch-score",
    "score given translations: log p(y|x) in nats, </s> counted, a line for each pair; 0 where "
    "both are blank, -inf (and exit status 1) where it is not finite. The means, and the "
    "perplexity, go to standard error.",
)
define_model(COMMAND)
COMMAND.define("source", str, "sentences, UTF-8, plain or .gz")
COMMAND.define("target", str, "their translations, line by line")
COMMAND.define("output", str, "file for the scores; - is standard output", "-")


def main() -> int:
    """Score."""
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "target")
    with quiet_start():
        from rnnsearch_tf.data.parallel_corpus import read_parallel
        from rnnsearch_tf.evaluation.likelihood import Nll
        from rnnsearch_tf.progress import say

        translator = open_translator(COMMAND)
    text = read_parallel(flags.source, flags.target)
    scores = translator.score(text.source, text.target)
    write_lines(flags.output, (f"{score:.4f}" for score in scores))
    finite = FiniteCheck(COMMAND.name, "no finite score")
    for number, score in enumerate(scores, 1):
        finite.check(number, math.isfinite(score))
    max_length = translator.config.decoding.max_length
    tokens = sum(min(length, max_length) + 1 for length in translator.target_lengths(text.target))
    nll = Nll(-sum(scores) / tokens, -sum(scores) / len(scores))
    say(
        f"{len(scores):,} pairs: {nll.per_token:.4f} nats per token, "
        f"perplexity {nll.perplexity:.2f}, {nll.per_sentence:.2f} nats per sentence"
    )
    return finite.status


def run(arguments: list[str] | None = None) -> int:
    """Run the console script, with `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
