"""The engine: its search is the model's, its text is cut, its models go together."""

import dataclasses
import shutil
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK, Vocabulary

pytestmark = pytest.mark.slow

SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "It is cold.", "We sleep."]
SEARCH = DecodingConfig(beam_size=3, max_length_ratio=2.0)


@pytest.fixture(scope="module")
def text_model(model_dir) -> TextModel:
    return load_text_model(model_dir, SEARCH)


def read(text_model: TextModel, sentences: list[str]) -> np.ndarray:
    tokens = text_model.source.read(tf.constant(sentences), SEARCH.max_length)
    return text_model.source.ids(tokens).to_tensor(PAD).numpy()


def test_beam_score_is_the_teacher_forced_score(text_model):
    source = read(text_model, SENTENCES)
    hypotheses = text_model.search(tf.constant(source))
    for q in range(SEARCH.beam_size):
        losses = text_model.model.token_losses(tf.constant(source), hypotheses.tokens[:, q])
        rows = np.repeat(np.arange(len(source)), hypotheses.lengths[:, q])
        expected = [-losses.numpy()[rows == row].sum() for row in range(len(source))]
        kept = hypotheses.lengths[:, q].numpy() > 0
        np.testing.assert_allclose(
            hypotheses.log_probs[:, q].numpy()[kept],
            np.array(expected)[kept],
            rtol=1e-4,
            atol=1e-4,
        )


def test_beam_of_one_is_greedy(model_dir):
    text_model = load_text_model(model_dir, dataclasses.replace(SEARCH, beam_size=1))
    source = read(text_model, SENTENCES)
    best = text_model.search(tf.constant(source)).tokens.numpy()[:, 0]
    for row, tokens in zip(source, best, strict=True):
        row = row[row != PAD]
        step: Any = text_model.model.bind(row[None])
        seen: Any = step.start()
        expected: list[int] = []
        for _ in range(2 * len(row) - 1):
            logits = step.predict_token(seen).numpy()[0]
            logits[PAD] = -np.inf
            expected.append(int(logits.argmax()))
            if expected[-1] == EOS:
                break
            seen = step.advance(step.carried(seen), np.array(expected[-1:]))
        else:
            expected.append(EOS)
        assert tokens[tokens != PAD].tolist() == expected


def test_models_of_other_vocabularies_do_not(model_dir, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(model_dir, other)
    vocabulary = Vocabulary.load(other / "target.vocab")
    changed = Vocabulary([*vocabulary.tokens[:-1], "another"])
    changed.save(other / "target.vocab")
    config = Config.from_json((other / "config.json").read_text("utf-8"))
    config = dataclasses.replace(config, target_vocabulary=changed.digest)
    (other / "config.json").write_text(config.to_json(), "utf-8")
    with pytest.raises(InputError, match="other: other vocabularies than"):
        load_text_model([model_dir, other])


def test_unknown_words_can_be_left_out(model_dir):
    settings = dataclasses.replace(SEARCH, allow_unknown=False)
    text_model = load_text_model(model_dir, settings)
    hypotheses = text_model.search(tf.constant(read(text_model, SENTENCES)))
    assert not (hypotheses.tokens.numpy() == UNK).any()


def test_a_long_line_is_cut(text_model):
    source = read(text_model, ["word " * 10_000])
    assert source.shape == (1, SEARCH.max_length + 1)
