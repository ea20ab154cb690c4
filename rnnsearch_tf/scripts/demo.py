"""rnnsearch-demo: both models on the built-in grammar, end to end, in minutes."""

from rnnsearch_tf.allocation import keep_freed_memory
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

COMMAND = Command(
    "rnnsearch-demo",
    "train RNNsearch and RNNencdec on the built-in English-French grammar, compare them by "
    "sentence length, draw an alignment, export a SavedModel and translate with it.",
    "rnnsearch-demo --output=demo",
)
FLAGS = COMMAND.flags
COMMAND.group("Output")
COMMAND.define(
    "output",
    OUTPUT_FOLDER,
    "the folder for everything; an earlier demonstration there is resumed or, if it has ended, "
    "replaced; other files stay",
    "demo",
)


@COMMAND.entry
def run() -> None:
    """Run the demonstration."""
    require_package("matplotlib")
    keep_freed_memory()
    with quiet_start():
        from rnnsearch_tf.demo import run as run_demo
        from rnnsearch_tf.threads import limit_for_halves

        limit_for_halves()

    run_demo(FLAGS.output)
