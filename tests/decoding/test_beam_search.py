"""The search on drawn trellises, and against greedy, exhaustive and naive searches in NumPy."""

import dataclasses
import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from naive_search import EOS, naive_beam_search

from rnnsearch_tf.decoding.beam_search import Hypotheses, SearchStep, beam_search
from rnnsearch_tf.decoding.scoring import LengthNormalization, ScoringRule

PAD, _, A, B, C, D = range(6)
MEAN = LengthNormalization(1.0)  # log p per token
START = PAD  # the row of a trellis from which the first word is drawn


class Trellis:
    """A Markov chain: p(next word | last word), the same for every sentence."""

    def __init__(self, rows: dict[int, dict[int, float]]):
        table = np.zeros([6, 6])
        for last, successors in rows.items():
            for word, probability in successors.items():
                table[last, word] = probability
        with np.errstate(divide="ignore"):
            self.logits = tf.constant(np.log(table), tf.float32)
        self.predictions = 0

    def predict(self, last):
        self.predictions += 1
        return tf.gather(self.logits, last)  # [B, Q, K]

    def advance(self, last, words):
        del last
        return words

    def search(self, max_length: int, batch: int = 1, **options) -> Hypotheses:
        return beam_search(
            SearchStep(self.predict, self.advance),
            tf.fill([batch, 1], START),
            max_lengths=tf.fill([batch], max_length),
            eos_id=EOS,
            **options,
        )


class Recurrence:
    """A random recurrence, so that a word's probability depends on all the words before it."""

    def __init__(self, seed: int, batch: int, vocabulary: int, units: int = 3):
        random = np.random.default_rng(seed)
        self.first = random.normal(size=[batch, 1, units])
        self.W = 1.5 * random.normal(size=[units, units])
        self.E = random.normal(size=[vocabulary, units])
        self.V = 2.0 * random.normal(size=[units, vocabulary])

    @property
    def state(self):
        return {"s": tf.constant(self.first, tf.float32)}

    def predict(self, state):
        return tf.einsum("bqn,nk->bqk", state["s"], tf.constant(self.V, tf.float32))

    def advance(self, state, words):
        s = tf.einsum("bqn,nm->bqm", state["s"], tf.constant(self.W, tf.float32))
        return {"s": tf.tanh(s + tf.gather(tf.constant(self.E, tf.float32), words))}

    def log_softmax(self, sentence: int, prefix) -> np.ndarray:
        """log p(next word | prefix), float64 [K]."""
        s = self.first[sentence, 0]
        for word in prefix:
            s = np.tanh(s @ self.W + self.E[word])
        logits = s @ self.V
        return logits - np.log(np.exp(logits).sum())

    def log_prob(self, sentence: int, words) -> float:
        return sum(self.log_softmax(sentence, words[:i])[word] for i, word in enumerate(words))

    def search(self, max_lengths, **options) -> Hypotheses:
        return beam_search(
            SearchStep(self.predict, self.advance),
            self.state,
            max_lengths=tf.constant(max_lengths),
            eos_id=EOS,
            **options,
        )


def words_of(hypotheses: Hypotheses, sentence: int = 0) -> list[tuple[int, ...]]:
    """The words of a sentence's hypotheses, in order, without padding and unfilled slots."""
    tokens, lengths = hypotheses.tokens[sentence].numpy(), hypotheses.lengths[sentence].numpy()
    for row, length in zip(tokens, lengths, strict=True):
        assert not row[length:].any()
    return [
        tuple(int(word) for word in row[:length])
        for row, length in zip(tokens, lengths, strict=True)
        if length
    ]


def steps_run(hypotheses: Hypotheses) -> int:
    return hypotheses.tokens.shape[2]


# Greedy takes a (.6), then c (.4):          a c </s>  .6 x .4       = .24
# A beam of two holds b (.4) as well:        b c </s>  .4 x .9       = .36
# The others are                             a </s>    .6 x .3       = .18
#                                            b </s>    .4 x .1       = .04
#                                            a a ...   .6 x .3 = .18, and less with every word
GARDEN_PATH = {
    START: {A: 0.6, B: 0.4},
    A: {C: 0.4, A: 0.3, EOS: 0.3},
    B: {C: 0.9, EOS: 0.1},
    C: {EOS: 1.0},
}


def test_greedy_is_led_down_the_garden_path():
    hypotheses = Trellis(GARDEN_PATH).search(max_length=7, beam_size=1)
    assert words_of(hypotheses) == [(A, C, EOS)]
    np.testing.assert_allclose(hypotheses.log_probs, [[math.log(0.24)]], rtol=1e-6)


def test_a_beam_of_two_is_not():
    hypotheses = Trellis(GARDEN_PATH).search(max_length=7, beam_size=2, batch=3)
    for sentence in range(3):
        assert words_of(hypotheses, sentence) == [(B, C, EOS), (A, C, EOS)]
    np.testing.assert_allclose(hypotheses.log_probs[2], np.log([0.36, 0.24]), rtol=1e-6)
    np.testing.assert_array_equal(hypotheses.lengths, [[3, 3]] * 3)
    assert hypotheses.tokens.dtype == hypotheses.lengths.dtype == tf.int32
    assert hypotheses.log_probs.dtype == hypotheses.scores.dtype == tf.float32


def test_no_token_has_a_log_p_above_0():
    model = Trellis(GARDEN_PATH)
    model.logits += 1e4 * tf.one_hot([C], 6, axis=0)  # rounds the sum with the log of 1, of c </s>
    hypotheses = model.search(max_length=7, beam_size=2)
    assert (hypotheses.token_log_probs.numpy() <= 0).all()


# With </s> finished, one of two slots is left: it goes to a (.3) although b </s> (.2) is to be the
# better one, since a splits up: a c </s> = .3 x .6 = .18, a d </s> = .3 x .4 = .12.
SHRINKING = {
    START: {EOS: 0.5, A: 0.3, B: 0.2},
    A: {C: 0.6, D: 0.4},
    B: {EOS: 1.0},
    C: {EOS: 1.0},
    D: {EOS: 1.0},
}


def test_each_finished_hypothesis_takes_a_slot_for_good():
    hypotheses = Trellis(SHRINKING).search(max_length=7, beam_size=2, n_best=2)
    assert words_of(hypotheses) == [(EOS,), (A, C, EOS)]
    np.testing.assert_allclose(hypotheses.log_probs[0], np.log([0.5, 0.18]), rtol=1e-6)


def test_a_wider_beam_has_room_for_the_better_one():
    hypotheses = Trellis(SHRINKING).search(max_length=7, beam_size=3, n_best=3)
    assert words_of(hypotheses) == [(EOS,), (B, EOS), (A, C, EOS)]
    np.testing.assert_allclose(hypotheses.log_probs[0], np.log([0.5, 0.2, 0.18]), rtol=1e-6)


# After </s> this chain says </s> for sure: a search that went on would raise the mean per token
# of </s> from log .4 to log .4 / 2, / 3, ... above that of a a ... </s>.
AFTER_THE_END = {START: {EOS: 0.4, A: 0.6}, A: {A: 0.7, EOS: 0.3}, EOS: {EOS: 1.0}}


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_a_finished_hypothesis_is_frozen(exponent):
    hypotheses = Trellis(AFTER_THE_END).search(
        max_length=5, beam_size=3, n_best=3, scoring=LengthNormalization(exponent)
    )
    assert steps_run(hypotheses) == 5
    at = hypotheses.lengths[0].numpy().tolist().index(1)
    np.testing.assert_array_equal(hypotheses.tokens[0, at], [EOS, 0, 0, 0, 0])
    np.testing.assert_allclose(hypotheses.log_probs[0, at], math.log(0.4), rtol=1e-6)
    np.testing.assert_allclose(hypotheses.scores[0, at], math.log(0.4), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    model = Recurrence(seed, batch=3, vocabulary=7)
    hypotheses = model.search(beam_size=1, max_lengths=[11, 11, 11])
    for sentence in range(3):
        words: list[int] = []
        while not words or words[-1] != EOS:
            p = model.log_softmax(sentence, words)
            words.append(EOS if len(words) == 10 else int(p.argmax()))
        assert words_of(hypotheses, sentence) == [tuple(words)]


# 4 words and eos, at most 3 tokens.
WORDS = [word for word in range(5) if word != EOS]
EVERY = [(*y, EOS) for n in range(3) for y in itertools.product(WORDS, repeat=n)]


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0])
def test_a_beam_wide_enough_is_exhaustive(exponent):
    # Of 23 slots two stay unfilled.
    model = Recurrence(seed=7, batch=2, vocabulary=5)
    scoring = LengthNormalization(exponent)
    hypotheses = model.search(beam_size=23, n_best=23, max_lengths=[3, 3], scoring=scoring)
    assert len(EVERY) == 21
    for sentence in range(2):
        scores = {y: model.log_prob(sentence, y) / len(y) ** exponent for y in EVERY}
        ranked = sorted(EVERY, key=scores.__getitem__, reverse=True)
        assert words_of(hypotheses, sentence) == ranked
        np.testing.assert_allclose(
            hypotheses.scores[sentence, :21], [scores[y] for y in ranked], rtol=1e-5
        )
    np.testing.assert_array_equal(hypotheses.scores[:, 21:], np.full([2, 2], -np.inf))
    np.testing.assert_array_equal(hypotheses.log_probs[:, 21:], np.full([2, 2], -np.inf))
    np.testing.assert_array_equal(hypotheses.lengths[:, 21:], np.zeros([2, 2]))
    np.testing.assert_array_equal(hypotheses.token_log_probs[:, 21:], np.zeros([2, 2, 3]))


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize(
    "options",
    [{}, {"alpha": 1.0}, {"banned": (0, 6), "shortest": 3}, {"shortest": 99, "alpha": 0.5}],
    ids=str,
)
def test_it_finds_what_the_naive_search_finds(k, options):
    model = Recurrence(k, batch=7, vocabulary=11)
    longest = [7, 2, 13, 6, 1, 9, 11]
    hypotheses = model.search(
        beam_size=k,
        n_best=k,
        max_lengths=longest,
        min_lengths=tf.fill([7], options.get("shortest", 0)),
        banned_ids=options.get("banned", ()),
        scoring=LengthNormalization(options.get("alpha", 0.0)),
    )
    for sentence in range(7):
        expected = naive_beam_search(model, sentence, k=k, longest=longest[sentence], **options)
        scores, log_probs, words = zip(*expected, strict=True)
        n = len(expected)
        assert words_of(hypotheses, sentence) == list(words)
        np.testing.assert_allclose(hypotheses.scores[sentence, :n], scores, rtol=1e-5)
        np.testing.assert_allclose(hypotheses.log_probs[sentence, :n], log_probs, rtol=1e-5)
        for slot, y in enumerate(words):
            own = [model.log_softmax(sentence, y[:i])[word] for i, word in enumerate(y)]
            steps = hypotheses.token_log_probs[sentence, slot].numpy()
            np.testing.assert_allclose(steps[: len(y)], own, atol=1e-5)
            assert not steps[len(y) :].any()


class Coverage(ScoringRule):
    """Length normalization, and the coverage penalty of Wu et al. (2016, arXiv 1609.08144).

    score(y) = log p(y|x) / |y|^0.5 + weight Σ_j log min(Σ_i α_ij, 1); what is kept is Σ_i α_ij.
    """

    def __init__(self, weight: float):
        self.weight = weight

    def start(self, state):
        return {"coverage": tf.zeros_like(state["alignment"])}

    def extend(self, kept, state, words):
        assert words.shape[1] == kept["coverage"].shape[1]
        return {"coverage": kept["coverage"] + state["alignment"]}

    def score(self, log_probs, lengths, kept):
        covered = tf.reduce_sum(tf.math.log(tf.minimum(kept["coverage"], 1.0)), axis=2)
        return log_probs / tf.cast(lengths, tf.float32) ** 0.5 + self.weight * covered

    def bound(self, log_probs, max_lengths, kept):
        return log_probs / tf.cast(max_lengths, tf.float32) ** 0.5  # all words may yet be covered


class WordBonus(ScoringRule):
    """score(y) = log p(y|x) + bonus |y|, for which nothing needs to be kept."""

    def __init__(self, bonus: float):
        self.bonus = bonus

    def score(self, log_probs, lengths, kept):
        tf.debugging.assert_positive(lengths)
        return log_probs + self.bonus * tf.cast(lengths, log_probs.dtype)

    def bound(self, log_probs, max_lengths, kept):
        return log_probs + self.bonus * tf.cast(max_lengths, log_probs.dtype)


class Aligned(Recurrence):
    """A recurrence whose state looks at three source words."""

    def align(self, s) -> tf.Tensor:
        return tf.nn.softmax(2 * s, axis=-1)

    @property
    def state(self):
        state = super().state
        return {**state, "alignment": self.align(state["s"])}

    def advance(self, state, words):
        after = super().advance(state, words)
        return {**after, "alignment": self.align(after["s"])}

    def alignments(self, sentence: int, words) -> np.ndarray:
        """α [|y|, 3] of a hypothesis."""
        s, rows = self.first[sentence, 0], []
        for word in words:
            rows.append(np.exp(2 * s) / np.exp(2 * s).sum())
            s = np.tanh(s @ self.W + self.E[word])
        return np.array(rows)

    def score(self, sentence: int, words, weight: float) -> float:
        coverage = np.minimum(self.alignments(sentence, words).sum(axis=0), 1)
        log_prob = self.log_prob(sentence, words)
        return log_prob / len(words) ** 0.5 + weight * np.log(coverage).sum()


@pytest.mark.parametrize("weight", [0.0, 0.2, 3.0])
def test_a_coverage_penalty_ranks_as_exhaustive_search_does(weight):
    model = Aligned(seed=7, batch=2, vocabulary=5)
    options = dict(beam_size=23, max_lengths=[3, 3], scoring=Coverage(weight))
    hypotheses, best = model.search(**options, n_best=23), model.search(**options)
    for sentence in range(2):
        scores = {y: model.score(sentence, y, weight) for y in EVERY}
        ranked = sorted(EVERY, key=scores.__getitem__, reverse=True)
        assert words_of(hypotheses, sentence) == ranked
        assert words_of(best, sentence)[0] == ranked[0]
        expected = [scores[y] for y in ranked]
        np.testing.assert_allclose(hypotheses.scores[sentence, :21], expected, rtol=1e-5)
        by_log_prob = [model.log_prob(sentence, y) for y in ranked]
        np.testing.assert_allclose(hypotheses.log_probs[sentence, :21], by_log_prob, rtol=1e-5)


@pytest.mark.parametrize("bonus", [0.1, 0.7, 5.0])
def test_a_word_bonus_ranks_as_exhaustive_search_does(bonus):
    model = Recurrence(seed=7, batch=2, vocabulary=5)
    options = dict(beam_size=23, max_lengths=[3, 3], scoring=WordBonus(bonus))
    hypotheses, best = model.search(**options, n_best=23), model.search(**options)
    for sentence in range(2):
        scores = {y: model.log_prob(sentence, y) + bonus * len(y) for y in EVERY}
        ranked = sorted(EVERY, key=scores.__getitem__, reverse=True)
        assert words_of(hypotheses, sentence) == ranked
        assert words_of(best, sentence)[0] == ranked[0]


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_stopping_early_does_not_change_the_best(exponent):
    for seed in range(2):
        model = Recurrence(seed, batch=11, vocabulary=7)
        scoring = LengthNormalization(exponent)
        options = dict(beam_size=5, max_lengths=[13] * 11, scoring=scoring)
        early, late = model.search(**options), model.search(**options, n_best=5)
        assert steps_run(early) <= steps_run(late)
        for sentence in range(11):
            assert words_of(early, sentence)[0] == words_of(late, sentence)[0]
        np.testing.assert_array_equal(early.scores[:, 0], late.scores[:, 0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_logits_are_normalized_in_float32(dtype):
    logits = tf.cast(tf.random.stateless_normal([1, 1, 997], seed=(2, 3)), dtype)
    hypotheses = beam_search(
        SearchStep(lambda state: logits + tf.cast(state, dtype), lambda state, words: state),
        tf.zeros([1, 1, 1]),
        beam_size=5,
        n_best=5,
        max_lengths=tf.constant([2]),
        eos_id=EOS,
    )
    p = tf.nn.log_softmax(tf.cast(logits, tf.float32))[0, 0].numpy()
    for words, log_prob in zip(words_of(hypotheses), hypotheses.log_probs[0].numpy(), strict=True):
        np.testing.assert_allclose(log_prob, sum(p[word] for word in words), rtol=1e-5)


# A beam of one never prefers </s> here: only the maximum makes it end.
LOOP = {START: {A: 0.9, EOS: 0.1}, A: {A: 0.9, EOS: 0.1}}


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_at_its_maximum_a_hypothesis_pays_for_its_eos(max_length):
    hypotheses = Trellis(LOOP).search(max_length=max_length, beam_size=1)
    assert words_of(hypotheses) == [(A,) * (max_length - 1) + (EOS,)]
    expected = (max_length - 1) * math.log(0.9) + math.log(0.1)
    np.testing.assert_allclose(hypotheses.log_probs, [[expected]], rtol=1e-6)


def test_a_maximum_below_one_is_one():
    assert words_of(Trellis(LOOP).search(max_length=0, beam_size=3)) == [(EOS,)]


@pytest.mark.parametrize(("shortest", "words"), [(0, 0), (1, 1), (3, 3), (4, 4), (9, 4)])
def test_eos_comes_after_the_minimum_of_words_if_the_maximum_allows(shortest, words):
    rows = {START: {A: 0.1, EOS: 0.9}, A: {A: 0.1, EOS: 0.9}}
    hypotheses = Trellis(rows).search(
        max_length=5, beam_size=1, min_lengths=tf.constant([shortest])
    )
    assert words_of(hypotheses) == [(A,) * words + (EOS,)]


def test_banned_words_are_not_chosen_and_the_others_not_rescaled():
    hypotheses = Trellis(GARDEN_PATH).search(max_length=7, beam_size=2, banned_ids=[PAD, C])
    # Without c:  a </s> = .18 comes first, and b </s> = .04 has no room beside a a = .18.
    assert words_of(hypotheses)[0] == (A, EOS)
    np.testing.assert_allclose(hypotheses.log_probs[0, 0], math.log(0.18), rtol=1e-6)


def test_a_hypothesis_that_cannot_go_on_ends():
    rows = {START: {A: 0.6, B: 0.4}, A: {C: 1.0}, B: {EOS: 1.0}}
    hypotheses = Trellis(rows).search(max_length=7, beam_size=2, n_best=2, banned_ids=[C])
    assert words_of(hypotheses) == [(B, EOS)]
    assert steps_run(hypotheses) == 2


def test_if_none_can_go_on_eos_alone_is_left():
    hypotheses = Trellis({START: {A: 1.0}, A: {C: 1.0}}).search(7, beam_size=2, banned_ids=[C])
    assert words_of(hypotheses) == [(EOS,)]
    np.testing.assert_array_equal(hypotheses.log_probs, [[-np.inf, -np.inf]])
    np.testing.assert_array_equal(hypotheses.token_log_probs, [[[-np.inf, 0], [0, 0]]])


@pytest.mark.parametrize(("max_length", "exponent"), [(97, 0.0), (3, 1.0)])
def test_the_search_stops_when_no_live_hypothesis_can_win(max_length, exponent):
    # a </s> has .6 x .9 = .54. The live one, b b with .4 x .5 = .2, can only fall from there, and
    # its mean over 3 tokens, log .2 / 3 = -.54, is below log .54 / 2 = -.31.
    rows = {START: {A: 0.6, B: 0.4}, A: {EOS: 0.9, A: 0.1}, B: {B: 0.5, EOS: 0.5}}
    model = Trellis(rows)
    scoring = LengthNormalization(exponent)
    hypotheses = model.search(max_length=max_length, beam_size=2, scoring=scoring)
    assert model.predictions == steps_run(hypotheses) == 2
    assert words_of(hypotheses) == [(A, EOS)]


def test_a_length_penalty_makes_it_wait_for_longer_ones():
    # </s> scores log .5 = -.69. a has log .5 too, which over 11 tokens may still become -.06: the
    # search goes on, and finds a a ... </s> of 11 tokens at (log .5 + 9 log .9 + log .1) / 11.
    rows = {START: {EOS: 0.5, A: 0.5}, A: {A: 0.9, EOS: 0.1}}
    assert steps_run(Trellis(rows).search(max_length=11, beam_size=2)) == 1
    hypotheses = Trellis(rows).search(max_length=11, beam_size=2, scoring=MEAN)
    assert words_of(hypotheses) == [(A,) * 10 + (EOS,), (EOS,)]
    expected = (math.log(0.5) + 9 * math.log(0.9) + math.log(0.1)) / 11
    np.testing.assert_allclose(hypotheses.scores[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(("scoring", "n_best"), [(LengthNormalization(0.6), 1), (Coverage(0.2), 5)])
def test_sentences_may_leave_the_batch(scoring, n_best):
    """Each sentence has a vocabulary of its own, which goes along with it."""
    model = Aligned(seed=3, batch=7, vocabulary=11)
    shift = tf.random.stateless_normal([7, 1, 11], seed=(2, 3))
    batches = []

    def select(sentences):
        batches.append(sentences.numpy().tolist())
        own = tf.gather(shift, sentences)
        return SearchStep(lambda state: model.predict(state) + own, model.advance)

    def search(**leave):
        return beam_search(
            dataclasses.replace(select(tf.range(7)), **leave), model.state,
            beam_size=5, n_best=n_best, scoring=scoring, eos_id=EOS,
            max_lengths=tf.constant([2, 13, 5, 1, 11, 7, 3]),
            min_lengths=tf.constant([0, 9, 0, 0, 11, 5, 0]),
        )  # fmt: skip

    together, leaving = search(), search(select=select)
    for name in Hypotheses._fields:
        stay, leave = getattr(together, name), getattr(leaving, name)
        np.testing.assert_allclose(stay, leave, rtol=1e-5, atol=2e-6)
    sizes = [len(batch) for batch in batches[2:]]
    assert len(sizes) > 2
    assert sizes == sorted(sizes, reverse=True)
    assert all(batch == sorted(set(batch)) for batch in batches)


def test_ties_go_to_the_lower_word_and_to_eos_last():
    hypotheses = beam_search(
        SearchStep(lambda state: tf.zeros([1, tf.shape(state)[1], 7]), lambda state, words: state),
        tf.zeros([1, 1]),
        beam_size=7,
        n_best=7,
        max_lengths=tf.constant([2]),
        eos_id=EOS,
    )
    words = [(0, EOS), (2, EOS), (3, EOS), (4, EOS), (5, EOS), (6, EOS)]
    assert words_of(hypotheses) == [(EOS,), *words]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_logits_without_a_distribution_end_the_search(value):
    hypotheses = beam_search(
        SearchStep(
            lambda state: tf.fill([2, tf.shape(state)[1], 1009], tf.constant(value, tf.float32)),
            lambda state, words: state,
        ),
        tf.zeros([2, 1]),
        beam_size=3,
        max_lengths=tf.fill([2], 10**6),
        eos_id=EOS,
    )
    assert steps_run(hypotheses) == 1
    for sentence in range(2):  # one hypothesis all the same
        assert words_of(hypotheses, sentence) == [(EOS,)]
    np.testing.assert_array_equal(hypotheses.lengths, [[1, 0, 0]] * 2)
    np.testing.assert_array_equal(hypotheses.scores, np.full([2, 3], -np.inf))
    np.testing.assert_array_equal(hypotheses.log_probs, np.full([2, 3], -np.inf))


def test_a_sentence_without_a_finite_score_leaves_the_others_alone():
    logits = tf.math.log([[[0.2, 0.5, 0.3]], [[np.nan, 0.5, 0.3]], [[0.1, 0.7, 0.2]]])
    hypotheses = beam_search(
        SearchStep(
            lambda state: tf.repeat(logits, tf.shape(state)[1], axis=1), lambda state, words: state
        ),
        tf.zeros([3, 1]),
        beam_size=2,
        n_best=2,
        max_lengths=tf.fill([3], 2),
        eos_id=EOS,
    )
    assert [words_of(hypotheses, i) for i in range(3)] == [
        [(EOS,), (2, EOS)], [(EOS,)], [(EOS,), (2, EOS)],
    ]  # fmt: skip
    np.testing.assert_allclose(
        hypotheses.scores[:, 0], [math.log(0.5), -np.inf, math.log(0.7)], 1e-6
    )


def test_a_score_that_is_not_a_number_is_the_worst():
    class NoNumber(WordBonus):
        def score(self, log_probs, lengths, kept):
            return tf.where(lengths == 1, np.nan, super().score(log_probs, lengths, kept))

    hypotheses = Trellis(SHRINKING).search(
        max_length=7, beam_size=3, n_best=3, scoring=NoNumber(0.0)
    )
    assert words_of(hypotheses) == [(B, EOS), (A, C, EOS), (EOS,)]
    np.testing.assert_allclose(hypotheses.scores[0], [math.log(0.2), math.log(0.18), -np.inf], 1e-6)


@pytest.mark.parametrize("ill", [A, B, C])
def test_a_nan_ends_only_the_hypothesis_it_befalls(ill):
    well = {word: {D: 0.7, EOS: 0.3} for word in (A, B, C)}
    model = Trellis({START: {A: 0.5, B: 0.3, C: 0.2}, **well, D: {EOS: 1.0}})
    model.logits = tf.tensor_scatter_nd_update(model.logits, [[ill, EOS]], [np.nan])
    # The two that are well fill the three slots: d after each, and </s> after the better one.
    better, worse = (word for word in (A, B, C) if word != ill)
    hypotheses = model.search(max_length=5, beam_size=3, n_best=3)
    assert sorted(words_of(hypotheses)) == sorted(
        [(better, EOS), (better, D, EOS), (worse, D, EOS)]
    )


class Module(tf.Module):
    """A search with nothing known about its shapes but k, K and the units."""

    def __init__(self, model: Recurrence):
        super().__init__()
        self.model = model

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None, 3]),
            tf.TensorSpec([None], tf.int32),
        ]
    )
    def search(self, first, max_lengths):
        return beam_search(
            SearchStep(self.model.predict, self.model.advance),
            {"s": first},
            beam_size=5,
            n_best=3,
            max_lengths=max_lengths,
            eos_id=EOS,
        )._asdict()


def test_a_graph_and_a_saved_model_find_the_same(tmp_path):
    model = Recurrence(seed=13, batch=3, vocabulary=1009)
    module = Module(model)
    tf.saved_model.save(module, str(tmp_path))
    first, longest = model.state["s"], tf.constant([5, 3, 7])
    eager = model.search(beam_size=5, n_best=3, max_lengths=longest)
    for search in (module.search, tf.saved_model.load(str(tmp_path)).search):
        graph = search(first, longest)
        np.testing.assert_array_equal(graph["tokens"], eager.tokens)
        np.testing.assert_array_equal(graph["lengths"], eager.lengths)
        np.testing.assert_allclose(graph["log_probs"], eager.log_probs, rtol=1e-5)
        np.testing.assert_allclose(graph["scores"], eager.scores, rtol=1e-5)


def test_a_batch_may_be_empty():
    module = Module(Recurrence(seed=1, batch=1, vocabulary=7))
    empty = module.search(tf.zeros([0, 1, 3]), tf.zeros([0], tf.int32))
    assert empty["scores"].shape == [0, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"n_best": 0}, "n_best"),
        ({"n_best": 4}, "n_best"),
        ({"eos_id": -1}, "eos_id"),
        ({"eos_id": 7}, "eos_id"),
        ({"banned_ids": [0, EOS]}, "banned"),
        ({"banned_ids": [7]}, "banned id 7 is outside the vocabulary of 7"),
        ({"banned_ids": [-1]}, "banned id -1 is outside the vocabulary"),
        ({"max_lengths": 5}, "max_lengths must be"),
        ({"max_lengths": [3.7, 5.0]}, "max_lengths must be integers, not float32"),
        ({"min_lengths": 1}, "min_lengths must be"),
        ({"state": tf.zeros([2])}, "state"),
        ({"state": tf.zeros([2, 3])}, "state"),
    ],
    ids=str,
)
def test_what_cannot_be_searched_for_is_refused(options, message):
    defaults = {
        "state": tf.zeros([2, 1]),
        "beam_size": 3,
        "max_lengths": tf.constant([5, 5]),
        "eos_id": EOS,
    }
    search = inspect.unwrap(beam_search)  # without the tests' own checks of shapes
    with pytest.raises(ValueError, match=message):
        search(
            SearchStep(
                lambda state: tf.zeros([2, tf.shape(state)[1], 7]), lambda state, words: state
            ),
            **{**defaults, **options},
        )


@pytest.mark.parametrize("exponent", [-0.1, math.nan, math.inf])
def test_length_penalties_out_of_range_are_refused(exponent):
    with pytest.raises(ValueError, match="length penalty"):
        LengthNormalization(exponent)


def test_what_a_rule_keeps_must_have_the_axes_of_the_state():
    class OneForEachSentence(WordBonus):
        def start(self, state):
            return tf.zeros([2])

    with pytest.raises(ValueError, match="keeps"):
        Aligned(seed=7, batch=2, vocabulary=5).search(
            [3, 3], beam_size=2, scoring=OneForEachSentence(1.0)
        )


def test_a_rule_may_compute_in_float64():
    class Precise(WordBonus):
        def score(self, log_probs, lengths, kept):
            return super().score(tf.cast(log_probs, tf.float64), tf.cast(lengths, tf.float64), kept)

        def bound(self, log_probs, max_lengths, kept):
            return super().bound(
                tf.cast(log_probs, tf.float64), tf.cast(max_lengths, tf.float64), kept
            )

    found, expected = (
        Aligned(seed=7, batch=2, vocabulary=5).search([3, 3], beam_size=2, scoring=rule)
        for rule in (Precise(0.5), WordBonus(0.5))
    )
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)


def test_a_rule_without_a_bound_is_refused():
    class Half(ScoringRule):
        def score(self, log_probs, lengths, kept):
            return log_probs

    make: Any = Half
    with pytest.raises(TypeError, match="bound"):
        make()


def test_logits_of_another_backend_are_refused():
    step = SearchStep(lambda state: np.zeros([2, 1, 7]), lambda state, words: state)
    with pytest.raises(ValueError, match="predict must return a TensorFlow tensor, not ndarray"):
        beam_search(step, tf.zeros([2, 1]), beam_size=3, max_lengths=tf.constant([5, 5]), eos_id=0)


def test_logits_of_another_rank_are_refused():
    with pytest.raises(ValueError, match="logits"):
        beam_search(
            SearchStep(lambda state: tf.zeros([2, 7]), lambda state, words: state),
            tf.zeros([2, 1]),
            beam_size=3,
            max_lengths=tf.constant([5, 5]),
            eos_id=EOS,
        )
