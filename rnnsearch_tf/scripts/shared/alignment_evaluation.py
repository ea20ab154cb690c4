"""rnnsearch-evaluate --alignments: a model's links compared with gold links."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rnnsearch_tf.alignment.error_rate import AlignmentScores, alignment_scores
from rnnsearch_tf.alignment.extraction import LinkMethod, LinkWeights, all_methods
from rnnsearch_tf.alignment.formats import read_gold
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.scripts.shared.alignment_flags import (
    by_aligner,
    choose_aligned_models,
    define_alignment,
    link_method,
)
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.text_output import write_scores

if TYPE_CHECKING:
    from rnnsearch_tf.alignment.word_aligner import PairAlignment

_TUNED = ("rule", "threshold", "symmetrize", "average_alignments")
_OF_LINKS = ("tune", "flip_gold", "alignment", "reverse_model_dir", *_TUNED)
_SHOWN = 10  # the best methods of --tune
_OF_TRANSLATIONS = ("translations", "sample_html", "system", "hypotheses", "calibration")


class MethodScores(NamedTuple):
    """Method with the scores of its links."""

    method: LinkMethod
    scores: AlignmentScores

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        rule = self.method.rule
        return {
            "weights": self.method.weights,
            "rule": rule.name,
            "threshold": rule.threshold,
            "symmetrize": self.method.symmetrization,
            **self.scores.as_dict(),
        }


def define_alignment_evaluation(command: Command) -> None:
    """Add --alignments and the flags for it."""
    command.group("Alignment error rate")
    command.define(
        "alignments",
        INPUT_FILE,
        "gold links between the words of --source and --reference, in Pharaoh format (i-j sure, "
        "ipj possible, from 0) or in that of NAACL 2003 (sentence i j S|P, from 1); instead of "
        "translating, link these words and print alignment error rate, precision and recall. Words "
        "are separated by whitespace, and must be the model's: train it with "
        "--tokenizer=whitespace or sentencepiece",
    )
    command.define("flip_gold", bool, "the gold links have the target position first", False)
    command.define(
        "tune",
        bool,
        "with --alignments: try every rule, threshold and symmetrization and print the ten best, "
        "for a validation set",
        False,
    )
    define_alignment(command)


def wants_alignments(command: Command) -> bool:
    """Whether links are to be scored; UsageError for a flag that would do nothing."""
    if command.flags.alignments is None:
        command.refuse(_OF_LINKS, "needs --alignments")
        return False
    command.refuse(_OF_TRANSLATIONS, "cannot be combined with --alignments")
    if command.flags.tune:
        command.refuse(_TUNED, "cannot be combined with --tune, which tries them all")
    return True


def evaluate_alignments(command: Command, text: ParallelText) -> None:
    """Score links between the words of a text against --alignments and print the figures."""
    flags = command.flags
    if len(flags.reference or []) > 1:
        raise UsageError("--alignments takes only one --reference")
    methods = _methods(command)
    models = choose_aligned_models(command)
    lengths = [(len(x.split()), len(y.split())) for x, y in zip(*text, strict=True)]
    gold = read_gold(flags.alignments, lengths, flags.flip_gold)
    with quiet_start():
        aligner = models.open()
    pairs = aligner.align(text)
    _check_words(pairs, lengths)
    tried = []
    for method in methods:
        links = [method.links(*pair.weights) for pair in pairs]
        tried.append(MethodScores(method, alignment_scores(links, gold)))
    figures: dict[str, Any] = {}
    if flags.json:
        figures["methods"] = [method.as_dict() for method in tried]
    if flags.tune:
        tried.sort(key=lambda one: math.inf if one.scores.aer is None else one.scores.aer)
        figures["best"] = tried[0].as_dict()
    write_scores(flags.json, figures, scores_table(tried[:_SHOWN]))


def _methods(command: Command) -> list[LinkMethod]:
    """Return the methods of each of two models alone, then that of the flags; or all methods."""
    chosen = link_method(command)
    flags = command.flags
    with_aligner = by_aligner(command)
    two_models = flags.reverse_model_dir is not None or with_aligner
    if flags.tune:
        methods = all_methods(two_models)
        # Those of an aligner that flags can ask for.
        own = (m for m in methods if m.weights == ("both" if m.symmetrization else "average"))
        return list(own) if with_aligner else methods
    each: tuple[LinkWeights, ...] = ("forward", "reverse") if two_models else ()
    return [*(LinkMethod(chosen.rule, weights) for weights in each), chosen]


def _check_words(pairs: list["PairAlignment"], lengths: list[tuple[int, int]]) -> None:
    """Check that the model, which may split or cut sentences, reads the words of the gold links."""
    for number, (pair, expected) in enumerate(zip(pairs, lengths, strict=True), 1):
        tokens = pair.forward.source_tokens, pair.forward.target_tokens
        read = tuple(len(side) - 1 for side in tokens)  # without </s>
        if read != expected:
            raise InputError(
                f"line {number:,} has {expected[0]:,} and {expected[1]:,} words, but the model "
                f"reads {read[0]:,} and {read[1]:,}: use a model trained with "
                "--tokenizer=whitespace (or sentencepiece, where words have spaces between them), "
                "and lines up to its --max_length"
            )


def scores_table(tried: Sequence[MethodScores]) -> str:
    """Return a table with a line for each method."""
    width = max(len(str(method)) for method, _ in tried)
    lines = [f"{'':{width}}        AER %  precision  recall  links"]
    for method, scores in tried:
        interval = scores.aer_interval
        error = _percent(scores.aer) + ("" if interval is None else f" ± {100 * interval:.1f}")
        lines.append(
            f"{method!s:{width}}  {error:>11}  {_percent(scores.precision):>9}"
            f"  {_percent(scores.recall):>6} {scores.links:6,}"
        )
    scores = tried[0].scores
    lines.append(f"{scores.sentences:,} sentence pairs, {scores.sure:,} sure links")
    return "\n".join([*lines, ""])


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f}"
