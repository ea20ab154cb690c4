"""Word alignments checked against their sentences, and written once."""

import os
from pathlib import Path

import numpy as np
import pytest
from known_pairs import pairs_of, pairs_of_lengths

from rnnsearch_tf.data import parallel_corpus, prepared_alignments
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText
from rnnsearch_tf.data.prepared_alignments import prepare_alignments
from rnnsearch_tf.data.sentence_pairs import Pairs
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles, WordAlignments
from rnnsearch_tf.errors import InputError

PAIRS = pairs_of_lengths((3, 2), (1, 1), (5, 7))


def text_of(pairs: Pairs) -> ParallelText:
    """Return a text of as many words."""
    sides = (side.lengths(np.arange(len(pairs))).tolist() for side in (pairs.source, pairs.target))
    return ParallelText(*([" ".join("a" * length) for length in lengths] for lengths in sides))


def prepared(folder: Path, *lines: str, pairs: Pairs = PAIRS) -> WordAlignments:
    path = folder / "a.links"
    path.write_text("".join(line + "\n" for line in lines))
    files = WordAlignmentFiles([path], [path])
    return prepare_alignments(files, folder / "text", pairs, text_of(pairs))


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_links_of_pairs_read_in_any_blocks(tmp_path, monkeypatch, at_once):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", at_once)
    alignments = prepared(tmp_path, "0-0 2-1", "", "4-6 0-0 1-5")
    assert alignments.links.tolist() == [[0, 0], [2, 1], [4, 6], [0, 0], [1, 5]]
    assert alignments.starts.tolist() == [0, 2, 2, 5]
    pair = np.array([2])
    guide = alignments.guide(pair, PAIRS.source.batch(pair), PAIRS.target.batch(pair))
    assert np.argwhere(guide).tolist() == [
        [0, 0, 0], [0, 5, 1], [0, 6, 4],
    ]  # fmt: skip


def test_no_link_at_all(tmp_path):
    assert len(prepared(tmp_path, "", "", "")) == 3


@pytest.mark.parametrize("link", ["5-0", "0-7", "5-7", "99999-0"])
@pytest.mark.parametrize("at_once", [1, 3])
def test_a_link_of_a_word_that_is_not_there(tmp_path, monkeypatch, link, at_once):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", at_once)
    said = rf"a\.links: line 3: there is no link {link} between 5 words and 7"
    with pytest.raises(InputError, match=said):
        prepared(tmp_path, "2-1", "", f"4-6 {link}")
    with pytest.raises(InputError, match=r"line 2: there is no link 1-0 between 1 words and 1"):
        prepared(tmp_path, "2-1", "1-0 0-0", "5-7")
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize("lines", [2, 4])
def test_links_of_another_number_of_pairs(tmp_path, lines):
    with pytest.raises(InputError, match=rf"alignments of .*{lines} pairs, where the text has 3"):
        prepared(tmp_path, *["0-0"] * lines)


def test_they_are_written_once_and_damaged_ones_again(tmp_path):
    def is_written_again() -> bool:
        os.utime(links, ns=(1, 1))
        assert prepared(tmp_path, *lines).links.tolist() == [[0, 0], [1, 1], [2, 2]]
        return links.stat().st_mtime_ns != 1

    lines = ("0-0", "", "1-1 2-2")
    assert prepared(tmp_path, *lines).links.tolist() == [[0, 0], [1, 1], [2, 2]]
    (links,) = tmp_path.glob("text.alignments-*/links")
    assert not is_written_again()
    whole = links.read_bytes()
    for content in (whole[:-8], b"\1" + whole[1:], b""):
        links.write_bytes(content)
        assert is_written_again()
    assert prepared(tmp_path, "0-1", "", "").links.tolist() == [[0, 1]]
    assert len(list(tmp_path.glob("text.alignments-*/links"))) == 2


def test_links_of_other_words_than_those_between_blanks_are_left_out(tmp_path, capsys):
    """A no-break space ends a word of the model, but none of an aligner."""
    text = ParallelText(["a b\u00a0c", "d", "a b c d e"], ["x y", "z", "p q r s t u v"])
    path = tmp_path / "a.links"
    path.write_text("1-1\n0-0\n4-6\n")
    files = WordAlignmentFiles([path], [path])
    whole = prepare_alignments(files, tmp_path / "whole", PAIRS, text_of(PAIRS))
    alignments = prepare_alignments(files, tmp_path / "text", PAIRS, spaced=text)
    assert whole.links.tolist() == [[1, 1], [0, 0], [4, 6]]
    assert alignments.links.tolist() == [[0, 0], [4, 6]]
    assert alignments.starts.tolist() == [0, 0, 1, 2]
    prepare_alignments(files, tmp_path / "text", PAIRS, spaced=text)  # says so once more
    assert capsys.readouterr().err.count("alignments of 1 of 3 pairs are left out") == 2
    path.write_text("1-1 2-1\n0-0\n4-6\n")  # of a third word, which only the model reads
    own = prepare_alignments(files, tmp_path / "text", PAIRS, spaced=text)
    assert own.links.tolist() == [[1, 1], [2, 1], [0, 0], [4, 6]]
    assert not capsys.readouterr().err


def test_links_of_words_that_the_tokenizer_splits_further_are_refused(tmp_path):
    """Each pair has "a b." and "x y.", whose points are tokens; `links` are of one pair."""
    pairs = pairs_of_lengths(*[(3, 3)] * 20)
    text = ParallelText(["a b."] * 20, ["x y."] * 20)
    path = tmp_path / "a.links"
    files = WordAlignmentFiles([path], [path])

    def read(*links: str) -> WordAlignments:
        path.write_text("".join(f"{line}\n" for line in links))
        return prepare_alignments(files, tmp_path / "text", pairs, spaced=text, splits_further=True)

    with pytest.raises(
        InputError, match=r"a.links: its links are between whitespace-separated words"
    ):
        read(*["0-0 1-1"] * 20)
    with pytest.raises(InputError, match="its links are between whitespace-separated words"):
        read(*["0-0 1-1"] * 19, "2-2")  # of a no-break space, perhaps
    assert read(*["0-0 1-1"] * 18, *["2-2"] * 2).links[-1].tolist() == [2, 2]
    assert len(read(*["0-0 1-1"] * 19, "").links) == 38  # too few pairs to tell


@pytest.mark.parametrize("content", ["a b\n" * 2, "a b c\n"])  # fewer words, fewer pairs
def test_text_that_changes_while_it_is_read(tmp_path, monkeypatch, content):
    sides = [tmp_path / "en", tmp_path / "fr"]
    for side in sides:
        side.write_text("a b c\n" * 2)
    path = tmp_path / "a.links"
    path.write_text("0-0\n" * 2)

    def changed(corpus):
        for side in sides:
            side.write_text(content)
        return parallel_corpus.each_pair(corpus)

    monkeypatch.setattr(prepared_alignments, "each_pair", changed)
    text = ParallelFiles(*([side] for side in sides))
    files = WordAlignmentFiles([path], [path])
    with pytest.raises(InputError, match="the text was changed while it was read"):
        prepare_alignments(files, tmp_path / "text", pairs_of_lengths((3, 3), (3, 3)), spaced=text)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_links_count_the_words_that_pieces_make(tmp_path):
    """Every second piece begins a word: 5 and 7 are 3 and 4 words."""
    pairs = pairs_of([[3, 4, 3, 4, 3]] * 2, [[3, 4, 3, 4, 3, 4, 3]] * 2)
    starts = np.array([False, False, False, True, False])
    path = tmp_path / "a.links"
    path.write_text("2-3\n3-3\n")
    files = WordAlignmentFiles([path], [path])
    with pytest.raises(InputError, match=r"line 2: there is no link 3-3 between 3 words and 4"):
        text = ParallelText(["a b c"] * 2, ["a b c d"] * 2)
        prepare_alignments(files, tmp_path / "text", pairs, text, (starts, starts))
