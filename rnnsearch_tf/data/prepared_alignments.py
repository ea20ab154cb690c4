"""Link files to `WordAlignments`: checked and written once, read by every training on them.

A folder, beside that of the prepared text whose words the links are between, holds

* `ends`: int32, the places of source and target word of all links of all pairs;
* `starts`: int64, where each pair begins among the links, and the end.
"""

import hashlib
import inspect
import sys
from pathlib import Path

import numpy as np

from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignmentBlock, WordAlignmentFiles, WordAlignments
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import make_once


def prepare_alignments(links: WordAlignmentFiles, text: Path, pairs: Pairs) -> WordAlignments:
    """Read the links of a training text's pairs, or find that done already.

    Args:
        links: files of them.
        text: the folder of the prepared text.
        pairs: its pairs.

    Raises:
        InputError: unusable files (see `WordAlignmentFiles.blocks`), a link of a word that its
            sentence does not have (the text names file and line), links of more or fewer pairs, a
            cache folder that cannot be written.
    """
    what = inspect.getsource(sys.modules[__name__]) + links.fingerprint()
    digest = hashlib.sha256(what.encode()).hexdigest()[:32]
    folder = text.with_name(f"{text.name}.links-{digest}")
    make_once(folder, _is_whole, lambda empty: _write(empty, links, pairs))
    return _read(folder)


def _write(folder: Path, links: WordAlignmentFiles, pairs: Pairs) -> None:
    done, end = 0, 0
    with open(folder / "ends", "wb") as ends, open(folder / "starts", "wb") as starts:
        starts.write(bytes(8))
        for block in links.blocks():
            rows = np.arange(done, done + len(block.counts))
            done += len(rows)
            if done > len(pairs):
                break
            _check(block, pairs, rows)
            ends.write(block.ends.tobytes())
            starts.write((end + np.cumsum(block.counts)).tobytes())
            end += len(block.ends)
    if done != len(pairs):
        more = "at least " if done > len(pairs) else ""
        raise InputError(f"links of {more}{done:,} pairs, where the text has {len(pairs):,}")


def _check(block: WordAlignmentBlock, pairs: Pairs, rows: np.ndarray) -> None:
    """See that every link is between words of its pair."""
    lengths = np.stack([pairs.source.lengths(rows), pairs.target.lengths(rows)], axis=1)
    outside = (block.ends >= np.repeat(lengths, block.counts, axis=0)).any(axis=1)
    if outside.any():
        link = int(outside.argmax())
        pair = int(np.searchsorted(np.cumsum(block.counts), link, "right"))
        i, j = block.ends[link]
        raise InputError(
            f"{block.path}: line {block.before + pair + 1:,}: there is no link {i}-{j} between "
            f"{lengths[pair, 0]:,} words and {lengths[pair, 1]:,} (counted from 0, source first)"
        )


def _read(folder: Path) -> WordAlignments:
    ends, starts = folder / "ends", folder / "starts"
    if not ends.stat().st_size:
        return WordAlignments(np.zeros((0, 2), np.int32), np.fromfile(starts, np.int64))
    return WordAlignments(
        np.asarray(np.memmap(ends, np.int32, "r")).reshape(-1, 2),
        np.asarray(np.memmap(starts, np.int64, "r")),
    )


def _is_whole(folder: Path) -> bool:
    """Whether the files are as long as each other says."""
    try:
        links = _read(folder)
    except (OSError, ValueError):
        return False
    return len(links.starts) > 0 and len(links.ends) == links.starts[-1]
