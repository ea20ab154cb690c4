"""Whether links are of the words that the model reads."""

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
        spaced: the text as it was.
        splits_further: whether the tokenizer splits what whitespace separates.
    """

    def __init__(self, spaced: Corpus, splits_further: bool):
        self._pairs = each_pair(spaced)
        self._splits_further = splits_further
        self._done = 0  # pairs
        self._left_out = 0  # of them, with links, that have other words
        self._split_further = np.zeros(2, np.int64)  # linked pairs, and those whose links show it

    def compared(self, block: WordAlignmentBlock, lengths: np.ndarray) -> WordAlignmentBlock:
        """Return the next pairs' links that may be of the model's words, int [B, 2] of them."""
        self._done += len(lengths)
        pairs = itertools.islice(self._pairs, len(lengths))
        split = np.reshape([len(line.encode().split()) for pair in pairs for line in pair], (-1, 2))
        if self._splits_further:
            self._split_further += _split_further(block, split, lengths)
            return block
        block, dropped = _of_the_same_words(block, split, lengths)
        self._left_out += dropped
        return block

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


def _of_the_same_words(
    block: WordAlignmentBlock, split: np.ndarray, lengths: np.ndarray
) -> tuple[WordAlignmentBlock, int]:
    """Leave out the links of pairs that have other whitespace-separated words, int [B, 2].

    A link of a word beyond the whitespace-separated ones is of the words that the model reads.
    The second result is the number of pairs.
    """
    pairs = np.repeat(np.arange(len(lengths)), block.counts)
    is_kept = (split == lengths).all(axis=1)
    is_kept[_pairs_beyond(block, split)] = True
    dropped = int(np.sum(~is_kept & (block.counts > 0)))
    kept = block._replace(links=block.links[is_kept[pairs]], counts=block.counts * is_kept)
    return kept, dropped


def _split_further(
    block: WordAlignmentBlock, split: np.ndarray, lengths: np.ndarray
) -> tuple[int, int]:
    """Count the linked pairs with more words than `split`, and the pairs that link such words."""
    has_more = (split < lengths).any(axis=1) & (block.counts > 0)
    return int(has_more.sum()), len(np.unique(_pairs_beyond(block, split)))


def _pairs_beyond(block: WordAlignmentBlock, lengths: np.ndarray) -> np.ndarray:
    """Return the pair of each link that is of a word beyond its pair's lengths, int [B, 2]."""
    pairs = np.repeat(np.arange(len(lengths)), block.counts)
    return pairs[(block.links >= lengths[pairs]).any(axis=1)]
