"""Flags of every script that links words."""

from typing import TYPE_CHECKING, NamedTuple

from rnnsearch_tf.alignment.extraction import ALIGNER_LINKS, LinkMethod, LinkWeights
from rnnsearch_tf.alignment.links import DEFAULT_THRESHOLD, THRESHOLD, LinkRule, RuleName
from rnnsearch_tf.alignment.symmetrization import Symmetrization
from rnnsearch_tf.config import AlignmentName
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.inference.exported import Export, find_version
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts.shared.chosen_models import ChosenModels, choose_models, model_folders
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import MODEL_FOLDERS

if TYPE_CHECKING:
    from rnnsearch_tf.alignment.word_aligner import WordAligner


def define_alignment(command: Command) -> None:
    """Add the flags that say how the attention of one or two models becomes links."""
    command.group("Links")
    command.define(
        "alignment",
        AlignmentName,
        "attention: of one or two models; aligner: the one that rnnsearch-aligner has written into "
        "the model directory, with the posteriors of both directions, averaged unless --symmetrize "
        "is given (default: aligner, if there is one and no --reverse_model_dir)",
    )
    command.define(
        "reverse_model_dir",
        MODEL_FOLDERS,
        "a model of the other direction, or an ensemble, with the same tokenizer",
    )
    command.define(
        "rule",
        RuleName,
        "argmax: each target word is linked to the source word it attends to most, or to none if "
        "that is </s>; threshold: words are linked where the weight is at least --threshold. The "
        "row and the column of </s> give no links (default: argmax; with the aligner, threshold)",
    )
    command.define(
        "threshold",
        float,
        f"for --rule=threshold, above 0 and at most 1 (default: {DEFAULT_THRESHOLD}; with the "
        f"aligner, {ALIGNER_LINKS.rule.threshold})",
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
        "combine the links of target words with those of source words, from the reverse model or, "
        "without one, from the columns of the same weights (default: none; with two models that "
        "are not averaged, grow-diag-final-and)",
    )


def by_aligner(command: Command) -> bool:
    """Whether a model directory's aligner links words; an export does not have both directions."""
    folder, wanted = model_folders(command)[0], _wanted(command)
    if find_version(folder):
        return False
    return wanted == "aligner" or ModelDirectory(folder).find_aligner(wanted) is not None


def _wanted(command: Command) -> AlignmentName | None:
    """Return the requested source of alignments; None: the aligner, if there is one."""
    flags = command.flags
    return flags.alignment or ("attention" if flags.reverse_model_dir else None)


def link_method(command: Command) -> LinkMethod:
    """Return the method that the flags describe; UsageError if they are incompatible."""
    flags = command.flags
    if by_aligner(command):
        if flags.reverse_model_dir or flags.average_alignments:
            raise UsageError(
                "the aligner covers both directions and averages them unless --symmetrize is "
                "given: omit --reverse_model_dir and --average_alignments"
            )
        weights: LinkWeights = "both" if flags.symmetrize else "average"
        return LinkMethod(_rule(command, ALIGNER_LINKS.rule), weights, flags.symmetrize)
    if flags.average_alignments and not flags.reverse_model_dir:
        raise UsageError("--average_alignments needs --reverse_model_dir")
    weights = "forward"
    if flags.reverse_model_dir:
        weights = "average" if flags.average_alignments else "both"
    symmetrization = flags.symmetrize
    if weights == "both" and symmetrization is None:
        symmetrization = "grow-diag-final-and"
    return LinkMethod(_rule(command, LinkRule("argmax")), weights, symmetrization)


def _rule(command: Command, default: LinkRule) -> LinkRule:
    flags = command.flags
    name = flags.rule or default.name
    if flags.threshold is not None and name != "threshold":
        raise UsageError("--threshold needs --rule=threshold")
    own = default.threshold if name == default.name else None
    return LinkRule(name, own if flags.threshold is None else flags.threshold)


class AlignedModels(NamedTuple):
    """The models that align, and the requested source of alignments."""

    forward: ChosenModels
    reverse: ChosenModels | None
    wanted: AlignmentName | None

    def digests(self) -> list[dict[str, str]]:
        """Return the SHA-256 of each file that the links depend on."""
        return self.forward.digests() + (self.reverse.digests() if self.reverse else [])

    def open(self) -> "WordAligner":
        """Load them; InputError if the models are incompatible."""
        from rnnsearch_tf.alignment.word_aligner import WordAligner

        forward = self.forward.open(self.wanted)
        return WordAligner(forward, self.reverse.open("attention") if self.reverse else None)


def choose_aligned_models(command: Command) -> AlignedModels:
    """Read and check all models that align; as `choose_models`."""
    names, wanted = command.flags.reverse_model_dir, _wanted(command)
    reverse = choose_models(command, names) if names else None
    forward = choose_models(command)
    if forward.version is None:
        ModelDirectory(forward.paths[0]).find_aligner(wanted)  # for its check
    else:
        Export(forward.version).check_options(alignment=wanted)
    return AlignedModels(forward, reverse, wanted)
