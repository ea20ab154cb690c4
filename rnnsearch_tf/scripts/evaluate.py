"""rnnsearch-evaluate: scores of a model's translations of a test set."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.limits import COUNT
from rnnsearch_tf.scripts.shared.alignment_evaluation import (
    define_alignment_evaluation,
    evaluate_alignments,
    wants_alignments,
)
from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, open_translator
from rnnsearch_tf.scripts.shared.outputs import OutputFile, OutputLines
from rnnsearch_tf.scripts.shared.text_output import write_figures

if TYPE_CHECKING:
    from rnnsearch_tf.data.parallel_corpus import ParallelText
    from rnnsearch_tf.evaluation.evaluator import Evaluator
    from rnnsearch_tf.inference.translator import Translator

COMMAND = Command(
    "rnnsearch-evaluate",
    "translate a test set and score it: sacreBLEU's BLEU, chrF2 and TER (detokenised) and the "
    "paper's BLEU (cased tokens), each with its 95% confidence interval, of all sentences and of "
    "those without unknown words; and BLEU by source length. With --alignments, score the model's "
    "links between words against gold links instead.",
)
COMMAND.define("source", str, "test sentences, UTF-8, plain or .gz")
COMMAND.define("reference", str, "their reference translations")
COMMAND.define(
    "hypotheses", str,
    "a file of translations, line by line, to score instead of translating; --model_dir then only "
    "has the tokeniser and the vocabularies",
)  # fmt: skip
COMMAND.define(
    "compare", str,
    "another system: a file of its translations, line by line, or whatever --model_dir takes; "
    "its scores, and p-values by paired bootstrap resampling",
)  # fmt: skip
COMMAND.define("translations", OutputFile, "a file to write the translations to")
COMMAND.define(
    "json", OutputLines, "a file to write the scores to; - is standard output, no table then"
)
COMMAND.define(
    "sample_html", OutputFile,
    "a web page to write, of the sentences with the lowest and the highest chrF2: source, "
    "reference, translation, scores, and the interactive alignment",
)  # fmt: skip
COMMAND.define(
    "sample", int, "number of the lowest, and of the highest, in --sample_html", 20, COUNT
)
define_decoding(COMMAND)
define_alignment_evaluation(COMMAND)


def main() -> int:
    """Evaluate."""
    flags = COMMAND.flags
    _check_flags()
    if wants_alignments(COMMAND):
        evaluate_alignments(COMMAND)
        return 0
    with quiet_start():
        from rnnsearch_tf.data.parallel_corpus import read_parallel
        from rnnsearch_tf.evaluation.evaluator import Evaluator
        from rnnsearch_tf.evaluation.significance import compare

        evaluator = Evaluator(open_translator(COMMAND))
    text = read_parallel(flags.source, flags.reference)
    translations, replaced, others = _systems(evaluator, text.source)
    scores = evaluator.evaluate(translations, text)
    if replaced is not None:
        scores = scores._replace(replaced=evaluator.score(replaced, text.target))
    if others is not None:
        lengths = evaluator.source_lengths(text.source)
        comparison = compare(flags.compare, translations, others, text.target, lengths)
        scores = scores._replace(comparison=comparison)
    if flags.sample_html:
        _write_sample(evaluator.translator, text, translations)
    write_figures(flags.json, scores.as_dict(), scores.table())
    return 0


def _check_flags() -> None:
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "reference")
    if flags.sample_html and Path(flags.sample_html).suffix != ".html":
        raise InputError(f"--sample_html {flags.sample_html}: must end in .html")


def _systems(
    evaluator: "Evaluator", sources: list[str]
) -> tuple[list[str], list[str] | None, list[str] | None]:
    """Return the translations to score, those with [UNK] replaced, and the other system's, if any.

    Files are read before a model translates, and the translations are written as soon as they are
    there.
    """
    flags = COMMAND.flags
    ours = _lines(flags.hypotheses) if flags.hypotheses else None
    is_model = bool(flags.compare) and Path(flags.compare.split(",")[0]).is_dir()
    others = _lines(flags.compare) if flags.compare and not is_model else None
    replaced = None
    if ours is None:
        ours, replaced = evaluator.translate_and_replace(sources)
    if flags.translations:
        write_atomically(flags.translations, "".join(line + "\n" for line in ours).encode())
    if is_model:
        results = open_translator(COMMAND, flags.compare).translate(sources)
        others = [result.text for result in results]
    return ours, replaced, others


def _lines(path: str) -> list[str]:
    """Read a file of translations of the source."""
    from rnnsearch_tf.data.parallel_corpus import read_parallel

    return read_parallel(COMMAND.flags.source, path).target


def _write_sample(translator: "Translator", text: "ParallelText", translations: list[str]) -> None:
    from rnnsearch_tf.visualization.sample_page import SampleText, write_sample

    flags = COMMAND.flags
    languages = translator.config.source_language, translator.config.target_language
    sample = SampleText(text.source, text.target, translations, languages)
    write_sample(flags.sample_html, sample, translator.align, flags.sample)


def run(arguments: list[str] | None = None) -> int:
    """Run the console script, with `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
