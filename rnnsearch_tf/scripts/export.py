"""rnnsearch-export: a SavedModel from a model directory."""

from pathlib import Path

from rnnsearch_tf.config import AlignmentName, WeightsDtype
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import real_path
from rnnsearch_tf.inference.exported import new_version
from rnnsearch_tf.limits import INT64, Limits
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts.shared.chosen_models import ChosenModels, choose_trained_models
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, define_model
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER, check_has_no_comma
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.text_output import show
from rnnsearch_tf.serving.kit import check_kit_folder, write_kit

COMMAND = Command(
    "rnnsearch-export",
    "write a trained model as EXPORT_DIR/VERSION/, a SavedModel for TensorFlow Serving with the "
    "signatures serving_default (text to translation and score), align (with the soft alignment), "
    "nbest (as many translations as the beam size), score (of given translations) and describe "
    "(languages). The decoding options become part of it. Several models, separated by commas, are "
    "an ensemble.",
    "rnnsearch-export --model_dir=model --export_dir=exports",
    alone="kit",
)
FLAGS = COMMAND.flags
define_model(COMMAND, "the trained model; several are an ensemble")
COMMAND.group("Output")
COMMAND.define("export_dir", OUTPUT_FOLDER, "the folder that a server watches", required=True)
COMMAND.define(
    "version",
    int,
    "the version's number; an existing one is never overwritten (default: one above the highest)",
    limits=Limits(1, INT64),
)
COMMAND.define(
    "weights_dtype",
    WeightsDtype,
    "dtype of the weights; float16 and bfloat16 take half the space",
    "float32",
)
COMMAND.define(
    "completions", bool,
    "also write the signature complete (translations that begin with a prefix); with it, the web "
    "page offers other words",
    False,
)  # fmt: skip
COMMAND.define(
    "alignment",
    AlignmentName,
    "source of the alignments of the signature align: the model's attention, or the aligner that "
    "rnnsearch-aligner has written into its directory (default: aligner, if there is one)",
)
COMMAND.define(
    "kit",
    OUTPUT_FOLDER,
    "a new folder for the files around TensorFlow Serving: Docker, Kubernetes, nginx, the web page "
    "and a README; without --model_dir, only these are written",
)
define_decoding(COMMAND)


@COMMAND.entry
def run() -> None:
    """Export."""
    if (FLAGS.model_dir is None) != (FLAGS.export_dir is None):
        raise UsageError("--model_dir and --export_dir must be given together")
    models = None if FLAGS.model_dir is None else choose_trained_models(COMMAND)
    if FLAGS.export_dir is not None:
        check_has_no_comma("export_dir", FLAGS.export_dir)
    if FLAGS.kit is not None:
        check_kit_folder(FLAGS.kit)
        kit = real_path(FLAGS.kit)
        if models and kit in (real_path(FLAGS.export_dir), *real_path(FLAGS.export_dir).parents):
            raise UsageError("--export_dir is inside --kit, which must be empty")
    version = _export(models) if models else None
    if FLAGS.kit is not None:
        write_kit(FLAGS.kit)
        show(str(Path(FLAGS.kit) / "README.md"))
    if version is not None:
        show(str(version))


def _export(models: ChosenModels) -> Path:
    ModelDirectory(models.paths[0]).find_aligner(FLAGS.alignment)  # for its check
    new_version(FLAGS.export_dir, FLAGS.version)  # for its checks
    with quiet_start():
        from rnnsearch_tf.progress import say
        from rnnsearch_tf.serving.export import export

        path = export(
            models.paths,
            FLAGS.export_dir,
            FLAGS.version,
            models.decoding,
            FLAGS.weights,
            FLAGS.weights_dtype,
            FLAGS.completions,
            FLAGS.alignment,
        )
    if FLAGS.kit is None:
        say("Serve: rnnsearch-export --kit=FOLDER writes the files around TensorFlow Serving")
    return path
