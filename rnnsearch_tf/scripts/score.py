"""rnnsearch-score: likelihood of given translations."""

import itertools
import math
from collections.abc import Iterable, Iterator

from rnnsearch_tf.results import Hypothesis
from rnnsearch_tf.scripts.shared.chosen_models import choose_models
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_model, define_reading
from rnnsearch_tf.scripts.shared.line_stream import LineStream
from rnnsearch_tf.scripts.shared.pair_flags import define_pairs, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.resumable_file import define_line_output, line_output
from rnnsearch_tf.scripts.shared.text_warnings import warn_of_cut_lines, warn_of_unknown_words
from rnnsearch_tf.scripts.shared.translation_lines import SEPARATOR, scored_words
from rnnsearch_tf.windows import windows

COMMAND = Command(
    "rnnsearch-score",
    "score given translations: log p(y|x) in nats, </s> counted, one line per pair; 0 if "
    "both are blank, -inf (and exit status 1) if it is not finite. The means and the "
    "perplexity go to standard error.",
    "rnnsearch-score --model_dir=model --source=test.en --target=test.fr",
)
define_model(COMMAND)
COMMAND.group("Data")
define_pairs(COMMAND, "sentences", "their translations")
define_line_output(COMMAND, "scores")
define_reading(COMMAND)
COMMAND.group("Output")
COMMAND.define(
    "word_scores", bool,
    "write WORD:LOG P for each word of the translation and </s>, separated by spaces, after the "
    "score and ' ||| '",
    False,
)  # fmt: skip


@COMMAND.entry
def run() -> int:
    """Score."""
    files = needed_pairs(COMMAND)
    models = choose_models(COMMAND)
    output = line_output(COMMAND, models.digests)
    with quiet_start():
        from rnnsearch_tf.evaluation.likelihood import Nll
        from rnnsearch_tf.progress import say

        translator = models.open(aligns=False)
    text = files.read()
    warn_of_unknown_words(COMMAND, translator, *text)
    warn_of_cut_lines(COMMAND, translator, *text)
    scores = [float(line.partition(SEPARATOR.encode())[0]) for line in output.kept_lines()]
    pairs = output.rest_of(zip(text.source, text.target, strict=True))
    left = len(text.source) - len(scores)
    scored = output.counted(translator.score_words_stream(pairs), "sentence pair", left)
    output.write(_lines(output, scored, scores))
    # The score of two blank lines, 0, is not a probability of the model.
    pairs_scored = [pair for pair in zip(*text, strict=True) if any(map(str.strip, pair))]
    if not pairs_scored:
        return int(output.has_failed)
    max_length = translator.config.decoding.max_length
    targets = windows((target for _, target in pairs_scored), 1_000)
    lengths = itertools.chain.from_iterable(map(translator.target_lengths, targets))
    tokens = sum(min(length, max_length) + 1 for length in lengths)
    nll = Nll(-sum(scores) / tokens, -sum(scores) / len(pairs_scored))
    blank = len(scores) - len(pairs_scored)
    without = f" ({blank:,} blank left out)" if blank else ""
    total = "1 pair" if len(pairs_scored) == 1 else f"{len(pairs_scored):,} pairs"
    say(
        f"{total}{without}: {nll.per_token:.4f} nats per token, "
        f"perplexity {nll.perplexity:.2f}, {nll.per_sentence:.2f} nats per sentence"
    )
    return int(output.has_failed)


def _lines(output: LineStream, stream: Iterable[Hypothesis], scores: list[float]) -> Iterator[str]:
    for number, scored in enumerate(stream, output.done + 1):
        scores.append(scored.score)
        output.check(number, math.isfinite(scored.score), "no finite score")
        words = f"{SEPARATOR}{scored_words(scored)}" if COMMAND.flags.word_scores else ""
        yield f"{scored.score:.4f}{words}"
