"""rnnsearch-beam-select: the pairs of a sharded pool that are most like in-domain text."""

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.scripts.shared import beam_flags
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import REMOTE_PATH
from rnnsearch_tf.scripts.shared.pair_flags import define_selection
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

COMMAND = Command(
    "rnnsearch-beam-select",
    "keep the sentence pairs of a sharded pool that are most similar to a small in-domain "
    "text, on Apache Beam; scores and selection equal those of rnnsearch-select on the "
    "concatenated files, in the order of their names. For each file of the pool, a file of the "
    f"same name is written, with its kept pairs, in order. {beam_flags.PASSED_ON}",
    "rnnsearch-beam-select --in_domain_source=in.en --in_domain_target=in.fr \\\n"
    "    --pool_source='pool/*.en.gz' --pool_target='pool/*.fr.gz' --keep=100000 \\\n"
    "    --output=kept \\\n    --direct_num_workers=2 --direct_running_mode=multi_processing",
    passes_on=True,
)
FLAGS = COMMAND.flags
_INPUTS = {
    "in_domain_source": "source side of the in-domain text, UTF-8, plain or .gz",
    "in_domain_target": "their translations, line by line",
    "pool_source": f"source side of the pairs to choose from: {beam_flags.SHARDS}",
    "pool_target": "their translations, in as many files, paired by the order of the names",
}
COMMAND.group("Data")
for _name, _description in _INPUTS.items():
    COMMAND.define(_name, REMOTE_PATH, _description, required=True)
COMMAND.group("Output")
COMMAND.define(
    "output",
    REMOTE_PATH,
    "folder for the kept pairs; they are written to its subfolders source and target, where a "
    "file keeps its path relative to the fixed folder at the start of the pattern",
    required=True,
)
COMMAND.define(
    "scores", bool,
    "also write the scores of all pairs, in the folder scores: one per line, lower is more "
    "in-domain, inf if a side is blank",
    False,
)  # fmt: skip
COMMAND.group("Selection")
define_selection(COMMAND)


@COMMAND.entry
def run() -> None:
    """Select."""
    require_package("apache_beam")
    require_package("nltk")
    with quiet_start():
        from rnnsearch_tf.pipelines import selection, shards
        from rnnsearch_tf.progress import say

    beam_flags.pass_options_on(COMMAND)
    paths = {name: shards.absolute(getattr(FLAGS, name)) for name in _INPUTS}
    for path in paths.values():
        shards.matching(path)
    if paths["pool_source"] == paths["pool_target"]:
        raise UsageError("--pool_target: --pool_source names the same files")
    # The output goes to new subfolders, which only a pattern with "**" would search.
    pools = paths["pool_source"], paths["pool_target"]
    output = beam_flags.output_folder(COMMAND, [pattern for pattern in pools if "**" in pattern])
    sides = _pool_files(*pools, output)
    pool = [
        selection.Shard(
            number, source, target, kept_source, kept_target,
            kept_source.replace(f"{output}/source", f"{output}/scores", 1)
            if FLAGS.scores else "",
        )
        for number, ((kept_source, source), (kept_target, target)) in enumerate(
            zip(*sides, strict=True)
        )
    ]  # fmt: skip
    chosen = selection.Selection(
        paths["in_domain_source"],
        paths["in_domain_target"],
        FLAGS.keep,
        (FLAGS.source_language, FLAGS.target_language),
        FLAGS.order,
        FLAGS.seed,
        FLAGS.drop_duplicates,
    )
    for folder in ("source", "target", "scores"):
        shards.check_empty(f"{output}/{folder}")
    unfinished = shards.unfinished_folder(output)
    counters = beam_flags.run_job(
        COMMAND,
        lambda pipeline: selection.select_shards(pipeline, pool, chosen, unfinished),
        [path for shard in pool for path in (shard.kept_source, shard.kept_target)],
        unfinished,
    )
    kept, pairs, blank = (counters.get(name, 0) for name in ("kept_pairs", "pairs", "blank_pairs"))
    say(f"kept {kept:,} of {pairs:,} pairs; {blank:,} have a blank side")


def _pool_files(source: str, target: str, output: str) -> list[list[tuple[str, str]]]:
    """Return, for each side, the files of the kept pairs with those of the pool."""
    from rnnsearch_tf.pipelines import shards

    sides = [
        shards.outputs_of(source, f"{output}/source"),
        shards.outputs_of(target, f"{output}/target"),
    ]
    if len(sides[0]) != len(sides[1]):
        counts = f"{len(sides[0]):,} files of sources and {len(sides[1]):,} of targets"
        raise InputError(f"the pool has {counts}")
    pool_files = {path for side in sides for _, path in side}
    for written, _ in (*sides[0], *sides[1]):
        if written in pool_files:
            raise UsageError(f"--output {output}: {written} is a file of the pool")
    return sides
