"""rnnsearch-translate: lines in, lines out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.scripts.command import Command, quiet_start
from rnnsearch_tf.scripts.decoding_flags import decoding_settings, define_decoding, model_dirs
from rnnsearch_tf.scripts.text_input import decoded, input_lines

if TYPE_CHECKING:
    from rnnsearch_tf.translator import Translator

COMMAND = Command(
    "rnnsearch-translate",
    "translate text, one sentence a line: N lines in, N lines out, in order; a blank line gives a "
    "blank line. The search options below override the model's own.",
)
COMMAND.define("input", str, "text to translate, UTF-8, plain or .gz; - is standard input", "-")
COMMAND.define("output", str, "where the translations go; - is standard output", "-")
COMMAND.define("figures", str, "a folder for a PNG of each line's alignment: 1.png, 2.png, …")
define_decoding(COMMAND)


def main() -> int:
    """Translate."""
    flags = COMMAND.flags
    COMMAND.require("model_dir")
    with quiet_start():
        from rnnsearch_tf.progress import ProgressLine
        from rnnsearch_tf.translator import Translator

        translator = Translator.load(model_dirs(COMMAND), decoding_settings(COMMAND), flags.weights)
    lines = list(input_lines(flags.input))
    _warn_of_changes(lines, translator)
    progress = ProgressLine()
    found = translator.translate_lines(lines, report=progress.counter(len(lines), "lines"))
    progress.clear()
    content = "".join(line + "\n" for line in found.translations).encode()
    if flags.output == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write_atomically(flags.output, content)
    if flags.figures:
        _draw(translator, lines, Path(flags.figures))
    return 0


def _warn_of_changes(lines: list[bytes], translator: "Translator") -> None:
    """Tell which lines are not translated as they are."""
    most = translator.config.decoding.max_length
    for number, length in enumerate(translator.source_lengths(lines), 1):
        if length > most:
            _warn(f"line {number:,} has {length:,} tokens: only {most:,} are read")
        decoded(lines[number - 1], number, _warn)


def _draw(translator: "Translator", lines: list[bytes], folder: Path) -> None:
    from rnnsearch_tf.figures import draw_translation

    for number, line in enumerate(lines, 1):
        if line.strip():
            draw_translation(folder / f"{number}.png", translator, line.decode(errors="replace"))


def _warn(message: str) -> None:
    print(f"{COMMAND.name}: {message}", file=sys.stderr)


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
