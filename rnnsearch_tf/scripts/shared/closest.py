"""--closest_to: keep only the translation of each line that is closest to a reference."""

import dataclasses
from collections.abc import Iterable, Iterator

from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.results import Translation
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE
from rnnsearch_tf.scripts.shared.text_input import input_lines, is_live


def define_closest(command: Command) -> None:
    """Add --closest_to."""
    command.define(
        "closest_to",
        INPUT_FILE,
        "write, of the --n_best translations of a line, only the one with the highest sentence "
        "BLEU against this file's line: training text for a student (sequence-level interpolation, "
        "Kim & Rush 2016)",
    )


def read_references(command: Command) -> list[str] | None:
    """Read the file that --closest_to names, if one.

    UsageError without several translations; InputError if it has not as many lines as the input,
    where that can be counted before it is translated.
    """
    flags = command.flags
    if flags.closest_to is None:
        return None
    if flags.n_best == 1:
        raise UsageError("--closest_to needs an --n_best above 1, to choose from")
    references = read_lines(flags.closest_to)
    if not is_live(flags.input):
        lines = sum(1 for _ in input_lines(flags.input))
        if lines != len(references):
            raise InputError(
                f"{flags.closest_to} has {len(references):,} lines, the input has {lines:,}"
            )
    return references


def closest(
    translations: Iterable[Translation], references: list[str], done: int
) -> Iterator[Translation]:
    """Keep of each translation only the hypothesis with the highest sentence BLEU.

    Of equals, the first is kept. The first translation is that of line `done`, from 0. InputError
    if there are fewer or more references than translations.
    """
    from rnnsearch_tf.evaluation.metrics import METRICS, language_tokens

    tokens = language_tokens(references)
    left = iter(references[done:])
    for result in translations:
        reference = next(left, None)
        if reference is None:
            raise InputError("--closest_to has fewer lines than the input")
        texts = [hypothesis.text for hypothesis in result.hypotheses]
        scores = METRICS["bleu"].sentence_scores(texts, [reference] * len(texts), tokens)
        chosen = result.hypotheses[scores.index(max(scores))]
        yield dataclasses.replace(result, hypotheses=(chosen,))
    if next(left, None) is not None:
        raise InputError("--closest_to has more lines than the input")
