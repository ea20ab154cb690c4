"""Files of word alignments of a training corpus: reading, and errors."""

import gzip
from pathlib import Path

import pytest

from rnnsearch_tf.data import parallel_corpus
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError


def written(
    folder: Path, content: str, name: str = "a.links", sentences: int = 3
) -> WordAlignmentFiles:
    """Write links for that many sentences."""
    path = folder / name
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())
    (folder / "a.en").write_text("a b c\n" * sentences)
    return WordAlignmentFiles([path], [folder / "a.en"])


@pytest.mark.parametrize("name", ["a.links", "a.links.gz"])
def test_links_of_each_pair(tmp_path, name):
    (block,) = written(tmp_path, "0-0 12-3\n\n 1-0\t5-07 \r\n", name).blocks()
    assert block.links.tolist() == [[0, 0], [12, 3], [1, 0], [5, 7]]
    assert block.counts.tolist() == [2, 0, 2]
    assert (block.path, block.before) == (str(tmp_path / name), 0)


def test_files_one_after_the_other_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
    files = [tmp_path / "a", tmp_path / "b"]
    files[0].write_text("0-0\n\n2-1\n")
    files[1].write_text("3-1\n")
    blocks = list(WordAlignmentFiles(files, files).blocks())
    assert [(block.path[-1], block.before) for block in blocks] == [("a", 0), ("a", 2), ("b", 0)]
    assert [block.counts.tolist() for block in blocks] == [[1, 0], [1], [1]]
    assert [block.links.tolist() for block in blocks] == [[[0, 0]], [[2, 1]], [[3, 1]]]


@pytest.mark.parametrize(
    "line", ["0-0 1", "0-0 1p1", "0-0-1", "-1-0", "0 - 0", "0:0", "x", "0-0,1-1", "1234567890-0"]
)
def test_a_line_that_is_not_of_links_is_named(tmp_path, line):
    with pytest.raises(InputError, match=r"a\.links: line 2 is not made of links i-j: '"):
        list(written(tmp_path, f"0-0\n{line}\n1-1\n").blocks())


def test_as_many_lines_as_sentences(tmp_path):
    with pytest.raises(InputError, match=r"a\.links has 2 lines, .*a\.en has 3"):
        list(written(tmp_path, "0-0\n\n").blocks())
    with pytest.raises(InputError, match=r"a\.links has 4 lines, .*a\.en has 3"):
        list(written(tmp_path, "0-0\n\n\n\n").blocks())


def test_as_many_files_of_alignments_as_of_sentences():
    with pytest.raises(InputError, match="1 alignment files for 2 files of sentence pairs"):
        WordAlignmentFiles(["a"], ["b", "c"])


def test_the_fingerprint_is_that_of_the_links(tmp_path):
    digest = written(tmp_path, "0-0\n\n\n").fingerprint()
    assert written(tmp_path, "0-0\n\n\n", "b.links", sentences=1).fingerprint() == digest
    assert written(tmp_path, "0-1\n\n\n").fingerprint() != digest
    with pytest.raises(InputError, match="gone: No such file"):
        WordAlignmentFiles([tmp_path / "gone"], [tmp_path / "a.en"]).fingerprint()
