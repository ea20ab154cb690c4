"""What is reported of one of the paper's models, as JSON and back."""

import dataclasses
from typing import Any, NamedTuple

from rnnsearch_tf.evaluation.metrics import LengthBin, Nll


class SetScore(NamedTuple):
    """BLEU of a set of sentences."""

    sentences: int
    bleu: float  # sacreBLEU, detokenised
    interval: float | None  # half of the 95% confidence interval of `bleu`
    tokenized_bleu: float  # over Moses tokens, the paper's way

    def __str__(self) -> str:
        """BLEU with its interval."""
        return f"{self.bleu:.2f}" + (f" ± {self.interval:.2f}" if self.interval else "")


class Example(NamedTuple):
    """A sentence and its translation."""

    source: str
    reference: str
    translation: str


class SoftAlignment(NamedTuple):
    """A sentence, its translation, and where the model looked; `</s>` is on both sides."""

    source_tokens: list[str]  # Tx
    target_tokens: list[str]  # Ty
    alignment: list[list[float]]  # α, [Ty, Tx]


@dataclasses.dataclass(frozen=True)
class ModelResults:
    """All that is reported of one model.

    Attributes:
        name: as the paper calls it, "RNNsearch-50".
        max_length: the longest sentences in training, in tokens.
        parameters: weights of the model.
        epochs: of its training, as `updates` and `hours`.
        hardware: that it was trained on.
        train_pairs: how many training pairs `train_nll` is of.
        train_nll: of the best weights, without dropout.
        validation_pairs: how many pairs `validation_nll` is of.
        validation_nll: likewise.
        all: BLEU of the whole test set, [UNK] allowed.
        all_without_unk: the same with [UNK] barred from the output.
        all_replaced: the same with each [UNK] replaced by way of the attention; None without any.
        no_unknown: BLEU of the sentences without unknown words, [UNK] barred; None without such.
        by_length: BLEU over source length, [UNK] allowed.
        examples: translations of long sentences, [UNK] allowed.
        alignments: of RNNsearch.
        signature: sacreBLEU's, of `bleu`.
        tokenized_signature: sacreBLEU's, of `tokenized_bleu`.
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
    all: SetScore
    all_without_unk: SetScore
    all_replaced: SetScore | None
    no_unknown: SetScore | None
    by_length: list[LengthBin]
    examples: list[Example]
    alignments: list[SoftAlignment]
    signature: str
    tokenized_signature: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelResults":
        """What `as_dict` gave, also after a way through JSON."""
        made = {name: _READERS[name](value) for name, value in values.items() if name in _READERS}
        return cls(**{**values, **made})


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return value._asdict() if hasattr(value, "_asdict") else value


def _list_of(kind: Any) -> Any:
    return lambda values: [kind(**value) for value in values]


def _set_score(value: dict[str, Any] | None) -> SetScore | None:
    return SetScore(**value) if value is not None else None


_READERS: dict[str, Any] = {
    "train_nll": lambda value: Nll(**value),
    "validation_nll": lambda value: Nll(**value),
    "all": _set_score,
    "all_without_unk": _set_score,
    "all_replaced": _set_score,
    "no_unknown": _set_score,
    "by_length": _list_of(LengthBin),
    "examples": _list_of(Example),
    "alignments": _list_of(SoftAlignment),
}
