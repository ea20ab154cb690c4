"""rnnsearch-plot: curves of training runs or of evaluations."""

from collections.abc import Sequence
from pathlib import Path

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts.shared.chosen_models import model_folders
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.figure_flags import drawing
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILES, MODEL_FOLDERS, OUTPUT_FILE
from rnnsearch_tf.visualization.image_files import image_format

COMMAND = Command(
    "rnnsearch-plot",
    "plot training curves (−log p per token, and BLEU on the validation set, over updates), BLEU "
    "by source length with its 95% confidence intervals, or a reliability diagram.",
    "rnnsearch-plot --model_dir=one,other --output=curves.png",
)
FLAGS = COMMAND.flags
COMMAND.group("Data")
COMMAND.define("model_dir", MODEL_FOLDERS, "trained models, a curve for each")
COMMAND.define(
    "evaluations", INPUT_FILES,
    "files written by rnnsearch-evaluate --json; systems compared there also have a curve, with "
    "hollow marks where p is unknown or at least 0.05",
)  # fmt: skip
COMMAND.define(
    "calibrations", INPUT_FILES,
    "files written by rnnsearch-evaluate --calibration --json: how often predictions are "
    "right, by their probability",
)  # fmt: skip
COMMAND.one_of(("model_dir",), ("evaluations",), ("calibrations",))
COMMAND.group("Output")
COMMAND.define("output", OUTPUT_FILE, "file for the figure: .png, .svg or .pdf", required=True)


@COMMAND.entry
def run() -> None:
    """Plot."""
    require_package("matplotlib")
    image_format(FLAGS.output)
    with drawing(COMMAND):
        if FLAGS.model_dir is not None:
            _plot_trainings(model_folders(COMMAND))
        elif FLAGS.evaluations is not None:
            _plot_evaluations(FLAGS.evaluations.split(","))
        else:
            _plot_calibrations(FLAGS.calibrations.split(","))


def _plot_trainings(paths: Sequence[str]) -> None:
    directories = [ModelDirectory(path) for path in paths]
    models = [directory.load_config().model for directory in directories]
    logs = [directory.read_log() for directory in directories]
    from rnnsearch_tf.visualization.curves import draw_training

    names = _labels(paths)
    regularized = [
        name
        for name, model in zip(names, models, strict=True)
        if model.label_smoothing or model.r_drop
    ]
    draw_training(FLAGS.output, dict(zip(names, logs, strict=True)), regularized)


def _plot_evaluations(paths: Sequence[str]) -> None:
    from rnnsearch_tf.evaluation.length_bins import read_by_length, read_test_set
    from rnnsearch_tf.visualization.curves import draw_bleu_by_length

    curves, compared = {}, []
    for path, label in zip(paths, _labels(paths), strict=True):
        curves[label], others = read_by_length(path)
        for other, bins in zip(_labels([*others]), others.values(), strict=True):
            compared.append(f"{other} (against {label})")
            curves[compared[-1]] = bins
    if len({read_test_set(path) for path in paths} - {None}) > 1:
        COMMAND.warn("these evaluations are of different test sets, whose BLEU cannot be compared")
    draw_bleu_by_length(FLAGS.output, curves, compared=compared)


def _plot_calibrations(paths: Sequence[str]) -> None:
    from rnnsearch_tf.evaluation.calibration import read_calibration
    from rnnsearch_tf.visualization.curves import draw_reliability

    measured = map(read_calibration, paths)
    draw_reliability(FLAGS.output, dict(zip(_labels(paths), measured, strict=True)))


def _labels(paths: Sequence[str]) -> list[str]:
    """Return the last component of each path, or the whole paths if two of these are equal."""
    names = [Path(path).resolve().name.removesuffix(".json") for path in paths]
    labels = names if len(set(names)) == len(names) else list(paths)
    if len(set(labels)) < len(labels):
        raise UsageError(f"{','.join(paths)}: the same path twice")
    return labels
