"""rnnsearch-beam-translate: sharded text to translations, on Apache Beam."""

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.inference.exported import check_models, find_version
from rnnsearch_tf.models.model_directory import find_model
from rnnsearch_tf.scripts.shared import beam_flags, translation_lines
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import REMOTE_PATH
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

COMMAND = Command(
    "rnnsearch-beam-translate",
    "translate sharded text on Apache Beam: for each input file, an output file of "
    "the same name and format, N lines in, N lines out, in order; a blank line gives a blank line. "
    f"{beam_flags.PASSED_ON}",
    "rnnsearch-beam-translate --model_dir=export --input='text/*.gz' \\\n"
    "    --output=translated \\\n    --direct_num_workers=2 --direct_running_mode=multi_processing",
    passes_on=True,
)
FLAGS = COMMAND.flags
COMMAND.group("Model")
COMMAND.define(
    "model_dir",
    REMOTE_PATH,
    "the folder of an export, with its versions or a single one, a model directory, or the name of "
    "the pretrained model; its own decoding options are used",
    required=True,
)
COMMAND.group("Data")
COMMAND.define(
    "input",
    REMOTE_PATH,
    "text to translate, UTF-8, plain or .gz, or TFRecords in files named .tfrecord: "
    f"{beam_flags.SHARDS}",
    required=True,
    repeated=True,
)
COMMAND.define(
    "feature", str,
    "name of the text feature in TFRecords of tf.train.Example; without it, a record is a line",
)  # fmt: skip
translation_lines.define_split_sentences(COMMAND)
COMMAND.group("Output")
COMMAND.define(
    "output",
    REMOTE_PATH,
    "folder for the translations; in it, a file keeps its path relative to the fixed folder at "
    "the start of the pattern",
    required=True,
)
COMMAND.define("resume", bool, "skip files whose output exists, as after a failed job", False)
translation_lines.define_translation_format(COMMAND)

_COUNTERS = (
    "shards", "lines", "blank_lines", "not_utf8_lines", "truncated_lines",
    "lines_without_translation",
)  # fmt: skip


@COMMAND.entry
def run() -> int:
    """Translate."""
    require_package("apache_beam")
    to_text = translation_lines.translation_format(COMMAND, FLAGS.n_best)
    aligns = FLAGS.alignment is not None
    translation_lines.check_split_sentences(COMMAND, aligns)
    with quiet_start():
        from rnnsearch_tf.pipelines import shards, translation
        from rnnsearch_tf.progress import say

    beam_flags.pass_options_on(COMMAND)
    model = FLAGS.model_dir
    if "://" not in model:
        model = str(find_model(model))
        model = shards.absolute(str(find_version(model) or model))
        translation_lines.check_n_best(COMMAND, check_models([model], "best").decoding)
    patterns = [shards.absolute(pattern) for pattern in FLAGS.input]
    if len(set(patterns)) < len(patterns):
        raise UsageError("--input: a pattern is given twice")
    files = [path for pattern in patterns for path in shards.matching(pattern)]
    if FLAGS.feature and not any(map(shards.has_records, files)):
        raise UsageError("--feature needs input in TFRecords, in files named .tfrecord")
    output = beam_flags.output_folder(COMMAND, patterns)
    handler = translation.TranslatorHandler(model, FLAGS.n_best, aligns, FLAGS.split_sentences)
    beam_flags.check_resumed(COMMAND, output, handler.digests)
    unfinished = shards.unfinished_folder(output)
    counters = beam_flags.run_job(
        COMMAND,
        lambda pipeline: translation.translate_shards(
            pipeline, patterns, output, unfinished, handler, to_text, FLAGS.feature, FLAGS.resume
        ),
        [path for pattern in patterns for path, _ in shards.outputs_of(pattern, output)],
        unfinished,
    )
    say(", ".join(f"{counters.get(name, 0):,} {name.replace('_', ' ')}" for name in _COUNTERS))
    return 1 if counters.get("lines_without_translation") else 0
