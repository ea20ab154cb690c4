"""Flags of scripts that draw a picture of each line's alignment."""

import contextlib
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER
from rnnsearch_tf.scripts.shared.finite_values import are_finite

FigureFormat = Literal["png", "svg", "pdf", "html"]
_FORMAT = "png"  # where --figure_format is not given


def define_figures(command: Command) -> None:
    """Add --figures and --figure_format."""
    command.define(
        "figures",
        OUTPUT_FOLDER,
        "folder for a figure of each line's soft alignment: 1.png, 2.png, …",
    )
    command.define(
        "figure_format",
        FigureFormat,
        f"format of --figures (default: {_FORMAT}); html is an interactive page",
    )


def check_figures(command: Command) -> None:
    """Raise an InputError if figures are wanted and Matplotlib is not installed.

    UsageError for --figure_format without --figures.
    """
    if command.flags.figure_format and not command.flags.figures:
        raise UsageError("--figure_format needs --figures, the folder for figures")
    if command.flags.figures and command.flags.figure_format != "html":
        require_package("matplotlib")


def draw_figure(command: Command, number: int, pair: Alignment, languages: tuple[str, str]) -> None:
    """With --figures, draw line `number`, from 1, unless it is blank or has non-finite weights."""
    flags = command.flags
    if flags.figures and len(pair.source_tokens) > 1 and are_finite(pair.weights):
        from rnnsearch_tf.visualization.alignment_matrix import draw_alignment

        with drawing(command):
            draw_alignment(
                Path(flags.figures) / f"{number}.{flags.figure_format or _FORMAT}",
                pair.weights,
                pair.source_tokens,
                pair.target_tokens,
                unknown_source=pair.unknown_source,
                unknown_target=pair.unknown_target,
                languages=languages,
            )


@contextlib.contextmanager
def drawing(command: Command) -> Iterator[None]:
    """Show warnings, such as those of fonts, as the command's own."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # a home that it cannot write to
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # also if Python is set to raise them
        warnings.simplefilter("ignore", DeprecationWarning)  # between libraries
        warnings.showwarning = lambda message, *_: command.warn(str(message))
        yield
