"""rnnsearch-translate: text in, translations out, line by line."""

import math
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, open_translator
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.scripts.shared.finite_values import FiniteCheck
from rnnsearch_tf.scripts.shared.text_input import decoded, input_lines
from rnnsearch_tf.scripts.shared.text_output import write_lines

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator
    from rnnsearch_tf.results import Translation

COMMAND = Command(
    "rnnsearch-translate",
    "translate text, one sentence per line: N lines in, N lines out, in order; a blank line gives "
    "a blank line, and so does (with a warning, and exit status 1) a line without a translation of "
    "finite score. At a terminal, each line is translated as it is typed. The search options below "
    "override the model's own.",
)
COMMAND.define("input", str, "text to translate, UTF-8, plain or .gz; - is standard input", "-")
COMMAND.define("output", str, "file for the translations; - is standard output", "-")
COMMAND.define("score", bool, "write log p(y|x), nats, after the translation and ' ||| '", False)
COMMAND.define(
    "n_best",
    int,
    "different translations of each line, best first; above 1, each is a line 'NUMBER ||| TEXT "
    "||| LOG P ||| LOG P / TOKENS^LENGTH_PENALTY', lines numbered from 0; there may be fewer",
    1,
)
COMMAND.define(
    "alignment",
    str,
    "pharaoh: after the translation and ' ||| ', links i-j from source token i to target token j, "
    "from 0: each target token's greatest weight; none where that is on </s>. json: a JSON object "
    "per line, with tokens, scores and weights",
)
define_figures(COMMAND)
define_decoding(COMMAND)

_FORMATS = (None, "pharaoh", "json")


def main() -> int:
    """Translate."""
    flags = COMMAND.flags
    COMMAND.require("model_dir")
    if flags.alignment not in _FORMATS:
        raise InputError(f"--alignment {flags.alignment}: choose pharaoh or json")
    check_figures(COMMAND)
    if flags.alignment == "json" and flags.score:
        raise InputError("--alignment=json has the scores: --score is for lines of text")
    with quiet_start():
        translator = open_translator(COMMAND)
    at_terminal = flags.input == "-" and sys.stdin.isatty()
    lines = _typed() if at_terminal else input_lines(flags.input)
    results = translator.translate_stream(
        _checked(lines, translator),
        n_best=flags.n_best,
        return_alignment=bool(flags.alignment or flags.figures),
        **({"lines_at_once": 1} if at_terminal else {}),
    )
    finite = FiniteCheck(COMMAND.name, "no translation with a finite score")
    write_lines(flags.output, _output(results, finite))
    return finite.status


def _typed() -> Iterator[bytes]:
    """Read lines as they are typed, each after a prompt."""
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            print(file=sys.stderr)
            return
        yield line.rstrip(b"\r\n")


def _checked(lines: Iterable[bytes], translator: "Translator") -> Iterator[bytes]:
    """Pass lines on, with a warning for each that is not translated as it is."""
    max_length = translator.config.decoding.max_length
    for number, line in enumerate(lines, 1):
        decoded(line, number, _warn)
        if len(line) > max_length:  # a token has at least one byte
            [length] = translator.source_lengths([line])
            if length > max_length:
                _warn(f"line {number:,} has {length:,} tokens: only {max_length:,} are read")
        yield line


def _output(translations: Iterable["Translation"], finite: FiniteCheck) -> Iterator[str]:
    from rnnsearch_tf.progress import ProgressLine
    from rnnsearch_tf.scripts.shared.translation_lines import json_line, plain_lines

    flags = COMMAND.flags
    if not sys.stdout.isatty():
        translations = ProgressLine().counted(translations, "lines")
    for number, result in enumerate(translations):
        finite.check(number + 1, math.isfinite(result.score))
        if flags.figures:
            draw_figure(COMMAND, number + 1, result.alignment, result.source_tokens, result.tokens)
        if flags.alignment == "json":
            yield json_line(result)
        else:
            yield from plain_lines(
                result,
                number,
                n_best=flags.n_best,
                with_score=flags.score,
                with_links=flags.alignment == "pharaoh",
            )


def _warn(message: str) -> None:
    print(f"{COMMAND.name}: {message}", file=sys.stderr)


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
