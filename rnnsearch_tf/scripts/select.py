"""rnnsearch-select: the pairs of a pool that are most like in-domain text."""

from typing import TYPE_CHECKING

from rnnsearch_tf.extras import require_package
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE, OUTPUT_TEXT
from rnnsearch_tf.scripts.shared.pair_flags import define_selection
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

if TYPE_CHECKING:
    import numpy as np

COMMAND = Command(
    "rnnsearch-select",
    "keep the sentence pairs of a large pool that are most similar to a small in-domain text "
    "(Axelrod, He & Gao 2011): those with the lowest cross-entropy difference, [H_in(s) - "
    "H_pool(s)] + [H_in(t) - H_pool(t)], in nats per token, under n-gram models of the in-domain "
    "text and of a random sample of the pool with the same number of pairs.",
    "rnnsearch-select --in_domain_source=in.en --in_domain_target=in.fr \\\n"
    "    --pool_source=pool.en --pool_target=pool.fr --keep=100000 \\\n"
    "    --output_source=kept.en.gz --output_target=kept.fr.gz",
)
FLAGS = COMMAND.flags
_INPUTS = {
    "in_domain_source": "source side of the in-domain text, UTF-8, plain or .gz",
    "in_domain_target": "their translations, line by line",
    "pool_source": "source side of the pairs to choose from; read several times",
    "pool_target": "their translations, line by line",
}
COMMAND.group("Data")
for _name, _description in _INPUTS.items():
    COMMAND.define(_name, INPUT_FILE, _description, required=True)
COMMAND.group("Output")
COMMAND.define(
    "output_source",
    OUTPUT_TEXT,
    "the kept source sentences, in the pool's order; gzip when named .gz",
    required=True,
)
COMMAND.define("output_target", OUTPUT_TEXT, "their translations", required=True)
COMMAND.define(
    "scores", OUTPUT_TEXT,
    "a file for the score of every pair of the pool, one per line, in order; lower is more "
    "in-domain, inf if a side is blank",
)  # fmt: skip
COMMAND.group("Selection")
define_selection(COMMAND)


@COMMAND.entry
def run() -> None:
    """Select."""
    COMMAND.check_read_twice("pool_source", "pool_target")
    COMMAND.check_distinct(_INPUTS, ("output_source", "output_target", "scores"))
    require_package("nltk")
    with quiet_start():
        from rnnsearch_tf.data.parallel_corpus import ParallelFiles, unchanged
        from rnnsearch_tf.data.selection import moore_lewis
        from rnnsearch_tf.data.selection.pairs import first_occurrences, write_pairs, writing
        from rnnsearch_tf.progress import say

    in_domain = ParallelFiles([FLAGS.in_domain_source], [FLAGS.in_domain_target])
    pool = ParallelFiles([FLAGS.pool_source], [FLAGS.pool_target])
    fingerprint = pool.fingerprint()  # it is read several times
    outputs = [FLAGS.output_source, FLAGS.output_target, *([FLAGS.scores] if FLAGS.scores else [])]
    with writing(outputs) as (source, target, *table), unchanged(pool.fingerprint, fingerprint):
        scores = moore_lewis.score_pairs(
            in_domain, pool, (FLAGS.source_language, FLAGS.target_language), FLAGS.order, FLAGS.seed
        )
        candidates = first_occurrences(pool) if FLAGS.drop_duplicates else None
        chosen = moore_lewis.best_pairs(scores, FLAGS.keep, candidates)
        write_pairs(pool, chosen, source, target)
        for file in table:
            file.writelines(f"{score:.6f}\n".encode() for score in scores)
    say(_summary(scores, chosen))


def _summary(scores: "np.ndarray", chosen: "np.ndarray") -> str:
    kept = f"kept {len(chosen):,} of {len(scores):,} pairs"
    if len(chosen) < FLAGS.keep:
        kept += f", all that can be chosen; {FLAGS.keep:,} were asked for"
    if not len(chosen):
        return kept
    own = scores[chosen]
    return f"{kept}; scores {own.min():.3f} to {own.max():.3f} nats per token"
