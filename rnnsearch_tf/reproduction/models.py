"""Models of the paper, their settings at each size, and the text they are trained on."""

import dataclasses
from typing import Literal

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText
from rnnsearch_tf.presets import PRESETS

# Model directory to the paper's name, in the order of its Table 1.
_NAMES = "RNNencdec-30", "RNNsearch-30", "RNNencdec-50", "RNNsearch-50"
MODELS = {name.lower(): name for name in _NAMES}
Size = Literal["paper", "small", "tiny"]


@dataclasses.dataclass(frozen=True)
class Texts:
    """Text of a reproduction."""

    training: Corpus
    validation: ParallelText  # chooses the best weights
    test: ParallelText  # for Table 1 and Fig. 3
    by_length: ParallelText  # for Fig. 2 and Table 3; may be `test`
    described: dict[str, str]  # role to description, for the report
    systems: dict[str, list[str]]  # other systems' translations of `test`, by name


def preset(name: str, size: Size) -> Config:
    """Return the settings of one of the four models at a size."""
    paper = PRESETS[name]
    if size == "paper":
        return paper
    smaller = PRESETS[f"{paper.model.architecture}-{size}"]
    return smaller.with_settings(max_length=paper.training.max_length)
