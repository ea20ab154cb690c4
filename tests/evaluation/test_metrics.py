"""BLEU, its bins, and the loss of given pairs."""

import math

import numpy as np
import pytest
import sacrebleu
from known_pairs import pairs_of

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.evaluation.metrics import (
    LengthBin,
    bleu,
    bleu_by_length,
    chrf,
    length_bins,
    nll,
    ter,
    tokenized_bleu,
)
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.moses import MosesTokenizer

LINES = ["Le chat dort sur le lit.", "Il fait beau à Paris aujourd'hui.", "Une dame lit un livre."]
OTHER = ["un deux trois quatre cinq", "six sept huit neuf dix", "bleu blanc rouge vert noir"]
FRENCH = MosesTokenizer("fr")

# --- BLEU -----------------------------------------------------------------------------------------


def test_equal_text_has_bleu_100_and_a_signature():
    score, signature, interval = bleu(LINES, LINES)
    assert interval is None
    assert score == pytest.approx(100)
    assert f"version:{sacrebleu.__version__}" in signature
    assert "tok:13a" in signature and "case:mixed" in signature


def test_bleu_by_hand():
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples and 1 of 2 quadruples are right.
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu(["a b c d x"], ["a b c d e"]).score == pytest.approx(expected)
    # All right but one word short: the brevity penalty alone.
    assert bleu(["a b c d"], ["a b c d e"]).score == pytest.approx(100 * math.exp(1 - 5 / 4))


def test_bleu_is_cased():
    assert bleu([line.lower() for line in LINES], LINES).score < 90


def test_bleu_has_bins_of_source_lengths():
    lengths = [10, 11, 1, 20, 35]
    translations = [LINES[0], LINES[1], LINES[2], OTHER[0], OTHER[1]]
    references = [LINES[0], LINES[1], LINES[2], OTHER[2], OTHER[1]]
    bins = bleu_by_length(translations, references, lengths)
    assert [b[:3] for b in bins] == [(1, 10, 2), (11, 20, 2), (31, 40, 1)]
    assert bins[0].bleu == pytest.approx(100)
    assert bins[1].bleu == pytest.approx(
        bleu([LINES[1], OTHER[0]], [LINES[1], OTHER[2]]).score
    )  # fmt: skip
    assert bins[1].bleu < 90
    assert bins[2] == LengthBin(31, 40, 1, pytest.approx(100))  # type: ignore[arg-type]


def test_bins_of_ten_sentences_have_intervals_where_asked_for():
    lines = [LINES[0], OTHER[1]] * 10
    references = [LINES[0], LINES[1]] * 10
    lengths = [5] * 9 + [15] * 10 + [25]
    for intervals, expected in ((False, [False] * 3), (True, [False, True, False])):
        bins = bleu_by_length(lines, references, lengths, intervals=intervals)
        assert [b.interval is not None for b in bins] == expected
        assert all(b.p_value is None for b in bins)


def test_every_sentence_is_in_its_bin():
    assert length_bins([10, 11, 1, 35, 20]) == {(1, 10): [0, 2], (11, 20): [1, 4], (31, 40): [3]}
    assert length_bins([10, 11, 1, 35], bounds=[3, 12]) == {(1, 3): [2], (4, 12): [0, 1]}


def test_bins_may_have_another_width():
    found = bleu_by_length(LINES, LINES, [5, 6, 7], width=3)
    assert [b[:3] for b in found] == [(4, 6, 2), (7, 9, 1)]


def test_bins_may_have_bounds():
    lines = [*LINES, OTHER[0]]
    found = bleu_by_length(lines, lines, [2, 5, 6, 8], bounds=[2, 4, 7])
    assert [b[:3] for b in found] == [(1, 2, 1), (5, 7, 2)]


def test_chrf_by_hand():
    # Without spaces "abcx" and "abcd". Right: 3 of 4 characters, 2 of 3 pairs, 1 of 2 triples, and
    # none of 1 quadruple, on both sides: where precision and recall are equal, so is the F-score.
    score, signature, _ = chrf(["ab cx"], ["abc d"])
    assert score == pytest.approx(100 * (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)
    assert "nc:6|nw:0" in signature and "version:" in signature


def test_ter_by_hand():
    # A substitution and a word too many, of 5 words; then a block moved at once, which is one edit.
    score, signature, _ = ter(["a b x d e f"], ["a b c d e"])
    assert score == pytest.approx(100 * 2 / 5)
    assert "tok:tercom" in signature
    assert ter(["d e a b c"], ["a b c d e"]).score == pytest.approx(100 * 1 / 5)


def test_intervals_are_of_every_metric_and_in_the_signature():
    lines = [LINES[0], *OTHER[1:]]
    for metric in (bleu, chrf, ter):
        plain, found = metric(lines, LINES), metric(lines, LINES, intervals=True)
        assert found.score == plain.score
        assert plain.interval is None and (found.interval or 0) > 1
        assert "bs:1000" in found.signature and "bs:" not in plain.signature
    found = tokenized_bleu(lines, LINES, FRENCH, intervals=True)
    assert (found.interval or 0) > 1


def test_a_bootstrap_interval_grows_with_what_differs():
    assert bleu(LINES, LINES, intervals=True).interval == pytest.approx(0, abs=1e-4)
    assert (bleu([LINES[0], *OTHER[1:]], LINES, intervals=True).interval or 0) > 1
    assert bleu(["x"], ["a b c d e"], intervals=True).interval is None


def test_tokenized_bleu_counts_moses_tokens():
    # 13a leaves guillemets on their words, Moses parts them.
    translations, references = ["«Je dors» dit le chat noir"], ["« Je dors » dit le chat noir"]
    score, signature, _ = tokenized_bleu(translations, references, FRENCH)
    assert score == pytest.approx(100)
    assert "tok:none" in signature and "version:" in signature
    assert bleu(translations, references).score < 90


def test_tokenized_bleu_sees_elisions_as_words():
    # "l'" and "arbre": of 7 Moses tokens 6 are right, of 6 words of 13a 5.
    translations, references = ["je vois l'arbre vert ici ."], ["je vois l'herbe vert ici ."]
    tokens = bleu(["je vois l' arbre vert ici ."], ["je vois l' herbe vert ici ."]).score
    assert tokenized_bleu(translations, references, FRENCH).score == pytest.approx(tokens)
    assert bleu(translations, references).score < tokens


# --- loss of given pairs --------------------------------------------------------------------------


def test_nll_of_a_model_that_knows_nothing_is_log_k():
    model = TranslationModel(
        ModelConfig(
            source_vocabulary_size=11,
            target_vocabulary_size=13,
            embedding_size=3,
            hidden_size=5,
            attention_size=7,
            maxout_size=2,
        )
    )
    model.set_weights([np.zeros(w.shape) for w in model.get_weights()])
    # 7 target words with </s>
    pairs = pairs_of([[4], [5, 6, 7], [3]], [[9, 12, 4], [], [5]])
    per_token, per_sentence = nll(model.token_losses, pairs, batch_size=2)
    assert per_token == pytest.approx(math.log(13))
    assert per_sentence == pytest.approx(math.log(13) * 7 / 3)
