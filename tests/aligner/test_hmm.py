"""The hidden Markov model of word alignment: against enumeration, and on text with known links."""

import contextlib
import itertools
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.aligner.hmm import UNLINKED, WINDOW, expectations
from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.alignment.error_rate import GoldLinks, alignment_scores
from rnnsearch_tf.alignment.extraction import LinkMethod
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.synthetic.grammar import generate

JUMPS = np.random.default_rng(2).uniform(0.1, 2, 2 * WINDOW + 1).astype(np.float32)


def enumerated(emissions: np.ndarray, unlinked: np.ndarray) -> tuple[np.ndarray, ...]:
    """Posteriors of links [I, J] and, by distance, expected jumps and chances, by enumeration.

    A jump adds 1 / Σ_k s(k − j') to the chances of every distance that it could have had.
    """
    size, places = emissions.shape
    links, total = np.zeros([size, places]), 0.0
    jumps, chances = np.zeros([2, 2 * WINDOW + 1])
    for chosen in itertools.product([None, *range(places)], repeat=size):
        p, place, jumped, could = 1.0, -1, [], np.zeros_like(chances)
        for i, j in enumerate(chosen):
            if j is None:
                p *= UNLINKED * unlinked[i]
                continue
            distances = np.clip(np.arange(places) - place, -WINDOW, WINDOW) + WINDOW
            p *= (1 - UNLINKED) * emissions[i, j] * JUMPS[distances[j]] / JUMPS[distances].sum()
            jumped.append(distances[j])
            np.add.at(could, distances, 1 / JUMPS[distances].sum())
            place = j
        total += p
        np.add.at(jumps, jumped, p)
        chances += p * could
        for i, j in enumerate(chosen):
            if j is not None:
                links[i, j] += p
    return links / total, jumps / total, chances / total


def test_posteriors_are_those_of_enumeration_whatever_the_padding() -> None:
    random = np.random.default_rng(1)
    lengths = [(3, 4), (4, 2), (1, 1), (2, 0)]
    emissions = random.uniform(0.01, 1, [4, 5, 6]).astype(np.float32)
    unlinked = random.uniform(0.01, 1, [4, 5]).astype(np.float32)
    found = expectations(
        tf.constant(emissions),
        tf.constant(unlinked),
        tf.constant(JUMPS),
        tuple(map(tf.constant, zip(*lengths, strict=True))),
    )
    all_jumps, all_chances = np.zeros([2, 2 * WINDOW + 1])
    for k, (size, places) in enumerate(lengths):
        links, jumps, chances = enumerated(emissions[k, :size, :places], unlinked[k, :size])
        np.testing.assert_allclose(found.links[k, :size, :places], links, atol=1e-6)
        all_jumps += jumps
        all_chances += chances
    assert np.isfinite(found.links).all()
    np.testing.assert_allclose(found.jumps, all_jumps, atol=1e-5)
    np.testing.assert_allclose(found.chances, all_chances, rtol=1e-5)


@pytest.fixture(scope="module")
def aligner() -> HmmAligner:
    return HmmAligner.train((p.source_tokens, p.target_tokens) for p in generate(600, 1, 1, 12))


def test_it_finds_the_links_of_the_grammar(aligner: HmmAligner) -> None:
    pairs = list(generate(100, 2, 1, 12))
    method = LinkMethod(LinkRule("threshold", 0.35), "average")
    both = aligner.align([p.source_tokens for p in pairs], [p.target_tokens for p in pairs])
    gold = [GoldLinks(p.alignment, p.alignment) for p in pairs]
    scores = alignment_scores((method.links(*one) for one in both), gold)
    assert scores.aer is not None and scores.aer < 0.13, scores


def test_rows_sum_to_one_with_blank_and_unknown(aligner: HmmAligner) -> None:
    source, target = [["zyx", "the"], [], ["the"]], [["le", "xyz", "le"], ["le"], []]
    for (alpha, beta), x, y in zip(aligner.align(source, target), source, target, strict=True):
        assert alpha.shape == (len(y) + 1, len(x) + 1) and beta.shape == alpha.T.shape
        for weights in (alpha, beta):
            np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
        assert alpha[-1, -1] == beta[-1, -1] == 1


@pytest.mark.parametrize(("x", "y"), [([], ["le"]), (["the"], []), ([], [])])
def test_blank_pairs_alone(aligner: HmmAligner, x: list[str], y: list[str]) -> None:
    for weights in aligner.align([x], [y])[0]:
        assert (weights[:, -1] == 1).all() and not weights[:, :-1].any()
    assert aligner.align([], []) == []


def test_a_file_gives_the_same_links_and_a_damaged_one_an_error(
    aligner: HmmAligner, tmp_path: Path
) -> None:
    path = tmp_path / "aligner.npz"
    aligner.save(path)
    pairs = list(generate(20, 3, 1, 12))
    text = [p.source_tokens for p in pairs], [p.target_tokens for p in pairs]
    both = (one.align(*text) for one in (aligner, HmmAligner.load(path)))
    for (alpha, beta), (alpha_read, beta_read) in zip(*both, strict=True):
        np.testing.assert_allclose(alpha_read, alpha, atol=1e-3)
        np.testing.assert_allclose(beta_read, beta, atol=1e-3)
    with pytest.raises(InputError, match="No such file"):
        HmmAligner.load(tmp_path / "none.npz")
    whole = path.read_bytes()
    dice = np.random.default_rng(1)
    places = dice.integers(len(whole), size=40).tolist()
    damaged = [whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :] for place in places]
    for content in (b"", b"text", whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"aligner\.npz"):
            HmmAligner.load(path)
    path.write_bytes(whole)
    expected = np.concatenate([alpha.ravel() for alpha, _ in HmmAligner.load(path).align(*text)])
    for content in damaged:
        path.write_bytes(content)
        with contextlib.suppress(InputError):  # a bit in a header may matter to nobody
            found = [alpha.ravel() for alpha, _ in HmmAligner.load(path).align(*text)]
            np.testing.assert_array_equal(np.concatenate(found), expected)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("keys", lambda keys: keys[::-1]),
        ("keys", lambda keys: keys[:0]),
        ("forward_lexicon", lambda lexicon: lexicon[:-1]),
        ("reverse_jumps", lambda jumps: jumps * np.float32(np.nan)),
        ("reverse_unlinked", lambda unlinked: unlinked.astype(np.float64)),
    ],
)
def test_arrays_that_are_no_aligner_are_refused(aligner, tmp_path, name, change) -> None:
    path = tmp_path / "aligner.npz"
    aligner.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, name: change(arrays[name])})
    with pytest.raises(InputError, match=r"aligner\.npz: not an aligner, or damaged"):
        HmmAligner.load(path)


def test_a_file_that_would_fill_the_memory_is_refused(aligner, tmp_path, monkeypatch) -> None:
    path = tmp_path / "aligner.npz"
    np.savez_compressed(path, keys=np.zeros(10**6, np.int64))
    monkeypatch.setattr(np, "load", lambda path: pytest.fail("it was unpacked"))
    with pytest.raises(InputError, match=r"aligner\.npz: not an aligner, or damaged"):
        HmmAligner.load(path)


def test_an_array_that_no_memory_holds_is_refused(tmp_path) -> None:
    path = tmp_path / "aligner.npz"
    header = {"descr": "<i8", "fortran_order": False, "shape": (10**13,)}
    with zipfile.ZipFile(path, "w") as archive, archive.open("keys.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(InputError, match=r"aligner\.npz: damaged, or too large for the memory"):
        HmmAligner.load(path)


def test_long_pairs_are_left_out(capsys) -> None:
    pair = ["a"] * 301, ["b"]
    HmmAligner.train([pair, (["a"], ["b"])])
    assert "left out: 1 pairs of more than 300 words" in capsys.readouterr().err
    with pytest.raises(InputError, match="no sentence pair has words on both sides"):
        HmmAligner.train([pair])
    assert "left out: 1 pairs" in capsys.readouterr().err


def test_too_little_text_is_refused() -> None:
    pair = [[f"{side}{i}" for i in range(12)] for side in "ef"]
    with pytest.raises(InputError, match="too little text for an aligner"):
        HmmAligner.train([(pair[0], pair[1])])


def test_jumps_that_no_sentence_has_room_for_are_not_the_likeliest() -> None:
    words = [["a", "b", "c"], ["b", "d", "a"], ["c", "a", "d"], ["d", "c", "b"]] * 5
    aligner = HmmAligner.train([(row, [word.upper() for word in row]) for row in words])
    jumps = aligner._forward.jumps.numpy()
    assert jumps.argmax() == WINDOW + 1
    assert jumps[[0, 1, -1]].max() < 0.1
