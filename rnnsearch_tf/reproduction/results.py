"""Results of one of the paper's models, as JSON and back."""

import dataclasses
from typing import Any, NamedTuple

from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.likelihood import Nll
from rnnsearch_tf.evaluation.scores import SetScores


class Example(NamedTuple):
    """Sentence with its reference and its translation."""

    source: str
    reference: str
    translation: str


class SoftAlignment(NamedTuple):
    """Soft alignment of a sentence and its translation, both with `</s>`."""

    source_tokens: list[str]  # Tx
    target_tokens: list[str]  # Ty
    alignment: list[list[float]]  # α, [Ty, Tx]


@dataclasses.dataclass(frozen=True)
class ModelResults:
    """Results of one model.

    Attributes:
        name: as the paper calls it, "RNNsearch-50".
        max_length: the longest sentences in training, in tokens.
        parameters: number of weights.
        updates: of its training.
        epochs: likewise.
        hours: likewise, evaluations not counted.
        hardware: on which it was trained.
        train_pairs: number of training pairs for `train_nll`.
        train_nll: of the best weights, without dropout.
        validation_pairs: number of pairs for `validation_nll`.
        validation_nll: likewise.
        all: scores of the whole test set, [UNK] allowed.
        all_without_unk: the same with [UNK] not allowed in the output.
        all_replaced: the same with each [UNK] replaced by way of the attention; None without any.
        no_unknown: scores of the sentences without unknown words, [UNK] not allowed in the output;
            None without such.
        by_length: BLEU over source length, [UNK] allowed.
        examples: translations of long sentences, [UNK] allowed.
        alignments: of RNNsearch.
    """

    name: str
    max_length: int
    parameters: int
    updates: int
    epochs: float
    hours: float
    hardware: str
    train_pairs: int
    train_nll: Nll
    validation_pairs: int
    validation_nll: Nll
    all: SetScores
    all_without_unk: SetScores
    all_replaced: SetScores | None
    no_unknown: SetScores | None
    by_length: list[LengthBin]
    examples: list[Example]
    alignments: list[SoftAlignment]

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(x) for x in value]
    if isinstance(value, SetScores):
        return value.as_dict()
    return value._asdict() if hasattr(value, "_asdict") else value
