"""Search with a prefix: what begins with it is found, and ranked, as by enumeration."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from test_beam_search import Recurrence, words_of

from rnnsearch_tf.config import DecodingConfig, ModelConfig
from rnnsearch_tf.decoding import prefix as module
from rnnsearch_tf.decoding.beam_search import Hypotheses, SearchStep, beam_search
from rnnsearch_tf.decoding.model_search import search as search_with_model
from rnnsearch_tf.decoding.prefix import Prefix, PrefixConstraint, Spelling
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK

TEXTS = ["\0", "\0", "\0", "a", "ab", "b", "ba"]
BEGINS = [True, True, True, True, False, True, True]
LONGEST = 4
WORDS = range(UNK, len(TEXTS))
EVERY = [(*y, EOS) for n in range(LONGEST) for y in itertools.product(WORDS, repeat=n)]


def search(model: Recurrence, prefix: Prefix, *, are_parts: bool, beam: int = 400) -> Hypotheses:
    """Search as `model_search.search` does, with [UNK] banned."""
    spelling = Spelling(tf.constant(TEXTS), tf.constant(BEGINS), are_parts)
    step = module.constrained(SearchStep(model.predict, model.advance), prefix, spelling)
    found = beam_search(
        step,
        module.start(model.state, prefix),
        beam_size=beam,
        n_best=beam,
        max_lengths=tf.maximum(LONGEST, prefix.max_tokens()),
        eos_id=EOS,
        banned_ids=(PAD, UNK),
    )
    return found._replace(tokens=module.restore_forced(found.tokens, prefix))


def begins(
    y: tuple[int, ...], forced: list[int], rest: str, needs_new_word: bool, parts: bool
) -> bool:
    """Whether a translation is what the prefix asks for."""
    first, free = list(y[: len(forced)]), y[len(forced) :]
    if first != forced or UNK in free or (needs_new_word and free and not BEGINS[free[0]]):
        return False
    spelled = [TEXTS[word] for word in free[:-1]]
    if parts:
        return "".join(spelled).startswith(rest)
    return not rest or bool(spelled and spelled[0].startswith(rest))


PREFIXES = [
    ([], "", False),
    ([5], "", True),
    ([4, UNK], "", False),
    ([], "ab", False),
    ([6], "a", False),
    ([3], "aba", False),
    ([], "bab", False),
]


@pytest.mark.parametrize("parts", [True, False])
def test_it_finds_what_enumeration_finds(parts):
    """Sentences side by side, each with a prefix of its own."""
    model = Recurrence(seed=3, batch=len(PREFIXES), vocabulary=len(TEXTS))
    forced, rests, ends = zip(*PREFIXES, strict=True)
    prefix = Prefix(
        tf.ragged.constant(forced, tf.int32, ragged_rank=1).to_tensor(PAD),
        tf.constant(rests),
        tf.constant(ends),
    )
    found = search(model, prefix, are_parts=parts)
    for i, wanted in enumerate(PREFIXES):
        longest = max(LONGEST, len(wanted[0]) + len(wanted[1]) + 1)
        every = EVERY if longest == LONGEST else [
            (*y, EOS) for n in range(longest) for y in itertools.product(WORDS, repeat=n)
        ]  # fmt: skip
        expected = {y: model.log_prob(i, y) for y in every if begins(y, *wanted, parts)}
        ranked = sorted(expected, key=expected.__getitem__, reverse=True)[:400]
        listed = words_of(found, i)
        if not ranked:  # no word begins with it
            assert found.log_probs[i, 0] == -np.inf
            continue
        assert listed[:20] == ranked[:20] and set(listed) <= set(expected)
        scores = [expected[y] for y in listed]
        np.testing.assert_allclose(found.log_probs[i, : len(listed)], scores, rtol=1e-4)
        steps = found.token_log_probs[i, : len(listed)].numpy().sum(axis=1)
        np.testing.assert_allclose(steps, scores, rtol=1e-4)


def test_without_a_prefix_it_is_the_plain_search():
    model = Recurrence(seed=5, batch=2, vocabulary=len(TEXTS))
    blank = Prefix(tf.zeros([2, 0], tf.int32), tf.constant(["", ""]), tf.constant([False] * 2))
    plain = model.search([LONGEST] * 2, beam_size=3, n_best=3, banned_ids=(PAD, UNK))
    found = search(model, blank, are_parts=True, beam=3)
    for one, other in zip(plain, found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_among_some_words_it_has_their_places():
    spelling = Spelling(tf.constant(TEXTS), tf.constant(BEGINS), False)
    prefix = Prefix(tf.constant([[6, 4, 0]]), tf.constant(["a"]), tf.constant([False]))
    few = PrefixConstraint(prefix, spelling).among(tf.constant([0, 1, 2, 4, 6, 0, 0]))
    assert few.prefix.forced.numpy().tolist() == [[4, 3, 0]]
    assert few.spelling.texts.numpy().tolist()[2:5] == [b"\0", b"ab", b"ba"]
    assert few.prefix.max_tokens().numpy().tolist() == [4]


def test_a_model_finds_what_enumeration_finds():
    """Of two models: forced words, [UNK] among them, then an unfinished one."""
    keras.utils.set_random_seed(2)
    config = ModelConfig(
        source_vocabulary_size=6, target_vocabulary_size=len(TEXTS),
        embedding_size=3, hidden_size=4, attention_size=3, maxout_size=2,
    )  # fmt: skip
    models = [TranslationModel(config) for _ in range(2)]
    dice = np.random.default_rng(3)
    for weight in (weight for model in models for weight in model.weights):
        weight.assign(dice.normal(size=weight.shape))
    options = DecodingConfig(beam_size=150, max_length=3, max_length_ratio=9.0, allow_unknown=False)
    source = tf.constant([[3, 4, 5, EOS], [5, EOS, PAD, PAD]])
    wanted: list[tuple[list[int], str, bool]] = [([5, UNK], "", True), ([], "b", False)]
    prefix = Prefix(
        tf.constant([[5, UNK], [PAD, PAD]]), tf.constant(["", "b"]), tf.constant([True, False])
    )
    constraint = PrefixConstraint(prefix, Spelling(tf.constant(TEXTS), tf.constant(BEGINS), True))
    searched = Ensemble(models)
    found = search_with_model(searched, source, options, 150, constraint=constraint)
    for i, one in enumerate(wanted):
        every = [y for y in EVERY if begins(y, *one, True)]
        rows = tf.ragged.constant(every).to_tensor(PAD)
        losses = searched.token_losses(tf.repeat(source[i : i + 1], len(every), 0), rows)
        sums = tf.math.segment_sum(losses, tf.ragged.constant(every).value_rowids())
        scores = dict(zip(every, -sums.numpy(), strict=True))
        listed = words_of(found, i)
        assert set(listed) == set(every)
        np.testing.assert_allclose(
            found.log_probs[i, : len(listed)], [scores[y] for y in listed], rtol=1e-4
        )
