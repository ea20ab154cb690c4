"""Files of word alignments to `WordAlignments`: checked and written once for all training runs.

A folder, beside that of the prepared text whose words are linked, holds

* `links`: int32, positions of source and target word of all links of all pairs;
* `starts`: int64, the index of each pair's first link, and the number of all links;
* `problems`: UTF-8, a warning of pairs whose links are left out, or nothing;
* `digests.json`: the SHA-256 of all three.
"""

import itertools
import sys
from pathlib import Path

import numpy as np

from rnnsearch_tf.data.parallel_corpus import CHANGED, Corpus, each_pair, unchanged
from rnnsearch_tf.data.prepared_corpus import PROBLEMS, mapped
from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences
from rnnsearch_tf.data.word_alignments import (
    WordAlignmentBlock,
    WordAlignmentFiles,
    WordAlignments,
    WordStarts,
    word_numbers,
)
from rnnsearch_tf.digests import code_digest, is_intact, json_digest, write_digests
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import make_once
from rnnsearch_tf.progress import counted, say

_AT_ONCE = 100  # sentences that are padded to the longest of them
_ENOUGH_PAIRS = 20  # to tell which words the links refer to


def prepare_alignments(
    files: WordAlignmentFiles,
    text: Path,
    pairs: Pairs,
    spaced: Corpus,  # the text before tokenization
    word_starts: tuple[WordStarts, WordStarts] = (None, None),  # of source and target tokens
    splits_further: bool = False,  # whether the tokenizer splits what whitespace separates
) -> WordAlignments:
    """Read the alignments of a prepared text, or reuse what an earlier training run has read.

    Most aligners split `spaced` at ASCII whitespace. If the prepared text has other words, as at a
    no-break space, the links of a pair are left out, unless one of them points beyond the last
    whitespace-separated word; the number of pairs left out is logged. If the tokenizer splits
    further, most pairs have such a link; if few do, the links are between other words.

    InputError for unusable files (see `WordAlignmentFiles.blocks`), a link to a word that its
    sentence does not have (the message has file and line), a different number of pairs, links that
    are recognizably between other words, or a cache folder that cannot be written.
    """
    digest = files.fingerprint()
    key = json_digest([code_digest(sys.modules[__name__]), digest])[:32]
    folder = text.with_name(f"{text.name}.alignments-{key}")

    def make(empty: Path) -> None:
        before = spaced.fingerprint()
        with unchanged(files.fingerprint, digest), unchanged(spaced.fingerprint, before):
            _write(empty, files, pairs, word_starts, _LinkedWords(spaced, splits_further))

    make_once(folder, is_intact, make)
    if problem := (folder / PROBLEMS).read_text("utf-8"):
        say(problem)
    links = mapped(folder / "links", np.int32).reshape(-1, 2)
    return WordAlignments(links, mapped(folder / "starts", np.int64), word_starts)


class _LinkedWords:
    """Compares whitespace-separated words, which most aligners link, with those of the model.

    The arguments are those of `prepare_alignments`.
    """

    def __init__(self, spaced: Corpus, splits_further: bool):
        self._pairs = each_pair(spaced)
        self._splits_further = splits_further
        self._done = 0  # pairs
        self._left_out = 0  # pairs with links that have other words
        self._split_further = np.zeros(2, np.int64)  # linked pairs, and those with links beyond

    def compared(self, block: WordAlignmentBlock, lengths: np.ndarray) -> WordAlignmentBlock:
        """Return the next pairs' links that may be between the model's words, of these lengths."""
        self._done += len(lengths)
        pairs = itertools.islice(self._pairs, len(lengths))
        split = np.reshape([len(line.encode().split()) for pair in pairs for line in pair], (-1, 2))
        if len(split) < len(lengths):
            raise InputError(CHANGED)
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

    def check(self, path: str) -> str:
        """Say how many pairs were left out; InputError if the links are between other words."""
        linked, showing = self._split_further
        if linked >= _ENOUGH_PAIRS and showing < linked / 10:
            raise InputError(
                f"{path}: its links are between whitespace-separated words, but the model reads "
                "Moses tokens: align Moses tokens (rnnsearch-aligner does), or train on "
                "pre-tokenized text (--tokenizer=whitespace)"
            )
        if not self._left_out:
            return ""
        return (
            f"alignments of {self._left_out:,} of {self._done:,} pairs are left out: their "
            "whitespace-separated words are not the words that the model reads"
        )


def _links_beyond(block: WordAlignmentBlock, lengths: np.ndarray) -> np.ndarray:
    """Mark the pairs with a link to a word beyond their lengths, int [B, 2]: bool [B]."""
    pairs = np.repeat(np.arange(len(lengths)), block.counts)
    is_beyond = (block.links >= lengths[pairs]).any(axis=1)
    return np.bincount(pairs[is_beyond], minlength=len(lengths)) > 0


def _write(
    folder: Path,
    files: WordAlignmentFiles,
    pairs: Pairs,
    word_starts: tuple[WordStarts, WordStarts],
    words: _LinkedWords,
) -> None:
    done, end = 0, 0
    blocks = counted(files.blocks(), "aligned pair", len(pairs), lambda block: len(block.counts))
    with open(folder / "links", "wb") as links, open(folder / "starts", "wb") as starts:
        starts.write(bytes(8))
        for block in blocks:
            rows = np.arange(done, done + len(block.counts))
            done += len(rows)
            if done > len(pairs):
                break
            sides = zip((pairs.source, pairs.target), word_starts, strict=True)
            lengths = np.stack([_word_counts(*side, rows) for side in sides], axis=1)
            block = words.compared(block, lengths)
            _check(block, lengths)
            links.write(block.links.tobytes())
            starts.write((end + np.cumsum(block.counts)).tobytes())
            end += len(block.links)
    if done != len(pairs):
        more = "at least " if done > len(pairs) else ""
        raise InputError(f"alignments of {more}{done:,} pairs, where the text has {len(pairs):,}")
    (folder / PROBLEMS).write_text(words.check(block.path), "utf-8")
    write_digests(folder)


def _word_counts(side: Sentences, word_starts: WordStarts, rows: np.ndarray) -> np.ndarray:
    """Count the words of some sentences, int [B]."""
    if word_starts is None:
        return side.lengths(rows)
    parts = (rows[i : i + _AT_ONCE] for i in range(0, len(rows), _AT_ONCE))
    return np.concatenate(
        [word_numbers(side.batch(part), word_starts).max(axis=1) + 1 for part in parts]
    )


def _check(block: WordAlignmentBlock, lengths: np.ndarray) -> None:
    """Check that every link is between words of its pair; `lengths`, int [B, 2], counts these."""
    outside = (block.links >= np.repeat(lengths, block.counts, axis=0)).any(axis=1)
    if outside.any():
        link = int(outside.argmax())
        pair = int(np.searchsorted(np.cumsum(block.counts), link, "right"))
        i, j = block.links[link]
        raise InputError(
            f"{block.path}: line {block.before + pair + 1:,}: there is no link {i}-{j} between "
            f"{lengths[pair, 0]:,} words and {lengths[pair, 1]:,} (counted from 0, source first)"
        )
