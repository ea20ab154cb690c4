"""An ensemble's distribution is the mean of its members', at each step."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import Architecture, ModelConfig
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import Candidates

SIZES = ModelConfig(
    source_vocabulary_size=17,
    target_vocabulary_size=13,
    embedding_size=5,
    hidden_size=7,
    attention_size=3,
    maxout_size=11,
    initial_weights="glorot",
)
SOURCE = np.array([[4, 9, 16, 1], [3, 1, 0, 0]], np.int32)
TARGET = np.array([[5, 12, 1], [6, 1, 0]], np.int32)


def model(seed: int, architecture: Architecture = "rnnsearch") -> TranslationModel:
    keras.utils.set_random_seed(seed)
    made = TranslationModel(dataclasses.replace(SIZES, architecture=architecture))
    for weight in made.weights:  # far enough from uniform for the mean to matter
        weight.assign(3 * weight)
    return made


@pytest.fixture(scope="module")
def members() -> list[TranslationModel]:
    return [model(1), model(2), model(3, "rnnencdec")]


def test_models_that_do_not_go_together_are_told(members):
    larger = TranslationModel(dataclasses.replace(SIZES, target_vocabulary_size=14))
    for others in ([], [*members, larger]):
        with pytest.raises(ValueError, match="an ensemble needs models over the same vocabularies"):
            Ensemble(others)


def probabilities(member: TranslationModel) -> np.ndarray:
    return tf.nn.softmax(member({"source": SOURCE, "target": TARGET})).numpy()


def test_the_first_words(members):
    step = Ensemble(members).bind(SOURCE)
    expected = np.mean([probabilities(member) for member in members], axis=0)
    assert np.abs(probabilities(members[0]) - expected).max() > 0.01
    first = step.start()
    np.testing.assert_allclose(np.exp(step.predict_token(first)), expected[:, 0], atol=1e-6)
    second = step.advance(step.carried(first), TARGET[:, 0])
    np.testing.assert_allclose(np.exp(step.predict_token(second)), expected[:, 1], atol=1e-6)


def test_candidates_share_the_probability_of_a_model(members):
    words = np.array([0, 1, 2, 5, 12], np.int32)
    penalty = np.zeros([2, 5], np.float32)
    penalty[1, 3] = -np.inf
    step = Ensemble(members).bind(SOURCE, Candidates(words, penalty))
    mean = np.exp(step.predict_token(step.advance(step.carried(step.start()), TARGET[:, 0])))
    weights = [probabilities(member)[:, 1][:, words] * np.exp(penalty) for member in members]
    expected = np.mean([p / p.sum(axis=1, keepdims=True) for p in weights], axis=0)
    np.testing.assert_allclose(mean, expected, atol=1e-6)


def test_losses_of_given_pairs(members):
    losses = Ensemble(members).token_losses(SOURCE, TARGET).numpy()
    mean = np.mean([probabilities(member) for member in members], axis=0)
    places = np.argwhere(TARGET)
    expected = [-np.log(mean[i, j, TARGET[i, j]]) for i, j in places]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_alignments_of_those_that_attend_are_averaged(members):
    ensemble = Ensemble(members)
    assert ensemble.has_attention and not Ensemble(members[2:]).has_attention
    alignment = ensemble.alignment(SOURCE, TARGET).numpy()
    expected = np.mean([member.alignment(SOURCE, TARGET) for member in members[:2]], axis=0)
    np.testing.assert_allclose(alignment, expected, atol=1e-6)
    np.testing.assert_allclose(alignment.sum(axis=2), 1, atol=1e-6)
    fixed = Ensemble(members[2:]).alignment(SOURCE, TARGET)  # without attention
    np.testing.assert_array_equal(fixed, members[2].alignment(SOURCE, TARGET))
