"""Data selection: the score by hand, what is found in a mixed pool, files and bad input."""

import errno
import gzip
import itertools
import math
import os
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rnnsearch_tf import files as file_system
from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sampling import two_samples
from rnnsearch_tf.data.selection import moore_lewis
from rnnsearch_tf.data.selection.moore_lewis import best_pairs, entropy_differences, score_pairs
from rnnsearch_tf.data.selection.ngram_model import UNK, NgramModel, frequent_words
from rnnsearch_tf.data.selection.pairs import first_occurrences, writing
from rnnsearch_tf.scripts import select
from rnnsearch_tf.synthetic.grammar import generate

NEWS = ["a b a", "b a b c", "a a"]
POOL = ["a c c", "d a", "b b d d"]


def split(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def by_hand(lines: list[str], words: set[str], order: int):
    """Interpolated Kneser-Ney with one discount, straight from its definition: p(w, context)."""
    rows = [["<s>", *(w if w in words else UNK for w in line.split()), "</s>"] for line in lines]
    seen = [
        tuple(row[i - n : i])
        for row in rows
        for n in range(1, order + 1)
        for i in range(n, len(row) + 1)
    ]
    occurrences = Counter(seen)

    def count(ngram):
        if len(ngram) == order or ngram[0] == "<s>":
            return occurrences[ngram]
        before = {other[0] for other in occurrences if other[1:] == ngram}
        return len(before)

    everything = [*sorted(words), UNK, "</s>"]

    def probability(word, context):
        if not context:
            counts = {w: count((w,)) + 1 for w in everything}
            return counts[word] / sum(counts.values())
        counts = {w: count((*context, w)) for w in everything}
        total = sum(counts.values())
        if not total:
            return probability(word, context[1:])
        followers = sum(1 for c in counts.values() if c)
        kept = max(counts[word] - 0.75, 0) / total
        return kept + 0.75 * followers / total * probability(word, context[1:])

    return probability


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_are_those_of_the_definition_and_sum_to_one(order):
    words = {"a", "b", "z"}
    model = NgramModel(split(NEWS), words, order)
    expected = by_hand(NEWS, words, order)
    contexts = [
        c for n in range(order) for c in itertools.product(["<s>", "a", "b", UNK], repeat=n)
    ]
    for context in contexts:
        p = {w: math.exp(model.log_probability((*context, w))) for w in (*words, UNK, "</s>")}
        assert p == pytest.approx({w: expected(w, context) for w in p}, rel=1e-12)
        assert sum(p.values()) == pytest.approx(1.0, abs=1e-12)


def test_ngrams_of_a_sentence():
    assert NgramModel([], {"a"}, 3).ngrams(["a", "x"]) == [
        ("<s>", "a"), ("<s>", "a", UNK), ("a", UNK, "</s>")
    ]  # fmt: skip
    assert NgramModel([], {"a"}, 1).ngrams(["a"]) == [("a",), ("</s>",)]


def test_the_score_is_the_difference_of_cross_entropies():
    words = {"a", "b"}  # c occurs once
    assert frequent_words(split(NEWS)) == words
    p_in, p_pool = by_hand(NEWS, words, 3), by_hand(POOL, words, 3)
    row = ["<s>", "a", UNK, "a", "b", "</s>"]

    def entropy(p):
        contexts = [tuple(row[max(0, i - 2) : i]) for i in range(1, 6)]
        return -sum(math.log(p(row[i + 1], context)) for i, context in enumerate(contexts)) / 5

    (difference,) = entropy_differences([*split(NEWS), []], [[[], *split(POOL)]], 3)
    assert difference(["a", "q", "a", "b"]) == pytest.approx(entropy(p_in) - entropy(p_pool))
    assert difference([]) == math.inf


def test_a_pair_scores_the_sum_of_its_sides_under_the_sample_without_it():
    news = ParallelText(["a b a", "b a b"], ["x y x", "y x y"])
    pool = ParallelText(["a b", "", "q q q", "a b"], ["x y", "z", " ", "q z"])
    scores = score_pairs(news, pool, order=2, seed=3)
    assert scores.shape == (4,)
    assert np.isinf(scores[1:3]).all()
    first, second, count = two_samples(pool, 2, 3)
    assert len(first.source) + len(second.source) == count
    for row in (0, 3):
        is_in_first = (pool.source[row], pool.target[row]) in zip(*first, strict=True)
        sample = second if is_in_first else first
        expected = 0.0
        for side in (0, 1):
            (difference,) = entropy_differences(split(news[side]), [split(sample[side])], 2)
            expected += difference(pool[side][row].split())
        assert scores[row] == pytest.approx(expected)


def test_the_best_are_in_the_pools_order_and_ties_go_to_the_first():
    scores = np.array([3.0, 1.0, np.inf, 0.0, 1.0, 2.0])
    assert best_pairs(scores, 2).tolist() == [1, 3]
    assert best_pairs(scores, 3).tolist() == [1, 3, 4]
    assert best_pairs(scores, 99).tolist() == [0, 1, 3, 4, 5]
    assert best_pairs(scores, 2, np.array([1, 0, 1, 0, 1, 1], bool)).tolist() == [4, 5]


def test_equal_pairs_are_equal_on_both_sides():
    pool = ParallelText(["a", "a", "b", "a", "a b"], ["x", "y", "x", "x", "x"])
    assert first_occurrences(pool).tolist() == [True, True, True, False, True]


def test_samples_are_fair_apart_and_repeat_themselves():
    lines = [str(i) for i in range(13)]
    pool = ParallelText(lines, lines)
    first, second, count = two_samples(pool, 20, 1)
    assert (len(first.source), len(second.source), count) == (7, 6, 13)
    assert sorted([*first.source, *second.source]) == sorted(lines)
    assert two_samples(pool, 5, 1) == two_samples(pool, 5, 1)
    drawn: Counter[int] = Counter()
    for seed in range(1_000):
        first, second, _ = two_samples(pool, 5, seed)
        assert len(first.source) == len(second.source) == 5
        assert not {*first.source} & {*second.source}
        assert first.source == first.target
        drawn.update(map(int, first.source))
    assert all(abs(drawn[row] - 5_000 / 13) < 80 for row in range(13))


def test_a_pair_that_equals_a_sampled_one_is_scored_as_that(monkeypatch):
    """Or of equal ones only those that were not drawn would look unlike the domain."""
    news = ParallelText(["a b", "a b c", "b a"], ["x y", "x y z", "y x"])
    pool = ParallelText(["a b c", "c a", "b b", "c b a"] * 3, ["x y z", "z x", "y y", "z y x"] * 3)
    for seed in range(5):
        scores = score_pairs(news, pool, order=2, seed=seed).reshape(3, 4)
        assert (scores == scores[0]).all()


def cooking(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences of another domain, with some words and shapes of the grammar's."""
    generator = random.Random(seed)
    verbs = [("Peel", "Épluchez"), ("Chop", "Hachez"), ("Boil", "Faites bouillir"),
             ("Fry", "Faites frire"), ("Wash", "Lavez"), ("Serve", "Servez")]  # fmt: skip
    foods = [("onions", "oignons"), ("carrots", "carottes"), ("leeks", "poireaux"),
             ("potatoes", "pommes de terre"), ("mushrooms", "champignons")]  # fmt: skip
    ends = [("in butter", "dans le beurre"), ("with the garlic", "avec l'ail"),
            ("for ten minutes", "pendant dix minutes"), ("slowly", "lentement")]  # fmt: skip
    pairs = []
    for _ in range(count):
        (v, w), (f, g), (e, d) = (generator.choice(part) for part in (verbs, foods, ends))
        (f2, g2) = generator.choice(foods)
        pairs.append((f"{v} the {f} and the {f2} {e}.", f"{w} les {g} et les {g2} {d}."))
    return pairs


def write(path: Path, lines: list[str]) -> str:
    content = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Recipes as the domain; a pool of 60 recipes among 300 sentences of the grammar."""
    general = [(p.source, p.target) for p in generate(300, 3, 4, 14)]
    pool = [*general, *cooking(60, 5)]
    random.Random(0).shuffle(pool)
    pool[7] = ("", "Lavez les oignons.")
    pool[11] = ("Wash the onions.", "  ")
    domain = cooking(80, 9)
    named = {"in_domain": domain, "pool": pool}
    flags = {
        f"{name}_{side}": write(tmp_path / f"{name}.{side}.gz", [pair[i] for pair in pairs])
        for name, pairs in named.items()
        for i, side in enumerate(("source", "target"))
    }
    outputs = {f"output_{side}": str(tmp_path / f"out.{side}") for side in ("source", "target")}
    return {**flags, **outputs, "keep": "50"}


def arguments(files: dict[str, str], **changed: object) -> list[str]:
    return [f"--{name}={value}" for name, value in {**files, **changed}.items()]


def selected(files: dict[str, str]) -> list[tuple[str, str]]:
    sides = [read_lines(files[f"output_{side}"]) for side in ("source", "target")]
    return list(zip(*sides, strict=True))


def is_recipe(pair: tuple[str, str]) -> bool:
    return pair[0].split()[0] in ("Peel", "Chop", "Boil", "Fry", "Wash", "Serve")


def test_what_is_selected_is_in_domain_and_in_the_pools_order(files, tmp_path, capsys):
    scores = tmp_path / "scores.gz"
    assert select.run(arguments(files, scores=scores)) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("kept 50 of 360 pairs; scores -")
    pairs = selected(files)
    assert len(pairs) == 50
    assert all(is_recipe(pair) for pair in pairs)
    pool = list(zip(*(read_lines(files[f"pool_{s}"]) for s in ("source", "target")), strict=True))
    table = np.array([float(line) for line in read_lines(scores)])
    assert len(table) == len(pool)
    assert np.isinf(table[[7, 11]]).all()
    rows = sorted(sorted(range(len(pool)), key=table.__getitem__)[:50])
    assert [pool[row] for row in rows] == pairs


def test_gzip_in_gives_what_plain_text_gives_and_out_is_reproducible(files, tmp_path):
    assert select.run(arguments(files)) == 0
    plain = {
        name: write(tmp_path / name, read_lines(path))
        for name, path in files.items()
        if name.startswith(("in_domain", "pool"))
    }
    first = {"output_source": tmp_path / "1.gz", "output_target": tmp_path / "2.gz"}
    assert select.run(arguments({**files, **plain}, **first)) == 0
    assert read_lines(first["output_source"]) == read_lines(files["output_source"])
    assert read_lines(first["output_target"]) == read_lines(files["output_target"])
    before = first["output_source"].read_bytes()
    assert before[4:8] == bytes(4)  # no time
    assert select.run(arguments({**files, **plain}, **first)) == 0
    assert first["output_source"].read_bytes() == before


def test_more_than_the_pool_and_no_duplicates(files, capsys):
    assert select.run(arguments(files, keep=1_000)) == 0
    assert "kept 358 of 360 pairs, all that can be chosen; 1,000 were asked for" in (
        capsys.readouterr().err
    )
    pairs = selected(files)
    assert len(pairs) == 358
    assert len(set(pairs)) < 358
    assert select.run([*arguments(files, keep=1_000), "--drop_duplicates"]) == 0
    assert selected(files) == list(dict.fromkeys(pairs))


def test_a_pool_that_grows_while_it_is_read_is_told(files, capsys, monkeypatch):
    def sample(*given):
        drawn = two_samples(*given)
        for path in (files["pool_source"], files["pool_target"]):
            write(Path(path), [*read_lines(path), "one more"])
        return drawn

    monkeypatch.setattr(moore_lewis, "two_samples", sample)
    assert select.run(arguments(files)) == 1
    assert "the text was changed while it was read" in capsys.readouterr().err


def fails(capsys, files: dict[str, str], status: int = 1, **changed: object) -> str:
    """A run that must fail with one line and leave every file as it was."""
    folder = Path(files["output_source"]).parent
    Path(files["output_source"]).write_text("kept\n")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert select.run(arguments(files, **changed)) == status
    assert before == {path: path.read_bytes() for path in folder.iterdir()}
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("rnnsearch-select: ")
    return line


def test_bad_input_is_one_line_and_nothing_is_overwritten(files, tmp_path, capsys):
    assert "none: No such file" in fails(capsys, files, pool_target=tmp_path / "none")
    assert "no such folder" in fails(capsys, files, scores=tmp_path / "no" / "scores")
    line = fails(capsys, files, 2, output_target=files["pool_target"])
    assert "another flag names this file" in line
    line = fails(capsys, files, 2, output_target=files["output_source"])
    assert "another flag names this file" in line
    once = write(tmp_path / "once", ["One two three"])
    line = fails(capsys, files, in_domain_source=once, in_domain_target=once)
    assert "no word occurs twice" in line
    short = write(tmp_path / "short", ["Wash the onions."] * 359)
    line = fails(capsys, files, pool_target=short)
    assert "has 360 lines" in line
    assert "has 359" in line
    latin = tmp_path / "latin"
    latin.write_bytes(b"good\n\xe9t\xe9\n")
    assert "latin: line 2 is not UTF-8" in fails(capsys, files, in_domain_target=latin)


def test_the_sides_are_replaced_together_or_not_at_all(files, tmp_path, capsys, monkeypatch):
    synced: list[Path] = []

    def synchronize(path: Path) -> None:
        synced.append(path)
        if len(synced) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("rnnsearch_tf.data.selection.pairs.synchronize", synchronize)
    assert "No space left" in fails(capsys, files, scores=tmp_path / "scores")
    assert len(synced) == 2


def test_a_break_between_the_renames_leaves_no_wrong_pairs(tmp_path, monkeypatch):
    paths = [tmp_path / name for name in ("kept.en", "kept.fr")]
    for path in paths:
        path.write_text("old\n")
        path.chmod(0o600)

    def write(content: bytes) -> None:
        with writing(paths) as opened:
            for file in opened:
                file.write(content)

    write(b"new\n")
    assert [path.read_text() for path in paths] == ["new\n"] * 2
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600] * 2
    rename = file_system.move_over
    renamed: list[Path] = []

    def break_off(temporary: Path, path: Path) -> None:
        if renamed:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        renamed.append(path)
        rename(temporary, path)

    monkeypatch.setattr(file_system, "move_over", break_off)
    with pytest.raises(OSError, match="Input/output"):
        write(b"newer\n")
    assert paths[1].read_text() == "newer\n" and not paths[0].exists()


def test_too_much_text_is_one_line(files, capsys, monkeypatch):
    monkeypatch.setattr("nltk.lm.counter.MAX_NGRAMS", 50)
    assert "too much text for a language model of order 3" in fails(capsys, files)


def test_captions_are_found_among_speeches(real_text):
    def lines(name: str, start: int, stop: int) -> ParallelText:
        sides = (read_lines(real_text / f"{name}.{language}.gz") for language in ("en", "fr"))
        return ParallelText(*(side[start:stop] for side in sides))

    captions, speeches = lines("multi30k/train", 0, 300), lines("europarl/valid", 0, 1_500)
    pool = ParallelText(*(a + b for a, b in zip(captions, speeches, strict=True)))
    scores = score_pairs(lines("multi30k/valid", 0, 1_000), pool)
    assert np.mean(best_pairs(scores, 300) < 300) > 0.97
