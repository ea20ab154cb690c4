"""--output and --resume: lines of output as they come."""

from collections.abc import Callable
from typing import Any

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import is_stream
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_LINES, check_distinct
from rnnsearch_tf.scripts.shared.line_stream import LineStream
from rnnsearch_tf.scripts.shared.resumable_file import ResumableFile

# Flags that may differ when a run is resumed; of models, the files are compared.
_INPUTS = ("input", "source", "target", "tsv", "translation")
_FREE = (
    *(*_INPUTS, "output", "resume"),
    *("model_dir", "reverse_model_dir", "deadline", "batch_size", "concurrency", "attempts"),
    *("figures", "figure_format"),
)


def define_line_output(command: Command, lines: str) -> None:
    """Add --output and --resume; `lines` says what is written."""
    command.define("output", OUTPUT_LINES, f"file for the {lines}; - is standard output", "-")
    command.define(
        "resume",
        bool,
        "continue an interrupted run that has left OUTPUT.partial; use the same flags",
        False,
    )


def line_output(command: Command, made_with: Callable[[], Any]) -> LineStream:
    """Return the output that --output names.

    `made_with` identifies the models that make the lines, JSON-serializable; None if they are
    unknown. InputError if OUTPUT.partial exists without --resume, or cannot be resumed; UsageError
    if --output names an input, or --resume is given without a file.
    """
    flags = command.flags
    if flags.output != "-" and not is_stream(flags.output):
        inputs = [name for name in (*_INPUTS, "closest_to") if name in flags]
        check_distinct(flags, inputs, ["output"])
        compared = {name: flags[name].value for name in flags if name not in _FREE}
        return ResumableFile(command, compared, made_with)
    if flags.resume:
        raise UsageError("--resume needs --output, with the name of a file")
    return LineStream(flags.output, command.warn)
