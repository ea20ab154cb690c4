"""Candidate words: the few words to which the search is restricted."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from rnnsearch_tf.decoding.continuations import BLOCK
from rnnsearch_tf.models.translation_step import Candidates
from rnnsearch_tf.tensor_types import Int, Tensor
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS


class CandidateLists(tf.Module):
    """Makes the list of a sentence: the most frequent words, and translations of its own words.

    This follows Jean et al. (2015), On Using Very Large Target Vocabulary, section 3.2. A list
    depends on its sentence alone. The sentences of a batch share the columns of W_o of all their
    lists; a word of another sentence has a penalty of -inf.
    """

    def __init__(
        self,
        translations: np.ndarray,  # ids of target words for each source word, int32 [K_x, n], or 0
        size: int,  # K, the number of target words, of which the first are the most frequent
        frequent: int,  # how many of those are in every list, besides the special tokens
        beam_size: int,
    ):
        super().__init__()
        self._translations = tf.Variable(translations, trainable=False)  # saved with an export
        self._size = size
        self._frequent = frequent + len(SPECIAL_TOKENS)
        self._least = beam_size * BLOCK

    def of(self, source: Int[Tensor, "B Tx"], also: Int[Tensor, "B P"] | None = None) -> Candidates:
        """Return the candidates for source ids: ascending, padded with 0 for `best_continuations`.

        `also` has further words of each sentence's list, padded with 0.
        """
        own = tf.reshape(tf.gather(self._translations, source), [tf.shape(source)[0], -1])
        if also is not None:
            own = tf.concat([own, also], axis=1)
        counts = tf.math.bincount(own, minlength=self._size, maxlength=self._size, axis=-1)
        is_own = (counts > 0) | (tf.range(self._size) < self._frequent)  # [B, K]
        words = tf.cast(tf.where(tf.reduce_any(is_own, axis=0))[:, 0], tf.int32)
        penalty = tf.where(tf.gather(is_own, words, axis=1), 0.0, -math.inf)
        missing = tf.maximum(self._least - tf.size(words), -tf.size(words) % BLOCK)
        return Candidates(
            tf.pad(words, [[0, missing]]),
            tf.pad(penalty, [[0, 0], [0, missing]], constant_values=-math.inf),
        )
