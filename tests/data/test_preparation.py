"""Text to words in files: right, made once, never half, in memory that does not grow."""

import concurrent.futures
import contextlib
import inspect
import signal
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forked import ForkedProcess
from known_pairs import lists

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.data import parallel_corpus, preparation, prepared_corpus
from rnnsearch_tf.data.batching import batch_count, count_lengths, training_batches
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText, read_all
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences, tokenize
from rnnsearch_tf.data.subwords import find_subwords
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import train
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.vocabulary import UNK, Vocabulary
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer

pytestmark = pytest.mark.slow

ENGLISH, FRENCH = MosesTokenizer("en"), MosesTokenizer("fr")
TEXT = ParallelText(
    ["A dog sleeps.", "", "Dogs don't sleep, a dog does."] * 3,
    ["Un chien dort.", "Bonjour.", "L'été."] * 3,
)


class Counted:
    """A corpus that notes how often it is read."""

    def __init__(self, text: ParallelText = TEXT):
        self.text, self.read = text, 0

    def fingerprint(self) -> str:
        return self.text.fingerprint()

    def blocks(self) -> Iterator[ParallelText]:
        self.read += 1
        return self.text.blocks()


def content(cache: Path) -> dict[str, bytes]:
    """The files of the one prepared text in a cache, without the lock beside it."""
    (folder,) = (path for path in cache.iterdir() if path.is_dir())
    assert not folder.name.startswith(".")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def folders(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.is_dir()] if cache.exists() else []


# --- what is written ------------------------------------------------------------------------------


def test_files_by_hand(tmp_path):
    text = ParallelText(["b a b", "", "c a"], ["é", "è é", ""])
    prepare(text, ENGLISH, FRENCH, tmp_path)
    files = content(tmp_path)
    assert files["source.types"] == b"b\na\nc\n"
    assert files["target.types"] == "é\nè\n".encode()
    assert np.frombuffer(files["source.words"], np.int32).tolist() == [0, 1, 0, 2, 1]
    assert np.frombuffer(files["source.starts"], np.int64).tolist() == [0, 3, 3, 5]
    assert np.frombuffer(files["source.counts"], np.int64).tolist() == [2, 2, 1]
    assert np.frombuffer(files["target.words"], np.int32).tolist() == [0, 1, 0]
    assert np.frombuffer(files["target.starts"], np.int64).tolist() == [0, 1, 3, 3]


@pytest.fixture(scope="module")
def files(corpus: Path) -> ParallelFiles:
    return ParallelFiles([corpus / "train.en"], [corpus / "train.fr"])


@pytest.mark.parametrize("size", [4, 50, 10_000])
def test_vocabulary_and_ids_are_those_of_the_text(tmp_path, files, size):
    text = files.read()
    prepared = prepare(files, ENGLISH, FRENCH, tmp_path)
    sides = (
        (prepared.source, tokenize(text.source, ENGLISH)),
        (prepared.target, tokenize(text.target, FRENCH)),
    )
    for side, tokens in sides:
        sentences = [[word.decode() for word in row] for row in tokens.to_list()]
        counts = Counter(word for sentence in sentences for word in sentence)
        vocabulary = side.vocabulary(size)
        assert vocabulary.tokens == Vocabulary.build(counts, size).tokens
        encoded = [vocabulary.encode(sentence)[:-1] for sentence in sentences]
        read = side.sentences(vocabulary)
        assert lists(read.batch(np.arange(len(read)))) == encoded
        unknown = sum(ids.count(UNK) for ids in encoded) / sum(map(len, encoded))
        assert side.unknown(vocabulary) == pytest.approx(unknown)


def test_a_vocabulary_of_other_text(tmp_path):
    prepared = prepare(TEXT, ENGLISH, FRENCH, tmp_path)
    other = Vocabulary(["<pad>", "</s>", "[UNK]", "dog", "zebra"])
    sentences = prepared.source.sentences(other)
    assert lists(sentences.batch(np.array([0, 1]))) == [[2, 3, 2, 2], []]


def test_files_do_not_depend_on_how_the_text_is_cut(tmp_path, monkeypatch, files):
    prepare(files, ENGLISH, FRENCH, tmp_path / "whole")
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 7)
    prepare(files, ENGLISH, FRENCH, tmp_path / "cut")
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


class OwnCorpus:
    """A corpus as a user may write it: blocks as they are given."""

    def __init__(self, *blocks: Any):
        self._blocks = blocks

    def fingerprint(self) -> str:
        return repr(self._blocks)

    def blocks(self) -> Any:
        yield from self._blocks


def test_a_corpus_of_ones_own(tmp_path):
    own = OwnCorpus((["a b"], ["x"]), (["c"], ["y z"]))  # pairs of lists will do
    prepared = prepare(own, ENGLISH, FRENCH, tmp_path)
    assert prepared.source.vocabulary(9).tokens[3:] == ["a", "b", "c"]
    in_bytes = OwnCorpus((np.array([b"a b", b"c"], object), [b"x", b"y z"]))  # as tf.data gives it
    prepared = prepare(in_bytes, ENGLISH, FRENCH, tmp_path)
    assert prepared.source.vocabulary(9).tokens[3:] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ((["a", "b"], ["x"]), "block 2 of the corpus has sides of 2 and 1 sentences"),
        ((["a"],), "block 2 of the corpus has sides of 1 sentences"),
    ],
)
@pytest.mark.parametrize(
    "read", [lambda c, d: prepare(c, ENGLISH, FRENCH, d), lambda c, _: read_all(c)]
)
def test_a_block_without_pairs_shifts_no_others(tmp_path, read, block, said):
    with pytest.raises(InputError, match=said):
        read(OwnCorpus((["a"], ["x"]), block, (["c"], ["z"])), tmp_path)


@pytest.mark.parametrize("other", ["l'e\u0301te\u0301", "\u00e9\u0323", "\u0958"])
def test_words_that_are_not_composed_are_told_once(tmp_path, other):
    blocks = (["a"] * 3, ["l'été"] * 3), (["a"] * 3, [other] * 3)
    for _ in range(2):  # also of a text in the cache
        [said] = prepare(OwnCorpus(*blocks), ENGLISH, FRENCH, tmp_path).problems
        assert said.startswith("the target: line 4 is not in Unicode's composed form (NFC)")


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (["a bu@@ ffer"], "has words in pieces (@@)"),
        (
            ["a", "学生は今日学校で本を読みますと先生が言いました。"],
            "is of a script without spaces",
        ),
    ],
)
def test_lines_that_are_not_split_as_they_should_be(tmp_path, block, problem):
    first = ["an @ sign@@", "学生 は 今日 学校 で 本 を 読みます と 先生 が 言いました 。", "a"]
    blocks = (first, ["x"] * 3), (block, ["x"] * len(block))
    [said] = prepare(OwnCorpus(*blocks), ENGLISH, FRENCH, tmp_path).problems
    assert said.startswith(f"the source: line {3 + len(block)} {problem}")


def test_blank_text_is_prepared_and_then_refused(tmp_path):
    prepared = prepare(ParallelText(["", " "], ["", "a"]), ENGLISH, FRENCH, tmp_path)
    pairs = prepared.pairs(prepared.source.vocabulary(10), prepared.target.vocabulary(10))
    with pytest.raises(InputError, match="none of the 2 pairs has 1 to 5 tokens"):
        count_lengths(pairs, 5)


# --- made once ------------------------------------------------------------------------------------


def test_the_second_time_nothing_is_read(tmp_path):
    corpus = Counted()
    prepare(corpus, ENGLISH, FRENCH, tmp_path)
    before = content(tmp_path)
    prepare(corpus, ENGLISH, FRENCH, tmp_path)
    assert corpus.read == 1
    assert content(tmp_path) == before


def test_other_text_languages_or_rules_are_prepared_by_themselves(tmp_path, monkeypatch):
    path = tmp_path / "a.en"
    cache = tmp_path / "cache"

    def prepared(content: str, *tokenizers: MosesTokenizer) -> int:
        path.write_text(content, "utf-8")
        prepare(ParallelFiles([path], [path]), tokenizers[0], tokenizers[1], cache)
        return len(folders(cache))

    assert prepared("one\n", ENGLISH, FRENCH) == 1
    assert prepared("two\n", ENGLISH, FRENCH) == 2
    assert prepared("one\n", ENGLISH, FRENCH) == 2
    assert prepared("one\n", FRENCH, FRENCH) == 3
    monkeypatch.setattr(inspect, "getsource", lambda module: "other = 1")
    assert prepared("one\n", ENGLISH, FRENCH) == 4


@pytest.mark.parametrize("side", [0, 1])
def test_other_fingerprints_are_prepared_by_themselves(tmp_path, side):
    class Words(WhitespaceTokenizer):
        rules = "old"

        def fingerprint(self) -> str:
            return self.rules

    languages = Words("en"), Words("fr")
    prepare(TEXT, *languages, tmp_path)
    languages[side].rules = "new"
    prepare(TEXT, *languages, tmp_path)
    prepare(TEXT, *languages, tmp_path)
    assert len(folders(tmp_path)) == 2


def test_the_users_cache_is_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert preparation.default_cache_dir() == tmp_path / "rnnsearch_tf"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert preparation.default_cache_dir() == Path("/home/someone/.cache/rnnsearch_tf")
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")  # to be ignored: it is not absolute
    assert preparation.default_cache_dir() == Path("/home/someone/.cache/rnnsearch_tf")

    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)  # as for a user whom the system lacks
    with pytest.raises(InputError, match=r"no home directory .* give --cache_dir"):
        preparation.default_cache_dir()


def test_training_keeps_its_text_where_it_is_told(tmp_path, capsys, train_flags):
    flags = [*train_flags, "--max_length=1", f"--model_dir={tmp_path / 'model'}"]
    cache = tmp_path / "cache"
    for _ in range(2):
        assert train.run([*flags, f"--cache_dir={cache}"]) == 1  # no pair is so short
        assert "none of the 300 pairs" in capsys.readouterr().err
        assert len(folders(cache)) == 1


def test_a_language_without_rules_is_told(tmp_path, capsys, train_flags):
    flags = [*train_flags, "--target_language=sv", f"--model_dir={tmp_path / 'model'}"]
    assert train.run(flags) == 2
    assert "--target_language 'sv': the Moses tokenizer has" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", [f"{side}.{end}" for side in ("source", "target") for end in ("words", "starts")]
    + ["source.types", "target.counts", "digests.json"],
)  # fmt: skip
def test_a_damaged_cache_is_told_and_made_again(tmp_path, capsys, name):
    corpus, words = Counted(), WhitespaceTokenizer("en")
    prepare(corpus, words, words, tmp_path)
    whole = content(tmp_path)
    (path,) = tmp_path.glob(f"*/{name}")
    flipped = bytearray(whole[name])
    flipped[len(flipped) // 2] ^= 1
    for damage in (
        lambda: path.write_bytes(flipped),
        lambda: path.write_bytes(whole[name][: len(whole[name]) // 2]),
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(whole[name] + b"more"),
        path.unlink,
    ):
        damage()
        capsys.readouterr()
        prepare(corpus, words, words, tmp_path)
        assert content(tmp_path) == whole
        told, *_ = capsys.readouterr().err.splitlines()  # and that it is prepared
        assert told == f"{path.parent}: damaged; writing it again"
    assert corpus.read == 6


# --- never half -----------------------------------------------------------------------------------


def prepare_and_wait(cache: Path) -> int:
    """Prepare TEXT, tell standard error that it is begun, and wait in the middle of it."""
    add = prepared_corpus.SideWriter.add

    def add_and_wait(self, block):
        add(self, block)
        print("begun", file=sys.stderr)
        while True:  # one long sleep may miss a signal that comes just before it
            time.sleep(0.1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
        patch.setattr(prepared_corpus.SideWriter, "add", add_and_wait)
        prepare(TEXT, ENGLISH, FRENCH, cache)
    return 0


@pytest.fixture
def begun(tmp_path) -> Iterator[ForkedProcess]:
    """A process in the middle of preparing TEXT in tmp_path."""
    process = ForkedProcess(prepare_and_wait, tmp_path)
    assert "begun\n" in process.stderr
    yield process
    process.kill()
    process.finish()


def test_a_killed_preparation_is_not_taken_for_a_finished_one(tmp_path, begun):
    (unfinished,) = folders(tmp_path)
    assert unfinished.startswith(".")
    begun.kill()
    begun.wait()
    assert folders(tmp_path) == [unfinished]
    corpus = Counted()
    prepare(corpus, ENGLISH, FRENCH, tmp_path)
    assert corpus.read == 1
    assert unfinished not in folders(tmp_path)
    prepare(TEXT, ENGLISH, FRENCH, tmp_path / "beside")
    assert content(tmp_path / "beside")["source.types"].startswith(b"A\ndog\nsleeps\n.\n")


def test_an_interrupted_preparation_leaves_nothing(tmp_path, begun):
    begun.send_signal(signal.SIGINT)
    assert begun.wait(60)
    assert folders(tmp_path) == []


def test_a_second_preparation_waits_for_the_first(tmp_path, begun):
    corpus = Counted()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        second = pool.submit(prepare, corpus, ENGLISH, FRENCH, tmp_path)
        time.sleep(1)
        assert not second.done()
        assert corpus.read == 0
        assert len(folders(tmp_path)) == 1
        begun.kill()  # it will never be done: the second takes over
        second.result(timeout=60)
    assert corpus.read == 1
    assert content(tmp_path)["digests.json"]


def test_text_that_cannot_be_read_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel_corpus, "BLOCK_PAIRS", 2)
    path = tmp_path / "latin"
    path.write_bytes(b"a\n" * 9 + b"\xe9\n")
    with pytest.raises(InputError, match=r"^\S+latin: line 10 is not UTF-8$"):
        prepare(ParallelFiles([path], [path]), ENGLISH, FRENCH, tmp_path / "cache")
    assert folders(tmp_path / "cache") == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"")
    for cache in (file, file / "under"):
        with pytest.raises(InputError) as caught:
            prepare(TEXT, ENGLISH, FRENCH, cache)
        assert str(caught.value).startswith(f"{cache}: cannot be written: ")


@pytest.mark.parametrize("method", ["add", "finish"])
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch, method):
    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(prepared_corpus.SideWriter, method, refuse)
    with pytest.raises(InputError) as caught:
        prepare(TEXT, ENGLISH, FRENCH, tmp_path)
    assert str(caught.value) == f"{tmp_path}: cannot be written: No space left on device"
    assert folders(tmp_path) == []


# --- memory ---------------------------------------------------------------------------------------


def peak_bytes(action) -> int:
    """The most that Python and NumPy held at once, beyond what they held before."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_writing_does_not_grow_with_the_corpus(tmp_path):
    block = prepared_corpus.Block(
        [b"one", b"two"],
        np.zeros(3_000, np.int32),
        np.array([1_500, 1_500]),
        np.full(1_000, 3),
    )

    def peak(blocks: int) -> int:
        folder = tmp_path / str(blocks)
        folder.mkdir()

        def write():
            with contextlib.ExitStack() as files:
                writer = prepared_corpus.SideWriter(folder, "source", files)
                for _ in range(blocks):
                    writer.add(block)
            writer.finish()

        return peak_bytes(write)

    small, large = peak(10), peak(800)
    assert sum(path.stat().st_size for path in (tmp_path / "800").iterdir()) > 10_000_000
    assert large < small + 100_000


def memory_mapped(path: Path, count: int) -> Pairs:
    """Pairs of three words per side in files."""
    sides = []
    for side in ("source", "target"):
        arrays = []
        for name, array in (
            ("words", np.full(3 * count, 1, np.int32)),
            ("starts", np.arange(0, 3 * count + 1, 3, dtype=np.int64)),
        ):
            array.tofile(path / f"{side}.{name}")
            arrays.append(np.asarray(np.memmap(path / f"{side}.{name}", array.dtype, "r")))
        sides.append(Sentences(arrays[0], arrays[1], np.array([2, 3], np.int32)))
    return Pairs(*sides)


@pytest.mark.parametrize("batching", ["buckets", "sorted"])
def test_memory_of_reading_does_not_grow_with_the_corpus(tmp_path, monkeypatch, batching):
    config = TrainingConfig(batching=batching)
    monkeypatch.setattr("rnnsearch_tf.data.batching._COUNTED_AT_ONCE", 10_000)

    def peak(count: int) -> int:
        pairs = memory_mapped(tmp_path, count)

        def read():
            assert batch_count(pairs, config) == -(-count // 80)
            next(iter(training_batches(pairs, config, epoch=1, skip=200)))

        read()
        return peak_bytes(read)

    small, large = peak(20_000), peak(800_000)
    assert large < 1.5 * small + 100_000


@pytest.mark.parametrize("subwords", [False, True])
def test_text_that_changes_while_it_is_read_is_an_error(tmp_path, subwords):
    class Changing(Counted):
        def fingerprint(self) -> str:
            return f"{self.read}"

    def read() -> None:
        if subwords:
            find_subwords(Config(tokenizer="sentencepiece", subwords=280), Changing(), tmp_path)
        else:
            prepare(Changing(), ENGLISH, FRENCH, tmp_path)

    with pytest.raises(InputError, match="the text was changed while it was read"):
        read()
    assert not folders(tmp_path)
