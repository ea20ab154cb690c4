"""Results of the paper's models, and of other systems."""

import dataclasses
from typing import NamedTuple

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
    """Results of one model."""

    name: str  # as the paper calls it, "RNNsearch-50"
    max_length: int  # the longest sentences in training, in tokens
    parameters: int
    updates: int  # of its training, like the next four
    epochs: float
    hours: float  # evaluations not counted
    hardware: str
    software: str
    train_pairs: int  # of `train_nll`
    train_nll: Nll  # of the best weights, without dropout
    validation_pairs: int
    validation_nll: Nll
    all: SetScores  # of the whole test set, [UNK] allowed in the output
    all_without_unk: SetScores  # the same, [UNK] not allowed
    all_replaced: SetScores | None  # the same, each [UNK] replaced by way of the attention
    no_unknown: SetScores | None  # of sentences without unknown words, [UNK] not allowed
    by_length: list[LengthBin]  # [UNK] allowed, as in the next
    examples: list[Example]  # translations of long sentences
    alignments: list[SoftAlignment]  # of RNNsearch
    translations: list[str]  # of the test set, [UNK] allowed
    translations_without_unk: list[str]  # the same, [UNK] not allowed


class SystemResults(NamedTuple):
    """Results of another system, whose translations of the test set were given."""

    name: str
    all: SetScores
    no_unknown: SetScores | None  # of sentences without words unknown to the models
    # Of differences in BLEU: of "all" and of "no_unknown", from each model, by name.
    p_values: dict[str, dict[str, float | None]]
