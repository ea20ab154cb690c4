"""The search with models, against lists and the paper's equations in NumPy."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy_reference as reference
import pytest
import tensorflow as tf
from keras import ops
from naive_search import EOS, naive_beam_search

from rnnsearch_tf.config import DecodingConfig, ModelConfig
from rnnsearch_tf.decoding import model_search
from rnnsearch_tf.models import translation_step
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel

SOURCE = [[4, 9, 6, EOS], [7, EOS], [3, 10, EOS], [8, 5, 2, 6, EOS]]


def drawn_model(architecture: Any, order: Any, seed: int) -> TranslationModel:
    config = ModelConfig(
        architecture=architecture,
        step_order=order,
        source_vocabulary_size=11,
        target_vocabulary_size=9,
        embedding_size=3,
        hidden_size=5,
        attention_size=4,
        maxout_size=6,
    )
    model, dice = TranslationModel(config), np.random.default_rng(seed)
    for weight in model.weights:
        weight.assign(dice.normal(0, 0.8, weight.shape))
    return model


class MeanOfReferences:
    """The mean of what the reference predicts with the weights of each model."""

    def __init__(self, models: list[TranslationModel]):
        pairs = ([(w.path, w.numpy()) for w in model.weights] for model in models)
        self._weights = [reference.from_layer_weights(each) for each in pairs]
        self._configs = [model.config for model in models]

    def log_softmax(self, sentence: int, prefix) -> np.ndarray:
        return np.log(np.mean([
            np.exp(reference.log_softmax(self._logits(*each, SOURCE[sentence], prefix)))
            for each in zip(self._weights, self._configs, strict=True)
        ], axis=0))  # fmt: skip

    def _logits(self, weights, config, source, prefix) -> np.ndarray:
        read = {"rnnsearch": reference.rnnsearch, "rnnencdec": reference.rnnencdec}
        # The last logits do not depend on the last word.
        result = read[config.architecture](weights, source, [*prefix, EOS], config.step_order)
        return result.logits[-1]


@pytest.mark.parametrize(
    "kinds",
    [
        *([(a, order)] for a in ("rnnsearch", "rnnencdec") for order in reference.ORDERS),
        [("rnnsearch", order) for order in reference.ORDERS] + [("rnnencdec", reference.ORDERS[0])],
    ],
    ids=lambda kinds: "+".join(f"{a} {order}" for a, order in kinds),
)
@pytest.mark.parametrize("k", [1, 4])
def test_hypotheses_and_scores_are_those_of_the_equations(kinds, k, monkeypatch):
    if k == 4:  # as with matrices of 512 columns
        spaced = lambda matrix: ops.pad(matrix, ((0, 0), (0, 16)))  # noqa: E731
        monkeypatch.setattr(translation_step, "spaced", spaced)
    models = [drawn_model(a, order, seed) for seed, (a, order) in enumerate(kinds)]
    options = DecodingConfig(beam_size=k, max_length=7, max_length_ratio=2.0, length_penalty=0.6)
    source = tf.ragged.constant(SOURCE, dtype=tf.int32).to_tensor()
    model = models[0] if len(models) == 1 else Ensemble(models)
    found = model_search.search(model, source, options, n_best=k)
    oracle = MeanOfReferences(models)
    for i, sentence in enumerate(SOURCE):
        longest = min(2 * len(sentence), 8)
        expected = naive_beam_search(oracle, i, k=k, longest=longest, banned=(0,), alpha=0.6)
        words = [tuple(row[row > 0].tolist()) for row in found.tokens[i].numpy()]
        assert words == [words for _, _, words in expected]
        np.testing.assert_allclose(found.log_probs[i], [p for _, p, _ in expected], atol=1e-5)
        np.testing.assert_allclose(found.scores[i], [s for s, _, _ in expected], atol=1e-5)


def test_lengths_times_ratios_are_rounded_up_from_the_exact_product():
    lengths = np.arange(1, 202)
    source = tf.constant(np.tri(201, dtype=np.int32))  # sentences of these lengths
    for hundredths in range(1, 300, 7):
        ratio = Fraction(hundredths, 100)
        options = DecodingConfig(
            max_length=1_000, max_length_ratio=float(ratio), min_length_ratio=float(ratio) / 2
        )
        longest, shortest = model_search._bounds(source, options)
        assert shortest is not None
        assert longest.numpy().tolist() == [math.ceil(n * ratio) for n in lengths.tolist()]
        assert shortest.numpy().tolist() == [math.ceil(n * ratio / 2) for n in lengths.tolist()]
