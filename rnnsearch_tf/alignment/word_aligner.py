"""Soft alignments of given sentence pairs, by attention or by a trained aligner."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.text.typography import plain
from rnnsearch_tf.windows import text_windows

_PAIRS_AT_ONCE = 256


class PairAlignment(NamedTuple):
    """Soft alignments of a sentence pair."""

    forward: Alignment  # of the source-to-target model, α [Ty, Tx]
    reverse: Alignment | None  # of the target-to-source model, β [Tx, Ty]

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray | None]:
        """α, and β or None: the arguments of `LinkMethod.links`."""
        return self.forward.weights, None if self.reverse is None else self.reverse.weights


class WordAligner:
    """Aligns given sentence pairs, split into tokens by the models' common tokenizer.

    A model with an `HmmAligner` needs no reverse model: the aligner works in both directions.
    InputError for a model that cannot align, and for two that are not each other's reverse.
    """

    def __init__(self, forward: Translator, reverse: Translator | None = None):
        for translator in (forward, reverse):
            if translator is not None and not translator.aligns:
                architecture = translator.config.model.architecture
                raise InputError(f"{architecture} has no attention, so it cannot align")
        if reverse is not None:
            _check_reversed(forward, reverse)
        self.forward = forward
        self._reverse = reverse

    def align(self, text: ParallelText) -> list[PairAlignment]:
        """Align sentence pairs, by the aligner or by teacher forcing of each model."""
        if self.forward.aligner is not None:
            return self._by_aligner(self.forward.aligner, text)
        forward = self.forward.align(text.source, text.target, progress=False)
        reverse: list[Alignment] | list[None] = [None] * len(forward)
        if self._reverse is not None:
            reverse = self._reverse.align(text.target, text.source, progress=False)
            for one, other in zip(forward, reverse, strict=True):
                _check_words(one, other)
        return [PairAlignment(*pair) for pair in zip(forward, reverse, strict=True)]

    def align_stream(self, pairs: Iterable[tuple[str, str]]) -> Iterator[PairAlignment]:
        """Align any number of sentence pairs, as `align`; also those before an error of `pairs`."""
        for window in text_windows(pairs, _PAIRS_AT_ONCE):
            source, target = map(list, zip(*window, strict=True))
            yield from self.align(ParallelText(source, target))

    def _by_aligner(self, aligner: HmmAligner, text: ParallelText) -> list[PairAlignment]:
        """Return the posteriors of `HmmAligner.align` as α and β."""
        source, target, read = self.forward.words_of_pairs(*text)
        weights = aligner.align(read, [y.words[:-1] for y in target])
        return [
            PairAlignment(
                Alignment(x.words, y.words, alpha, x.unknown, y.unknown),
                Alignment(y.words, x.words, beta, y.unknown, x.unknown),
            )
            for x, y, (alpha, beta) in zip(source, target, weights, strict=True)
        ]


def _check_words(forward: Alignment, reverse: Alignment) -> None:
    """Check that both models have the same words: their subwords may be others."""
    ours = forward.source_tokens, forward.target_tokens
    theirs = reverse.target_tokens, reverse.source_tokens
    if any([*map(plain, a)] != [*map(plain, b)] for a, b in zip(ours, theirs, strict=True)):
        raise InputError(
            f"the models split {' '.join(forward.source_tokens[:-1])[:80]!r} or its translation "
            "into different words: train both with the same --subword_models"
        )


def _check_reversed(forward: Translator, reverse: Translator) -> None:
    a, b = forward.config, reverse.config
    if (b.target_language, b.source_language) != (a.source_language, a.target_language):
        raise InputError(
            f"the reverse model is {b.source_language}-{b.target_language}, not "
            f"{a.target_language}-{a.source_language}"
        )
    if b.tokenizer != a.tokenizer:
        raise InputError(
            f"the reverse model reads {b.tokenizer} tokens, the other {a.tokenizer} tokens"
        )
    max_lengths = a.decoding.max_length, b.decoding.max_length
    if max_lengths[0] != max_lengths[1]:
        raise InputError(
            f"the reverse model reads {max_lengths[1]:,} tokens, the other {max_lengths[0]:,}"
        )
