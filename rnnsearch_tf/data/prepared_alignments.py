"""Files of word alignments to `WordAlignments`: checked and written once for all training runs.

A folder, beside that of the prepared text whose words are linked, holds

* `links`: int32, positions of source and target word of all links of all pairs;
* `starts`: int64, the index of each pair's first link, and the number of all links;
* `digests.json`: the SHA-256 of both.
"""

import contextlib
import sys
from pathlib import Path

import numpy as np

from rnnsearch_tf.data import linked_words
from rnnsearch_tf.data.linked_words import LinkedWords
from rnnsearch_tf.data.parallel_corpus import Corpus, unchanged
from rnnsearch_tf.data.prepared_corpus import mapped
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
from rnnsearch_tf.progress import Bar

_AT_ONCE = 100  # sentences that are padded to the longest of them


def prepare_alignments(
    files: WordAlignmentFiles,
    text: Path,
    pairs: Pairs,
    spaced: Corpus,  # the text before tokenization
    word_starts: tuple[WordStarts, WordStarts] = (None, None),  # of source and target tokens
    splits_further: bool = False,  # whether the tokenizer splits what whitespace separates
) -> WordAlignments:
    """Read the alignments of a prepared text, or reuse what an earlier training run has read.

    Most aligners split `spaced` at ASCII whitespace. Where this gives other words than the prepared
    text has, as at a no-break space, the links of a pair are left out, unless one of them is of a
    word that only the prepared text has; the number of pairs left out is logged. If the
    tokenizer splits further, most pairs have such a link; if few do, other words are linked.

    InputError for unusable files (see `WordAlignmentFiles.blocks`), a link of a word that its
    sentence does not have (the message has file and line), a different number of pairs, links that
    are recognizably of other words, or a cache folder that cannot be written.
    """
    digest = files.fingerprint()
    key = json_digest([code_digest(sys.modules[__name__], linked_words), digest])[:32]
    folder = text.with_name(f"{text.name}.alignments-{key}")

    def make(empty: Path) -> None:
        before = spaced.fingerprint()
        with unchanged(files.fingerprint, digest), unchanged(spaced.fingerprint, before):
            _write(empty, files, pairs, word_starts, LinkedWords(spaced, splits_further))

    make_once(folder, is_intact, make)
    links = mapped(folder / "links", np.int32).reshape(-1, 2)
    return WordAlignments(links, mapped(folder / "starts", np.int64), word_starts)


def _write(
    folder: Path,
    files: WordAlignmentFiles,
    pairs: Pairs,
    word_starts: tuple[WordStarts, WordStarts],
    words: LinkedWords,
) -> None:
    done, end = 0, 0
    with (
        open(folder / "links", "wb") as links,
        open(folder / "starts", "wb") as starts,
        contextlib.closing(Bar("aligned pair", len(pairs))) as bar,
    ):
        starts.write(bytes(8))
        for block in files.blocks():
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
            bar.update(done)
    if done != len(pairs):
        more = "at least " if done > len(pairs) else ""
        raise InputError(f"alignments of {more}{done:,} pairs, where the text has {len(pairs):,}")
    words.check(block.path)
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
