"""Parallel text: files plain or compressed, and what a user is told when they are wrong."""

import gzip
import itertools
from pathlib import Path

import numpy as np
import pytest

from rnnsearch_tf.data import lines, parallel_corpus
from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.data.parallel_corpus import (
    ParallelFiles,
    ParallelText,
    TabSeparatedFiles,
    each_pair,
)
from rnnsearch_tf.errors import InputError


def write(path, content: bytes):
    path.write_bytes(content)
    return path


def test_parallel_files_may_be_plain_or_gzipped(tmp_path):
    source = write(tmp_path / "a.en", b"one\ntwo\n")
    target = write(tmp_path / "a.fr.gz", gzip.compress("un\ndeux été".encode()))
    assert ParallelFiles([source], [target]).read() == (["one", "two"], ["un", "deux été"])


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\n\n b \n", ["a", "", " b "]),
        (b"\xef\xbb\xbfa\nb", ["a", "b"]),
        ("a\u2028b\u0085c\x0bd\x1ce\n".encode(), ["a\u2028b\u0085c\x0bd\x1ce"]),
        (b"a\rb\n", ["a\rb"]),
        (b"\n", [""]),
        (b"", []),
        (b"\xef\xbb\xbf", [""]),
    ],
)
def test_only_newlines_end_a_line(tmp_path, content, lines):
    assert read_lines(write(tmp_path / "text", content)) == lines


def error(*paths) -> str:
    """The one-line text of what `ParallelFiles` raises."""
    with pytest.raises(InputError) as caught:
        ParallelFiles(*([path] for path in paths)).read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_missing_file_is_named(tmp_path):
    there, missing = write(tmp_path / "a", b"a\n"), tmp_path / "nowhere"
    assert error(there, missing) == f"{missing}: No such file or directory"
    assert "directory" in error(there, tmp_path)


def test_unequal_line_counts_are_both_told(tmp_path):
    source = write(tmp_path / "a", b"line\n" * 1234)
    target = write(tmp_path / "b", b"ligne\n" * 7)
    assert f"{source} has 1,234 lines, {target} has 7" in error(source, target)


def test_unequal_sides_in_memory_are_told():
    text = ParallelText(["a", "b"], ["c"])
    for read in (text.fingerprint, lambda: list(text.blocks())):
        with pytest.raises(InputError, match="2 source sentences and 1 target sentences"):
            read()


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ((["a", float("nan")], ["b", "c"]), "source sentence 2: expected a str, not nan"),
        ((["a"], [None]), "target sentence 1: expected a str, not None"),
        ((["a"], ["\ud83d"]), "target sentence 1 is not Unicode: surrogates not allowed"),
        ((np.array(["a"]), ["b"]), "source: expected a list of str, not ndarray"),
    ],
)
def test_what_is_no_text_in_memory_is_told(sides, said):
    for read in (ParallelText.fingerprint, lambda text: list(text.blocks())):
        with pytest.raises(InputError, match=said):
            read(ParallelText(*sides))


def test_a_single_file_is_a_list_of_one(tmp_path):
    for name in ("en", "fr", "tsv"):
        (tmp_path / name).write_text("a\tb\n" if name == "tsv" else f"{name}\n")
    assert ParallelFiles(tmp_path / "en", str(tmp_path / "fr")).read() == (["en"], ["fr"])
    assert TabSeparatedFiles(str(tmp_path / "tsv")).read() == (["a"], ["b"])


def test_empty_files_are_an_error(tmp_path):
    source, target = write(tmp_path / "a", b""), write(tmp_path / "b.gz", gzip.compress(b""))
    assert error(source, target) == f"{source} and {target} are empty"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"caf\xe9\n", 1),
        (b"one\ntwo\ncaf\xe9", 3),
        (b"\xef\xbb\xbfa\n\xff\n", 2),  # a byte order mark before it
        ("one\n".encode("utf-16"), 1),
    ],
)
def test_bytes_that_are_not_utf8_are_told_by_line(tmp_path, content, line):
    path = write(tmp_path / "latin", content)
    assert error(path, path) == f"{path}: line {line} is not UTF-8"


def test_broken_gzip_files_are_told(tmp_path):
    whole = gzip.compress(b"one\ntwo\n" * 50)
    damaged = whole[:15] + bytes(byte ^ 255 for byte in whole[15:20]) + whole[20:]
    for name, content in {"cut": whole[:-9], "plain": b"one\n", "damaged": damaged}.items():
        path = write(tmp_path / f"{name}.gz", content)
        assert error(path, path).startswith(f"{path}: not a complete gzip file"), name


# --- a corpus -------------------------------------------------------------------------------------


def files(folder, source: bytes = b"one\ntwo\n", target: bytes = b"un\ndeux\n") -> ParallelFiles:
    return ParallelFiles([write(folder / "a.en", source)], [write(folder / "a.fr", target)])


def joined(blocks) -> tuple[list[str], list[str]]:
    pairs = [pair for block in blocks for pair in zip(*block, strict=True)]
    return [source for source, _ in pairs], [target for _, target in pairs]


@pytest.mark.parametrize("lines", [0, 1, 2, 3, 4, 5])
def test_blocks_are_the_pairs_in_order(tmp_path, monkeypatch, lines):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
    text = ParallelText([f"s{i}" for i in range(lines)], [f"t{i}" for i in range(lines)])
    blocks = list(text.blocks())
    assert joined(blocks) == text
    assert all(1 <= len(block.source) <= 2 for block in blocks)
    if lines:
        on_disk = files(tmp_path, *("\n".join(side).encode() for side in text))
        assert list(on_disk.blocks()) == blocks
        assert on_disk.read() == text


def test_files_follow_one_another(tmp_path):
    sources = [write(tmp_path / "a", b"one\ntwo"), write(tmp_path / "b", b"\xef\xbb\xbfthree\n")]
    targets = [write(tmp_path / "c", b"un\ndeux"), write(tmp_path / "d", b"trois")]
    text = ParallelFiles(sources, targets).read()
    assert text == (["one", "two", "three"], ["un", "deux", "trois"])
    with pytest.raises(InputError, match="2 source files and 1 target files"):
        ParallelFiles(sources, targets[:1])


def test_unequal_counts_are_found_in_whichever_block(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
    for source, target in ((5, 4), (4, 5), (4, 9), (7, 0)):
        corpus = files(tmp_path, b"a\n" * source, b"b\n" * target)
        pairs = each_pair(corpus)
        assert [*itertools.islice(pairs, min(source, target))] == [("a", "b")] * min(source, target)
        with pytest.raises(InputError, match=f"has {source} lines, .* has {target}:"):
            next(pairs)


@pytest.mark.parametrize("block_pairs", [1, 2, 3, 4, 10])
def test_the_pairs_before_an_error_are_given(tmp_path, monkeypatch, block_pairs):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", block_pairs)
    lines = [b"a\n", b"b\n", b"c\n", b"d\n", b"e\n"]
    broken = write(tmp_path / "broken.gz", gzip.compress(b"".join(lines[:3])) + b"garbage")
    latin = write(tmp_path / "latin.gz", gzip.compress(b"".join(lines[:3]) + b"\xe9\n"))
    whole = write(tmp_path / "whole", b"".join(lines))
    for corpus in (ParallelFiles([broken], [whole]), ParallelFiles([whole], [latin])):
        given: list[tuple[str, str]] = []
        with pytest.raises(InputError, match=r"not a complete gzip file|line 4 is not UTF-8"):
            for pair in each_pair(corpus):
                given.append(pair)
        assert given == [("a", "a"), ("b", "b"), ("c", "c")]


def test_a_byte_order_mark_is_one_in_front_only(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 1)
    corpus = files(tmp_path, b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", b"c\nd\n")
    assert corpus.read().source == ["a", "\ufeffb"]


def test_fingerprints_differ_when_the_text_does(tmp_path):
    fingerprints = [files(tmp_path).fingerprint()]
    assert files(tmp_path).fingerprint() == fingerprints[0]
    fingerprints.append(files(tmp_path, source=b"one\ntwo \n").fingerprint())
    fingerprints.append(files(tmp_path, target=b"one\ntwo\n").fingerprint())
    files(tmp_path)
    packed = write(tmp_path / "a.en.gz", b"one\ntwo\n")  # the same bytes, read otherwise
    fingerprints.append(ParallelFiles([packed], [tmp_path / "a.fr"]).fingerprint())
    swapped = ParallelFiles([tmp_path / "a.fr"], [tmp_path / "a.en"])
    fingerprints.append(swapped.fingerprint())
    fingerprints.append(ParallelText(["a", "b"], ["c", "d"]).fingerprint())
    fingerprints.append(ParallelText(["a", "b", "c"], ["d", "", ""]).fingerprint())
    assert len(set(fingerprints)) == len(fingerprints)


def test_fingerprint_of_a_missing_file_names_it(tmp_path):
    with pytest.raises(InputError, match="nowhere: No such file or directory"):
        ParallelFiles([tmp_path / "nowhere"], [tmp_path / "b"]).fingerprint()


# --- one file with tabs ---------------------------------------------------------------------------


def test_pairs_of_one_file_may_be_gzipped_and_have_more_columns(tmp_path):
    plain = write(tmp_path / "a.tsv", b"one\tun\r\n\t\n")
    packed = write(tmp_path / "b.tsv.gz", gzip.compress("two\tdeux été\tCC-BY\t7".encode()))
    files = TabSeparatedFiles([plain, packed])
    assert files.read() == (["one", "", "two"], ["un", "", "deux été"])
    assert files.fingerprint() != TabSeparatedFiles([packed, plain]).fingerprint()
    before = files.fingerprint()
    plain.write_bytes(b"one\tun\n")
    assert files.fingerprint() != before


def test_input_of_fast_align_is_told_by_its_first_separator(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 1)
    path = write(tmp_path / "a", b"one two ||| un\n ||| \nthree ||| tr\tois\n")
    assert TabSeparatedFiles([path]).read() == (["one two", "", "three"], ["un", "", "tr\tois"])
    tabs = write(tmp_path / "b", b"one ||| 1\tun\n")
    assert TabSeparatedFiles([tabs]).read() == (["one ||| 1"], ["un"])
    between = write(tmp_path / "e", b"four\t|||\tquatre\n")
    assert TabSeparatedFiles([between]).read() == (["four"], ["quatre"])
    blank = write(tmp_path / "d", b"\nthree |||\nfour\t|||\tquatre\n")
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 3)
    with pytest.raises(InputError, match=r"line 1 has no \|\|\| between source and target$"):
        TabSeparatedFiles([blank]).read()
    blank.write_bytes(blank.read_bytes()[1:])
    assert TabSeparatedFiles([blank]).read() == (["three", "four"], ["", "quatre"])
    broken = write(tmp_path / "c", b"one ||| un\ntwo\tdeux\n")
    with pytest.raises(InputError, match=r"line 2 has no \|\|\| between source and target$"):
        TabSeparatedFiles([broken]).read()


def test_a_line_without_a_tab_is_named_after_the_pairs_before_it(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
    path = write(tmp_path / "a.tsv", b"a\tb\nc\td\ne\tf\nno tab\ng\th\n")
    given: list[tuple[str, str]] = []
    with pytest.raises(InputError, match=r"a.tsv: line 4 has no tab between source and target$"):
        given.extend(each_pair(TabSeparatedFiles([path])))
    blocks = TabSeparatedFiles([path]).blocks()
    assert [next(blocks).source for _ in range(2)] == [["a", "c"], ["e"]]
    with pytest.raises(InputError, match=r"empty\.tsv is empty"):
        TabSeparatedFiles([write(tmp_path / "empty.tsv", b"")]).read()
    with pytest.raises(InputError, match=r"mark\.tsv: line 1 has no tab between"):
        TabSeparatedFiles([write(tmp_path / "mark.tsv", b"\xef\xbb\xbf")]).read()


def test_a_large_file_is_hashed_again_only_after_a_change(tmp_path, monkeypatch):
    read = []

    def digest(path: Path) -> str:
        read.append(path)
        return "0"

    monkeypatch.setattr(parallel_corpus, "_LARGE", 0)
    monkeypatch.setattr(parallel_corpus, "file_digest", digest)
    paths = [write(tmp_path / name, b"a\n") for name in ("en", "fr")]
    files = ParallelFiles(*([path] for path in paths))
    assert files.fingerprint() == files.fingerprint()
    write(paths[1], b"a b\n")
    files.fingerprint()
    assert read == [*paths, paths[1]]


def test_a_line_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    """As of a small .gz that unpacks to gigabytes."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1_000)
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"b" * 999 + b"\n" + b"c" * 10_000))
    read = lines.raw_lines(path)
    assert [next(read), next(read)] == [b"a", b"b" * 999]
    with pytest.raises(InputError, match=r"text\.gz: line 3 has more than 1,000 bytes"):
        next(read)
