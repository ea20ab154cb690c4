"""Flags of scripts that draw a picture of each line's alignment."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from rnnsearch_tf.extras import require_package
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER
from rnnsearch_tf.scripts.shared.finite_values import are_finite

FigureFormat = Literal["png", "svg", "pdf", "html"]


def define_figures(command: Command) -> None:
    """Add --figures and --figure_format."""
    command.define(
        "figures",
        OUTPUT_FOLDER,
        "a folder for a picture of each line's soft alignment: 1.png, 2.png, …",
    )
    command.define("figure_format", FigureFormat, "html is an interactive page", "png")


def check_figures(command: Command) -> None:
    """Check that pictures can be drawn, where they are wanted.

    Raises:
        InputError: Matplotlib is not installed.
    """
    if command.flags.figures and command.flags.figure_format != "html":
        require_package("matplotlib")


def draw_figure(
    command: Command,
    number: int,
    weights: np.ndarray,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    unknown_source: Sequence[int] = (),
    unknown_target: Sequence[int] = (),
) -> None:
    """Draw line `number`, from 1, where pictures are wanted, and there is something to draw."""
    flags = command.flags
    if flags.figures and len(source_tokens) > 1 and are_finite(weights):
        from rnnsearch_tf.visualization.alignment_matrix import draw_alignment

        path = Path(flags.figures) / f"{number}.{flags.figure_format}"
        draw_alignment(
            path,
            weights,
            source_tokens,
            target_tokens,
            unknown_source=unknown_source,
            unknown_target=unknown_target,
        )
