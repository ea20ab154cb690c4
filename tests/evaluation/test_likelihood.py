"""Likelihood of given pairs, per token and per sentence, and perplexity."""

import math
import types
from typing import Any

import numpy as np
import pytest
from known_pairs import pairs_of

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.likelihood import Nll, perplexity
from rnnsearch_tf.models.translation_model import TranslationModel


def test_nll_of_a_model_that_knows_nothing_is_log_k(monkeypatch):
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
    tokenizers = types.SimpleNamespace(word_tokenizer=None)
    translator: Any = types.SimpleNamespace(
        vocabularies=(), model=model, source_tokenizer=tokenizers, target_tokenizer=tokenizers
    )
    monkeypatch.setattr("rnnsearch_tf.evaluation.evaluator._PAIRS_AT_ONCE", 2)
    likelihood = Evaluator(translator).nll(pairs)
    assert likelihood.per_token == pytest.approx(math.log(13))
    assert likelihood.per_sentence == pytest.approx(math.log(13) * 7 / 3)
    assert likelihood.perplexity == pytest.approx(13)


def test_perplexity_is_e_to_the_nats_per_token():
    assert perplexity(0.0) == 1.0
    assert Nll(math.log(7), 35.0).perplexity == perplexity(math.log(7)) == pytest.approx(7)
    assert perplexity(1e4) == math.inf  # of a training run that diverged
    assert math.isnan(perplexity(math.nan))
