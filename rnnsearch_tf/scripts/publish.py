"""rnnsearch-publish: a trained model as a folder to share."""

from typing import Literal

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.scripts.shared.chosen_models import choose_trained_models
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, define_model
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE, OUTPUT_FOLDER, check_has_no_comma
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.text_output import show

StoredDtype = Literal["float16", "float32"]

COMMAND = Command(
    "rnnsearch-publish",
    "write a trained model as a folder to share: weights of half the size, vocabularies, and a "
    "README.md, the model card, with metadata for model hubs. Every command reads the folder as "
    "--model_dir. The decoding options are stored with the model.",
    "rnnsearch-publish --model_dir=model --output=en-fr --license=cc-by-4.0 \\\n"
    '    --data="200,000 sentence pairs of Europarl v7" --evaluation=test.json',
)
FLAGS = COMMAND.flags
define_model(COMMAND, "the trained model")
COMMAND.group("Output")
COMMAND.define("output", OUTPUT_FOLDER, "a new folder; its name is the model's", required=True)
COMMAND.define(
    "weights_dtype", StoredDtype, "dtype of the weights in the file; float16 is half the size",
    "float16",
)  # fmt: skip
COMMAND.group("Model card")
COMMAND.define(
    "license", str, "license of the weights, as on model hubs: mit, cc-by-4.0, …", required=True
)
COMMAND.define("data", str, "what the training text is, and where it comes from", required=True)
COMMAND.define(
    "evaluation",
    INPUT_FILE,
    "scores written by rnnsearch-evaluate --json; the file is named after the test set",
    repeated=True,
)
define_decoding(COMMAND)


@COMMAND.entry
def run() -> None:
    """Write the folder."""
    models = choose_trained_models(COMMAND)
    if len(models.paths) > 1:
        raise UsageError("--model_dir: a folder has one model, not an ensemble")
    check_has_no_comma("output", FLAGS.output)
    with quiet_start():
        from rnnsearch_tf.serving.published import publish
    publish(
        models.paths[0],
        FLAGS.output,
        FLAGS.license,
        FLAGS.data,
        FLAGS.evaluation or (),
        models.decoding,
        FLAGS.weights,
        FLAGS.weights_dtype,
    )
    show(FLAGS.output)
