"""rnnsearch-align: sentence pairs in, links between their words out."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from rnnsearch_tf.alignment.extraction import LinkMethod
from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.alignment.links import Links
from rnnsearch_tf.data.parallel_corpus import each_pair
from rnnsearch_tf.scripts.shared.alignment_flags import (
    choose_aligned_models,
    define_alignment,
    link_method,
)
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_model, define_reading
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.scripts.shared.finite_values import are_finite, json_weights
from rnnsearch_tf.scripts.shared.line_stream import LineStream
from rnnsearch_tf.scripts.shared.pair_flags import define_pairs, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.resumable_file import define_line_output, line_output
from rnnsearch_tf.scripts.shared.text_warnings import with_warnings

if TYPE_CHECKING:
    from rnnsearch_tf.alignment.word_aligner import PairAlignment

Format = Literal["pharaoh", "json"]

COMMAND = Command(
    "rnnsearch-align",
    "link the words of given sentence pairs: N pairs in, N lines out, in order. A pair with a "
    "blank side has no links; a pair with weights that are not finite has none either, with a "
    "warning and exit status 1. The links come from the model's attention, with teacher forcing, "
    "or from the aligner that rnnsearch-aligner has written into its directory. i-j is source word "
    "i and target word j, counted from 0 without </s>. Words are Moses tokens, or "
    "whitespace-separated for a model trained with --tokenizer=whitespace or sentencepiece; with "
    "sentencepiece, each piece of a script without spaces is a word.",
    "rnnsearch-align --model_dir=model --source=test.en --target=test.fr",
)
FLAGS = COMMAND.flags
define_model(COMMAND)
COMMAND.group("Data")
define_pairs(COMMAND, "sentences", "their translations")
define_line_output(COMMAND, "links")
COMMAND.group("Output")
COMMAND.define(
    "format",
    Format,
    "pharaoh: i-j i-j …; json: an object per line with source_tokens, target_tokens (each with its "
    "</s>), unknown_source, unknown_target (positions of unknown tokens), alignment "
    "(the weights, a row for each target token), reverse_alignment (of the other direction, if "
    "there is one, a row for each source token) and links",
    "pharaoh",
)
define_figures(COMMAND)
define_alignment(COMMAND)
define_reading(COMMAND)


@COMMAND.entry
def run() -> int:
    """Align."""
    check_figures(COMMAND)
    files = needed_pairs(COMMAND)
    method = link_method(COMMAND)
    models = choose_aligned_models(COMMAND)
    output = line_output(COMMAND, models.digests)
    with quiet_start():
        aligner = models.open()
    text = with_warnings(COMMAND, aligner.forward, output.rest_of(each_pair(files)), output.done)
    pairs = output.counted(aligner.align_stream(text), "sentence pair")
    output.write(_output(pairs, method, output, aligner.forward.config.languages))
    return int(output.has_failed)


def _output(
    pairs: Iterable["PairAlignment"],
    method: LinkMethod,
    output: LineStream,
    languages: tuple[str, str],
) -> Iterator[str]:
    """Yield the line of each pair, and draw the forward model's alignment if --figures is given."""
    for number, pair in enumerate(pairs, output.done + 1):
        is_finite = all(are_finite(w) for w in pair.weights if w is not None)
        output.check(number, is_finite, "no finite alignment")
        draw_figure(COMMAND, number, pair.forward, languages)
        links = method.links(*pair.weights) if is_finite else set()
        yield pharaoh(links) if FLAGS.format == "pharaoh" else _json(pair, links)


def _json(pair: "PairAlignment", links: Links) -> str:
    values: dict[str, Any] = {
        "source_tokens": pair.forward.source_tokens,
        "target_tokens": pair.forward.target_tokens,
        "unknown_source": pair.forward.unknown_source,
        "unknown_target": pair.forward.unknown_target,
        "alignment": json_weights(pair.forward.weights),
    }
    if pair.reverse is not None:
        values["reverse_alignment"] = json_weights(pair.reverse.weights)
    values["links"] = sorted(links)
    return json.dumps(values, ensure_ascii=False)
