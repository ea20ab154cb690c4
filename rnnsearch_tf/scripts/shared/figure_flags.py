"""Flags of scripts that draw a picture of each line's alignment."""

import functools
import warnings
from pathlib import Path
from typing import Literal

from rnnsearch_tf.extras import require_package
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER
from rnnsearch_tf.scripts.shared.finite_values import are_finite

FigureFormat = Literal["png", "svg", "pdf", "html"]


def define_figures(command: Command) -> None:
    """Add --figures and --figure_format."""
    command.define(
        "figures",
        OUTPUT_FOLDER,
        "a folder for figures of each line's soft alignment: 1.png, 2.png, …",
    )
    command.define("figure_format", FigureFormat, "html is an interactive page", "png")


def check_figures(command: Command) -> None:
    """Raise an InputError if pictures are wanted and Matplotlib is not installed."""
    if command.flags.figures and command.flags.figure_format != "html":
        require_package("matplotlib")


def draw_figure(command: Command, number: int, pair: Alignment, languages: tuple[str, str]) -> None:
    """Draw line `number`, from 1, where pictures are wanted, and there is something to draw."""
    flags = command.flags
    if flags.figures and len(pair.source_tokens) > 1 and are_finite(pair.weights):
        from rnnsearch_tf.visualization.alignment_matrix import draw_alignment

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            draw_alignment(
                Path(flags.figures) / f"{number}.{flags.figure_format}",
                pair.weights,
                pair.source_tokens,
                pair.target_tokens,
                unknown_source=pair.unknown_source,
                unknown_target=pair.unknown_target,
                languages=languages,
            )
        for warning in told:
            _warn_once(command, str(warning.message))


@functools.cache
def _warn_once(command: Command, problem: str) -> None:
    command.warn(problem)
