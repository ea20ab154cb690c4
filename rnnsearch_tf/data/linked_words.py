"""A check that links are between the words that the model reads."""

import itertools

import numpy as np

from rnnsearch_tf.data.parallel_corpus import Corpus, each_pair
from rnnsearch_tf.data.word_alignments import WordAlignmentBlock
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import say

_ENOUGH_PAIRS = 20  # to tell which words links are of


class LinkedWords:
    """Compares whitespace-separated words, which most aligners link, with those of the model.

    Args:
        spaced: the text before tokenization.
        splits_further: whether the tokenizer splits what whitespace separates.
    """

    def __init__(self, spaced: Corpus, splits_further: bool):
        self._pairs = each_pair(spaced)
        self._splits_further = splits_further
        self._done = 0  # pairs
        self._left_out = 0  # pairs with links that have other words
        self._split_further = np.zeros(2, np.int64)  # linked ones, and those whose links show it

    def compared(self, block: WordAlignmentBlock, lengths: np.ndarray) -> WordAlignmentBlock:
        """Return the next pairs' links that may be of the model's words; `lengths` counts these."""
        self._done += len(lengths)
        pairs = itertools.islice(self._pairs, len(lengths))
        split = np.reshape([len(line.encode().split()) for pair in pairs for line in pair], (-1, 2))
        has_links, has_beyond = block.counts > 0, _links_beyond(block, split)
        if self._splits_further:
            has_more = (split < lengths).any(axis=1) & has_links
            self._split_further += has_more.sum(), has_beyond.sum()
            return block
        # A link beyond the last whitespace-separated word shows that the model's words are linked.
        is_kept = (split == lengths).all(axis=1) | has_beyond
        self._left_out += int((has_links & ~is_kept).sum())
        links = block.links[np.repeat(is_kept, block.counts)]
        return block._replace(links=links, counts=block.counts * is_kept)

    def check(self, path: str) -> None:
        """Log how many pairs were left out; InputError if the links are of other words."""
        linked, showing = self._split_further
        if linked >= _ENOUGH_PAIRS and showing < linked / 10:
            raise InputError(
                f"{path}: its links are of whitespace-separated words, and the model reads Moses "
                "tokens, which have others: align those (rnnsearch-aligner does), or train on "
                "pre-tokenized text (--tokenizer=whitespace)"
            )
        if self._left_out:
            say(
                f"alignments of {self._left_out:,} of {self._done:,} pairs are left out: their "
                "whitespace-separated words are not the words that the model reads"
            )


def _links_beyond(block: WordAlignmentBlock, lengths: np.ndarray) -> np.ndarray:
    """Tell which pairs have a link of a word beyond their lengths, int [B, 2]: bool [B]."""
    pairs = np.repeat(np.arange(len(lengths)), block.counts)
    is_beyond = (block.links >= lengths[pairs]).any(axis=1)
    return np.bincount(pairs[is_beyond], minlength=len(lengths)) > 0
