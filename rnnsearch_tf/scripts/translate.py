"""rnnsearch-translate: text in, translations out, line by line."""

import dataclasses
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.models.model_directory import DEFAULT
from rnnsearch_tf.results import Alignment, Translation
from rnnsearch_tf.scripts.shared.chosen_models import choose_models
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_decoding, define_model
from rnnsearch_tf.scripts.shared.figure_flags import check_figures, define_figures, draw_figure
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE, INPUT_LINES
from rnnsearch_tf.scripts.shared.line_stream import LineStream
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.resumable_file import define_line_output, line_output
from rnnsearch_tf.scripts.shared.text_input import Decoder, input_lines, is_live, live_windows
from rnnsearch_tf.scripts.shared.text_warnings import warn_of_cut_lines, warn_of_unknown_words
from rnnsearch_tf.scripts.shared.translation_lines import (
    check_n_best,
    check_split_sentences,
    define_split_sentences,
    define_translation_format,
    translation_format,
)
from rnnsearch_tf.text.sentences import SentenceSplitter, seems_to_have_several
from rnnsearch_tf.windows import text_windows

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

COMMAND = Command(
    "rnnsearch-translate",
    "translate text, one sentence per line: N lines in, N lines out, in order. A blank line gives "
    "a blank line. So does a line for which no translation has a finite score, with a warning and "
    "exit status 1. At a terminal, each line is translated as it is typed; from a pipe, as soon as "
    "no further line arrives. Decoding options override the model's own.",
    "rnnsearch-translate --model_dir=model --input=test.en --output=test.fr",
)
FLAGS = COMMAND.flags
define_model(
    COMMAND,
    "the trained model; several are an ensemble; or the folder of an export, or the name of the "
    "pretrained model",
    DEFAULT,
)
COMMAND.group("Data")
COMMAND.define(
    "input", INPUT_LINES, "text to translate, UTF-8, plain or .gz; - is standard input", "-"
)
define_split_sentences(COMMAND)
define_line_output(COMMAND, "translations")
COMMAND.group("Output")
define_translation_format(COMMAND)
COMMAND.define(
    "closest_to",
    INPUT_FILE,
    "of the --n_best translations of a line, write only the one with the highest sentence BLEU "
    "against the same line of this file: training text for a student (sequence-level "
    "interpolation, Kim & Rush 2016); needs an --input file",
)
define_figures(COMMAND)
define_decoding(COMMAND)


@COMMAND.entry
def run() -> int:
    """Translate."""
    check_figures(COMMAND)
    references = _references()
    to_text = translation_format(COMMAND, FLAGS.n_best if references is None else 1)
    aligns = bool(FLAGS.alignment or FLAGS.figures)
    check_split_sentences(COMMAND, aligns)
    models = choose_models(COMMAND)
    check_n_best(COMMAND, models.decoding)
    output = line_output(COMMAND, models.digests)
    with quiet_start():
        from rnnsearch_tf.threads import limit_operations

        limit_operations(1)
        translator = models.open(aligns=aligns)
        if not is_live(FLAGS.input):
            translator.prepare()
    if aligns and not translator.aligns:
        COMMAND.warn(f"{translator.config.model.architecture} has no attention: there are no links")
    if FLAGS["model_dir"].using_default_value:
        languages = " to ".join(translator.config.languages)
        COMMAND.warn(f"using the pretrained model {DEFAULT}, {languages} (see --model_dir)")
    results = translator.translate_windows(
        _checked(_windows(output), translator, output.done),
        n_best=FLAGS.n_best,
        return_alignment=aligns,
        split_sentences=FLAGS.split_sentences,
        text_only=not (aligns or FLAGS.word_scores),
    )
    if references is not None:
        results = _closest(results, references, output.done)
    if not _is_typed():
        results = output.counted(results, "line")
    results = _with_advice(results, translator.config, output.done)
    output.write(_output(results, to_text, output, translator.config.languages))
    return int(output.has_failed)


def _references() -> list[str] | None:
    """Read the file of --closest_to, if given; InputError if it and the input differ in length.

    UsageError without several translations, or if the lines of the input cannot be counted.
    """
    if FLAGS.closest_to is None:
        return None
    if FLAGS.n_best == 1:
        raise UsageError("--closest_to needs an --n_best above 1, to choose from")
    if FLAGS.input == "-" or is_live(FLAGS.input):
        raise UsageError("--closest_to needs an --input that is a file")
    references = read_lines(FLAGS.closest_to)
    lines = sum(1 for _ in input_lines(FLAGS.input))
    if lines != len(references):
        raise InputError(
            f"{FLAGS.closest_to} has {len(references):,} lines, the input has {lines:,}"
        )
    return references


def _closest(
    translations: Iterable[Translation], references: list[str], done: int
) -> Iterator[Translation]:
    """Keep only the hypothesis with the highest sentence BLEU, the first of equal ones.

    The first translation is that of line `done`, from 0.
    """
    from rnnsearch_tf.data.parallel_corpus import CHANGED
    from rnnsearch_tf.evaluation.metrics import METRICS, language_tokens

    tokens = language_tokens(references)
    for result, reference in itertools.zip_longest(translations, references[done:]):
        if result is None or reference is None:
            raise InputError(CHANGED)
        texts = [hypothesis.text for hypothesis in result.hypotheses]
        scores = METRICS["bleu"].sentence_scores(texts, [reference] * len(texts), tokens)
        chosen = result.hypotheses[scores.index(max(scores))]
        yield dataclasses.replace(result, hypotheses=(chosen,))


def _windows(output: LineStream) -> Iterator[list[bytes]]:
    """Read the input in windows that are searched together."""
    from rnnsearch_tf.inference.translator import LINES_AT_ONCE

    if _is_typed():
        return text_windows(output.rest_of(_typed()), 1)
    path = FLAGS.input
    lines = output.rest_of(input_lines(path))
    return (live_windows if is_live(path) else text_windows)(lines, LINES_AT_ONCE)


def _is_typed() -> bool:
    return FLAGS.input == "-" and sys.stdin.isatty()


def _typed() -> Iterator[bytes]:
    """Read lines as they are typed, each after a prompt."""
    while True:
        print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.buffer.readline()
        if not line:
            print(file=sys.stderr)
            return
        yield line.rstrip(b"\r\n")


def _checked(
    lines: Iterable[list[bytes]], translator: "Translator", done: int
) -> Iterator[list[bytes]]:
    """Pass windows on, with warnings of invalid UTF-8, unknown words and truncated lines."""
    decoder = Decoder(COMMAND.warn)
    language = translator.config.source_language
    splitter = SentenceSplitter(language) if FLAGS.split_sentences else None
    for window_number, window in enumerate(lines):
        texts = [decoder(line, number) for number, line in enumerate(window, done + 1)]
        if not window_number:
            warn_of_unknown_words(COMMAND, translator, texts)
        if splitter is not None:
            texts = [max(splitter.split(text), key=len) for text in texts]
        warn_of_cut_lines(COMMAND, translator, texts, before=done, source_name="line")
        done += len(window)
        yield window


def _with_advice(
    translations: Iterable[Translation], config: Config, done: int
) -> Iterator[Translation]:
    """Pass translations on; finally warn of those that may be truncated, and of lines to split.

    A translation of the maximum length may be truncated. Subword translations given in words, and
    lines in one case that the model reads as other tokens, are not counted. Lines to split have
    several sentences, and more tokens than the sentences in training.
    """
    max_length = config.training.max_length
    longest, several = [], []
    for number, result in enumerate(translations, done + 1):
        best, length = result.hypotheses[0], len(result.source_tokens)
        is_longest = len(best.tokens) == config.decoding.max_target_tokens(length)
        if is_longest and len(best.tokens) > 1 and not best.pieces:
            longest.append(number)
        is_long = length > max_length + 1 and not FLAGS.split_sentences
        if is_long and seems_to_have_several(result.source):
            several.append(number)
        yield result
    if longest:
        COMMAND.warn(
            f"translations of the maximum length, perhaps truncated: {len(longest):,}, the first "
            f"of line {longest[0]:,} (see --max_length_ratio and --max_length)"
        )
    if several:
        COMMAND.warn(
            f"lines of several sentences and more than {max_length} tokens: {len(several):,}, the "
            f"first is line {several[0]:,}; --split_sentences translates sentences one by one"
        )


def _output(
    translations: Iterable[Translation],
    to_text: Callable[[Translation, int], str],
    output: LineStream,
    languages: tuple[str, str],
) -> Iterator[str]:
    """Yield the line of each translation, or its lines."""
    for number, result in enumerate(translations, output.done):
        is_finite = math.isfinite(result.score)
        output.check(number + 1, is_finite, "no translation with a finite score")
        if FLAGS.figures:
            sides = result.source_tokens, result.tokens
            pair = Alignment(*sides, result.alignment, result.unknown or ())
            draw_figure(COMMAND, number + 1, pair, languages)
        yield to_text(result, number)
