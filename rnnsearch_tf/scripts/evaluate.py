"""rnnsearch-evaluate: scores of a model's translations of a test set."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.digests import json_digest
from rnnsearch_tf.errors import InputError, UsageError, input_errors
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.limits import COUNT
from rnnsearch_tf.models.model_directory import ModelDirectory, find_model
from rnnsearch_tf.scripts.shared.alignment_evaluation import (
    define_alignment_evaluation,
    evaluate_alignments,
    wants_alignments,
)
from rnnsearch_tf.scripts.shared.chosen_models import ChosenModels, choose_models
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, define_model
from rnnsearch_tf.scripts.shared.file_flags import (
    INPUT_FILE,
    INPUT_FILES,
    OUTPUT_FILE,
    OUTPUT_LINES,
)
from rnnsearch_tf.scripts.shared.pair_flags import define_tsv, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.systems import named_systems, translation_lines
from rnnsearch_tf.scripts.shared.text_output import write_scores
from rnnsearch_tf.scripts.shared.text_warnings import warn_of_cut_lines, warn_of_unknown_words
from rnnsearch_tf.terminal import single_line

if TYPE_CHECKING:
    from rnnsearch_tf.evaluation.calibration import Calibration
    from rnnsearch_tf.evaluation.evaluator import Evaluator
    from rnnsearch_tf.evaluation.metrics import Reference
    from rnnsearch_tf.inference.translator import Translator

COMMAND = Command(
    "rnnsearch-evaluate",
    "translate a test set and score it by sacreBLEU: BLEU, chrF2, TER, tokenized BLEU (as in the "
    "paper) and lowercased BLEU, each with its 95% confidence interval, of all sentences and of "
    "those without unknown words; and BLEU by source length. With --alignments, score the model's "
    "links between words against gold links instead.",
    "rnnsearch-evaluate --model_dir=model --source=test.en --reference=test.fr",
)
FLAGS = COMMAND.flags
define_model(COMMAND)
COMMAND.group("Data")
COMMAND.define("source", INPUT_FILES, "test sentences, UTF-8, plain or .gz")
COMMAND.define(
    "reference",
    INPUT_FILES,
    "their reference translations, line by line, one or several for each sentence",
    repeated=True,
)
define_tsv(COMMAND)
COMMAND.one_of(("source", "reference"), ("tsv",))
COMMAND.define(
    "hypotheses",
    INPUT_FILE,
    "translations to score, line by line, instead of translating; --model_dir then provides "
    "tokenizer and vocabularies",
)
COMMAND.define(
    "system",
    str,
    "another system, [NAME:]FILE_OR_MODEL: a file of its translations, line by line, or anything "
    "that --model_dir accepts; adds its scores, and p-values by paired bootstrap resampling; a "
    "name has at least two characters",
    repeated=True,
)
COMMAND.define(
    "calibration", bool,
    "also measure the expected calibration error of the most probable next token, on the (first) "
    "reference and without --correct_spelling; not available for an export",
    False,
)  # fmt: skip
COMMAND.group("Output")
COMMAND.define("translations", OUTPUT_FILE, "file for the translations")
COMMAND.define(
    "json", OUTPUT_LINES, "file for the scores; - is standard output, in place of the table"
)
COMMAND.define(
    "sample_html", OUTPUT_FILE,
    "file for a web page of the sentences with the lowest and the highest chrF2: source, (first) "
    "reference, translation, scores, and interactive alignment",
)  # fmt: skip
COMMAND.define("sample", int, "sentences with the lowest, and with the highest chrF2", 20, COUNT)
define_decoding(COMMAND)
define_alignment_evaluation(COMMAND)
_INPUTS = ("source", "reference", "tsv", "hypotheses", "alignments")


@COMMAND.entry
def run() -> int:
    """Evaluate; the status is 1 if a translation has no finite score, or the calibration failed."""
    text, models = _check_inputs()
    if wants_alignments(COMMAND):
        evaluate_alignments(COMMAND, text)
        return 0
    references = _references(text)
    ours = FLAGS.hypotheses and translation_lines("hypotheses", FLAGS.hypotheses, text.source)
    systems = {name: _system(path, text) for name, path in named_systems(COMMAND).items()}
    with quiet_start():
        from rnnsearch_tf.evaluation.evaluator import Evaluator
        from rnnsearch_tf.threads import limit_operations

        limit_operations(1)
        made_by = _made_by(models) if FLAGS.json else {}
        translator = models.open(aligns=bool(FLAGS.sample_html))
        if not ours:
            translator.prepare()
        evaluator = Evaluator(translator)
    warn_of_unknown_words(COMMAND, evaluator.translator, *text)
    if not ours:
        warn_of_cut_lines(COMMAND, evaluator.translator, text.source)
    translations, replaced = (ours, None) if ours else evaluator.translate_and_replace(text.source)
    is_written = not FLAGS.translations or _write_translations(translations)
    others, missing = _others(systems, text)
    scores = evaluator.evaluate(translations, text.source, references, replaced, others)
    if FLAGS.calibration:
        scores = scores._replace(calibration=_calibration(evaluator, text))
    figures = {**scores.as_dict(), "test_set_sha256": _test_set(text, references), **made_by}
    write_scores(FLAGS.json, figures, scores.table())
    if not is_written:
        return 1
    if FLAGS.sample_html:
        _write_sample(evaluator.translator, text, translations)
    is_calibrated = scores.calibration is not None or not FLAGS.calibration
    return 0 if is_calibrated and not evaluator.missing + missing else 1


def _check_inputs() -> tuple[ParallelText, ChosenModels]:
    """Check flags, files and models before TensorFlow is loaded, and read source and reference."""
    if FLAGS.sample_html and Path(FLAGS.sample_html).suffix != ".html":
        raise UsageError(f"--sample_html {FLAGS.sample_html}: must end in .html")
    if not FLAGS.sample_html and FLAGS["sample"].present:
        raise UsageError("--sample needs --sample_html")
    files = needed_pairs(COMMAND, target="reference")
    systems = named_systems(COMMAND).values()
    COMMAND.check_distinct(_INPUTS, ("translations", "json", "sample_html"), systems)
    models = choose_models(COMMAND)
    if FLAGS.hypotheses and not (FLAGS.system or FLAGS.sample_html or FLAGS.calibration):
        for option in dataclasses.fields(DecodingConfig):
            if FLAGS[option.name].present:
                COMMAND.warn(f"--{option.name} has no effect with --hypotheses")
    if FLAGS.calibration and models.version:
        raise UsageError("--calibration needs a model directory, not an export")
    return files.read(), models


def _system(path: str, text: ParallelText) -> list[str] | ChosenModels:
    """Read another system's translations, or the model that makes them."""
    if find_model(path.split(",")[0]).is_dir():
        return choose_models(COMMAND, path)
    return translation_lines("system", path, text.source)


def _others(
    systems: Mapping[str, list[str] | ChosenModels], text: ParallelText
) -> tuple[dict[str, list[str]], int]:
    """Return the other systems' translations, given or made, and how many have no finite score."""
    from rnnsearch_tf.evaluation.evaluator import Evaluator

    others, missing = {}, 0
    for name, system in systems.items():
        if isinstance(system, ChosenModels):
            evaluator = Evaluator(system.open(aligns=False))
            system = evaluator.translate(text.source)
            missing += evaluator.missing
        others[name] = system
    return others, missing


def _made_by(models: ChosenModels) -> dict[str, Any]:
    """Return the weights' digests and the decoding options for JSON; None if they are unknown."""
    if FLAGS.hypotheses or models.version:
        return {"weights_sha256": None, "decoding": None}
    digests = [ModelDirectory(path).check_weights(FLAGS.weights) for path in models.paths]
    return {"weights_sha256": digests, "decoding": dataclasses.asdict(models.decoding)}


def _write_translations(translations: list[str]) -> bool:
    """Write the translations; False, with a warning, if it fails: scores are printed anyway."""
    content = "".join(single_line(line) + "\n" for line in translations)
    try:
        with input_errors(FLAGS.translations):
            write_atomically(FLAGS.translations, content.encode())
    except InputError as error:
        COMMAND.warn(str(error))
        return False
    return True


def _calibration(evaluator: "Evaluator", text: ParallelText) -> "Calibration | None":
    """Measure the calibration; None, with a warning, if it fails: scores are printed anyway."""
    try:
        return evaluator.calibration(evaluator.pairs(text))
    except InputError as error:
        COMMAND.warn(str(error))
        return None


def _test_set(text: ParallelText, references: "list[Reference]") -> str:
    """Return a digest of the source and all references."""
    several = [one for one in references if not isinstance(one, str)]
    return json_digest([text.fingerprint(), several]) if several else text.fingerprint()


def _references(text: ParallelText) -> "list[Reference]":
    others = (FLAGS.reference or [])[1:]
    if not others:
        return [*text.target]
    sets = (translation_lines("reference", paths, text.source) for paths in others)
    return list(zip(text.target, *sets, strict=True))


def _write_sample(translator: "Translator", text: ParallelText, translations: list[str]) -> None:
    from rnnsearch_tf.visualization.sample_page import SampleText, write_sample

    sample = SampleText(text.source, text.target, translations, translator.config.languages)
    write_sample(FLAGS.sample_html, sample, translator.align, translator.score, FLAGS.sample)
