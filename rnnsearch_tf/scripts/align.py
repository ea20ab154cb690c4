"""rnnsearch-align: sentence pairs in, links between their words out."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.alignment.extraction import LinkMethod
from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.alignment.links import Links
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared.alignment_flags import define_alignment, link_method, word_aligner
from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.decoding_flags import define_model
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.scripts.shared.text_output import write_lines

if TYPE_CHECKING:
    from rnnsearch_tf.alignment.word_aligner import PairAlignment, WordAligner
    from rnnsearch_tf.results import Alignment

PHARAOH, JSON = "pharaoh", "json"
_PAIRS_AT_ONCE = 256
_DECIMALS = 6

COMMAND = Command(
    "rnnsearch-align",
    "link the words of given sentence pairs: N pairs in, N lines out, in order; a blank sentence "
    "has no links. A model reads the target by teacher forcing, and links are made of "
    "its attention. i-j is source word i and target word j, from 0: tokens of the model's "
    "tokeniser, which are Moses' or, of a model trained with --tokenizer=whitespace, the file's "
    "own words; </s> is not counted.",
)
define_model(COMMAND)
COMMAND.define("source", str, "sentences, UTF-8, plain or .gz")
COMMAND.define("target", str, "their translations, line by line")
COMMAND.define("output", str, "where the links go; - is standard output", "-")
COMMAND.define(
    "format",
    str,
    "pharaoh: i-j i-j …; json: an object a line with source_tokens, target_tokens (each with its "
    "</s>), alignment (the weights, a row for each target token), reverse_alignment (of the "
    "reverse model, a row for each source token) and links",
    PHARAOH,
)
define_figures(COMMAND)
define_alignment(COMMAND)


def main() -> int:
    """Align."""
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "target")
    if flags.format not in (PHARAOH, JSON):
        raise InputError(f"--format {flags.format!r}: choose {PHARAOH} or {JSON}")
    check_figures(COMMAND)
    method = link_method(COMMAND)
    with quiet_start():
        from rnnsearch_tf.progress import ProgressLine

        aligner = word_aligner(COMMAND)
    pairs = _drawn(_aligned(aligner, ParallelFiles([flags.source], [flags.target])))
    if flags.output != "-" or not sys.stdout.isatty():
        pairs = ProgressLine().counted(pairs, "sentence pairs")
    write_lines(flags.output, (_line(pair, method) for pair in pairs))
    return 0


def _aligned(aligner: "WordAligner", corpus: ParallelFiles) -> Iterator["PairAlignment"]:
    """The pairs in order; tells which are not read whole."""
    done = 0
    for text in _windows(corpus):
        pairs = aligner.align(text)
        _warn_of_cuts(pairs, aligner.lengths(text), done)
        done += len(pairs)
        yield from pairs


def _drawn(pairs: Iterable["PairAlignment"]) -> Iterator["PairAlignment"]:
    """The pairs; draws the forward model's alignment of each, where that is wanted."""
    for number, pair in enumerate(pairs, 1):
        found = pair.forward
        draw_figure(COMMAND, number, found.weights, found.source_tokens, found.target_tokens)
        yield pair


def _windows(corpus: ParallelFiles) -> Iterator[ParallelText]:
    """So few pairs at a time that their weights fit into memory."""
    for block in corpus.blocks():
        for start in range(0, len(block.source), _PAIRS_AT_ONCE):
            chosen = slice(start, start + _PAIRS_AT_ONCE)
            yield ParallelText(block.source[chosen], block.target[chosen])


def _line(pair: "PairAlignment", method: LinkMethod) -> str:
    links = method.links(*pair.weights)
    return pharaoh(links) if COMMAND.flags.format == PHARAOH else _json(pair, links)


def _json(pair: "PairAlignment", links: Links) -> str:
    found: dict[str, Any] = {
        "source_tokens": pair.forward.source_tokens,
        "target_tokens": pair.forward.target_tokens,
        "alignment": _rounded(pair.forward),
    }
    if pair.reverse is not None:
        found["reverse_alignment"] = _rounded(pair.reverse)
    found["links"] = sorted(links)
    return json.dumps(found, ensure_ascii=False)


def _rounded(alignment: "Alignment") -> list[list[float]]:
    return np.round(alignment.weights.astype(np.float64), _DECIMALS).tolist()


def _warn_of_cuts(
    pairs: Sequence["PairAlignment"], lengths: Sequence[tuple[int, int]], before: int
) -> None:
    """Tell which sentences of these many tokens were not read whole, after `before` pairs."""
    for number, (pair, words) in enumerate(zip(pairs, lengths, strict=True), before + 1):
        tokens = pair.forward.source_tokens, pair.forward.target_tokens
        for side, read, length in zip(("source", "target"), tokens, words, strict=True):
            if len(read) - 1 < length:
                print(
                    f"{COMMAND.name}: {side} line {number:,} has {length:,} tokens: "
                    f"only {len(read) - 1:,} are aligned",
                    file=sys.stderr,
                )


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
