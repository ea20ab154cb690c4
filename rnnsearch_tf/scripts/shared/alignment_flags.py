"""Flags of every script that links words."""

from typing import TYPE_CHECKING

from rnnsearch_tf.alignment.extraction import ALIGNER_LINKS, LinkMethod, LinkWeights
from rnnsearch_tf.alignment.links import THRESHOLD, LinkRule, RuleName
from rnnsearch_tf.alignment.symmetrization import Symmetrization
from rnnsearch_tf.config import AlignmentName
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import (
    checked_models,
    model_folders,
    open_translator,
)
from rnnsearch_tf.scripts.shared.file_flags import MODEL_FOLDERS

if TYPE_CHECKING:
    from rnnsearch_tf.alignment.word_aligner import PairAligner


def define_alignment(command: Command) -> None:
    """Add the flags that say how the attention of one or two models becomes links."""
    command.group("Links")
    command.define(
        "alignment",
        AlignmentName,
        "attention: of the model, or of two models; aligner: that of rnnsearch-aligner in the "
        "model directory, with the posteriors of its two directions for the weights of two models. "
        "They are averaged unless --symmetrize is given",
        "attention",
    )
    command.define(
        "reverse_model_dir",
        MODEL_FOLDERS,
        "a model of the other direction, with the same tokeniser; as --model_dir",
    )
    command.define(
        "rule",
        RuleName,
        "argmax: each target word is linked to the source word it attends to most, or to none if "
        "that is </s>; threshold: words are linked where the weight is at least --threshold. The "
        "row and the column of </s> give no links (default: argmax; of the aligner, threshold)",
    )
    command.define(
        "threshold",
        float,
        f"of --rule=threshold, above 0, at most 1 (default: {LinkRule.threshold}; of the aligner, "
        f"{ALIGNER_LINKS.rule.threshold})",
        limits=THRESHOLD,
    )
    command.define(
        "average_alignments",
        bool,
        "use the geometric mean of both models' weights, instead of the links of each",
        False,
    )
    command.define(
        "symmetrize",
        Symmetrization,
        "join the rule's links of target words with its links of source words (by the reverse "
        "model, if there is one, or in the columns of the same weights) (default: none; with two "
        "models that are not averaged, grow-diag-final-and)",
    )


def link_method(command: Command) -> LinkMethod:
    """Return the method that the flags describe; UsageError where they do not go together."""
    flags = command.flags
    if flags.alignment == "aligner":
        return _aligner_links(command)
    if flags.average_alignments and not flags.reverse_model_dir:
        raise UsageError("--average_alignments needs --reverse_model_dir")
    weights: LinkWeights = "forward"
    if flags.reverse_model_dir:
        weights = "average" if flags.average_alignments else "both"
    symmetrization = flags.symmetrize
    if weights == "both" and symmetrization is None:
        symmetrization = "grow-diag-final-and"
    return LinkMethod(_rule(command, LinkRule("argmax")), weights, symmetrization)


def _aligner_links(command: Command) -> LinkMethod:
    flags = command.flags
    if flags.reverse_model_dir or flags.average_alignments:
        raise UsageError(
            "--alignment=aligner has both directions: no --reverse_model_dir, and they are "
            "averaged unless --symmetrize is given"
        )
    weights: LinkWeights = "both" if flags.symmetrize else "average"
    return LinkMethod(_rule(command, ALIGNER_LINKS.rule), weights, flags.symmetrize)


def _rule(command: Command, default: LinkRule) -> LinkRule:
    flags = command.flags
    name = flags.rule or default.name
    if flags.threshold is not None and name != "threshold":
        raise UsageError("--threshold needs --rule=threshold")
    threshold = default.threshold if flags.threshold is None else flags.threshold
    return LinkRule(name, threshold)


def aligned_models(command: Command) -> list[str]:
    """Return the folders of all models that align, checked as by `checked_models`."""
    reverse = command.flags.reverse_model_dir
    others = checked_models(command, reverse) if reverse else []
    models = checked_models(command)
    if command.flags.alignment == "aligner":
        ModelDirectory(models[0]).find_aligner()
    return [*models, *others]


def word_aligner(command: Command) -> "PairAligner":
    """Load what the flags name; InputError where models do not go together."""
    from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
    from rnnsearch_tf.alignment.word_aligner import TrainedAligner, WordAligner

    forward, reverse = open_translator(command), command.flags.reverse_model_dir
    if command.flags.alignment == "aligner":
        folder = model_folders(command)[0]
        return TrainedAligner(forward, HmmAligner.load(ModelDirectory(folder).find_aligner()))
    return WordAligner(forward, open_translator(command, reverse) if reverse else None)
