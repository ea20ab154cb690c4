"""Soft alignments of given sentence pairs, by one model or by two of opposite directions."""

from typing import NamedTuple

import numpy as np

from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.results import Alignment


class PairAlignment(NamedTuple):
    """The soft alignments of a sentence pair."""

    forward: Alignment  # of the source-to-target model, α [Ty, Tx]
    reverse: Alignment | None  # of the target-to-source model, β [Tx, Ty]

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray | None]:
        """α, and β where there is one: what `LinkMethod.links` reads."""
        return self.forward.weights, None if self.reverse is None else self.reverse.weights


class WordAligner:
    """Aligns given sentence pairs, each side read as the models' tokeniser splits it.

    Args:
        forward: source to target.
        reverse: target to source, with the same tokeniser and `max_length`.

    Raises:
        InputError: a model without attention; two models that are not each other's reverse.
    """

    def __init__(self, forward: Translator, reverse: Translator | None = None):
        for translator in (forward, reverse):
            if translator is not None and not translator.config.model.has_attention:
                architecture = translator.config.model.architecture
                raise InputError(f"{architecture} has no attention and aligns nothing")
        if reverse is not None:
            _check_reversed(forward, reverse)
        self._forward = forward
        self._reverse = reverse

    def align(self, text: ParallelText) -> list[PairAlignment]:
        """Soft alignments of sentence pairs, each side read by teacher forcing in its turn."""
        forward = self._forward.align(text.source, text.target, progress=False)
        if self._reverse is None:
            return [PairAlignment(alignment, None) for alignment in forward]
        reverse = self._reverse.align(text.target, text.source, progress=False)
        return [PairAlignment(*pair) for pair in zip(forward, reverse, strict=True)]

    def lengths(self, text: ParallelText) -> list[tuple[int, int]]:
        """Tokens of each sentence pair, (source, target), `</s>` not counted."""
        counts = (
            self._forward.source_lengths(text.source),
            self._forward.target_lengths(text.target),
        )
        return list(zip(*counts, strict=True))


def _check_reversed(forward: Translator, reverse: Translator) -> None:
    a, b = forward.config, reverse.config
    if (b.target_language, b.source_language) != (a.source_language, a.target_language):
        raise InputError(
            f"the reverse model is {b.source_language}-{b.target_language}, "
            f"the other {a.source_language}-{a.target_language}"
        )
    if b.tokenizer != a.tokenizer:
        raise InputError(
            f"the reverse model reads {b.tokenizer} tokens, the other {a.tokenizer} tokens"
        )
    most = a.decoding.max_length, b.decoding.max_length
    if most[0] != most[1]:
        raise InputError(f"the reverse model reads {most[1]:,} tokens, the other {most[0]:,}")
