"""Text to text: the score is the model's, and a sentence never feels its neighbours."""

import dataclasses
import shutil
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.text_model import NOT_FOUND, TextModel, without_repeats
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK, Vocabulary

pytestmark = pytest.mark.slow

SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "It is cold.", "We sleep."]
SEARCH = DecodingConfig(beam_size=3, max_length_ratio=2.0)


@pytest.fixture(scope="module")
def text_model(model_dir) -> TextModel:
    return load_text_model(model_dir, SEARCH)


def read(text_model: TextModel, sentences: list[str]) -> np.ndarray:
    tokens = text_model._read(tf.constant(sentences))
    return text_model.source.ids(tokens).to_tensor(PAD).numpy()


def test_beam_score_is_the_teacher_forced_score(text_model):
    source = read(text_model, SENTENCES)
    found = text_model.search(tf.constant(source))
    for q in range(SEARCH.beam_size):
        losses = text_model.model.token_losses(tf.constant(source), found.tokens[:, q])
        rows = np.repeat(np.arange(len(source)), found.lengths[:, q])
        expected = [-losses.numpy()[rows == row].sum() for row in range(len(source))]
        kept = found.lengths[:, q].numpy() > 0
        np.testing.assert_allclose(
            found.log_probs[:, q].numpy()[kept], np.array(expected)[kept], rtol=1e-4, atol=1e-4
        )


def test_beam_of_one_is_greedy(model_dir):
    text_model = load_text_model(model_dir, dataclasses.replace(SEARCH, beam_size=1))
    source = read(text_model, SENTENCES)
    found = text_model.search(tf.constant(source)).tokens.numpy()[:, 0]
    for row, tokens in zip(source, found, strict=True):
        row = row[row != PAD]
        step = text_model.model.bind(row[None])
        seen: Any = step.start()
        expected: list[int] = []
        for _ in range(2 * len(row) - 1):
            logits = text_model.model.predict_token(seen).numpy()[0]
            logits[PAD] = -np.inf
            expected.append(int(logits.argmax()))
            if expected[-1] == EOS:
                break
            seen = step.advance(seen, np.array(expected[-1:]))
        else:
            expected.append(EOS)
        assert tokens[tokens != PAD].tolist() == expected


STRANGE = [
    "",
    b"caf\xe9 \xff\xfe is cold",
    "a\tcat\nis\x00 \x1bhere\r",
    "\u200b\ufeff",
    "\ud7ff \U0010ffff \u0000",
    "and the old man " * 60,
    "." * 600,
]


def test_answers_do_not_depend_on_the_batch(text_model):
    texts = [*SENTENCES, *STRANGE]
    together = {name: x.numpy() for name, x in text_model.align(tf.constant(texts)).items()}
    n_best = {name: x.numpy() for name, x in text_model.n_best(tf.constant(texts)).items()}
    for i, text in enumerate(texts):
        alone = {name: x.numpy()[0] for name, x in text_model.align(tf.constant([text])).items()}
        assert alone["translation"] == together["translation"][i]
        assert alone["score"] == pytest.approx(together["score"][i], abs=1e-5, rel=1e-5)
        rows, columns = alone["alignment"].shape
        assert alone["target_tokens"].tolist() == together["target_tokens"][i, :rows].tolist()
        np.testing.assert_allclose(
            alone["alignment"], together["alignment"][i, :rows, :columns], atol=1e-5
        )
        assert not together["alignment"][i, rows:].any()
        assert not together["alignment"][i, :, columns:].any()
        found = {name: x.numpy()[0] for name, x in text_model.n_best(tf.constant([text])).items()}
        assert found["translations"].tolist() == n_best["translations"][i].tolist()
        np.testing.assert_allclose(found["scores"], n_best["scores"][i], rtol=1e-5, atol=1e-5)


def test_each_text_has_one_answer_in_its_place(text_model):
    texts = [*STRANGE, *SENTENCES] * 2
    found = text_model.translate(tf.constant(texts))
    translations, scores = found["translation"].numpy(), found["score"].numpy()
    half = len(texts) // 2
    assert len(translations) == len(scores) == len(texts)
    assert translations[:half].tolist() == translations[half:].tolist()
    assert np.isfinite(scores).all()
    assert all(translations[half - len(SENTENCES) : half])


def test_the_first_of_the_n_best_is_the_best(text_model):
    found = {name: x.numpy() for name, x in text_model.n_best(tf.constant(SENTENCES)).items()}
    best = text_model.translate(tf.constant(SENTENCES))
    assert found["translations"].shape == (len(SENTENCES), SEARCH.beam_size)
    assert found["translations"][:, 0].tolist() == best["translation"].numpy().tolist()
    np.testing.assert_allclose(found["scores"][:, 0], best["score"], atol=1e-5)
    for texts, scores in zip(found["translations"], found["normalized_scores"], strict=True):
        kept = [text for text in texts.tolist() if text]
        assert len(set(kept)) == len(kept)
        assert (np.diff(scores) <= 0).all()


def test_the_n_best_are_ranked_by_the_normalized_score(model_dir):
    settings = dataclasses.replace(SEARCH, beam_size=4, length_penalty=1.0)
    text_model = load_text_model(model_dir, settings)
    found = {name: x.numpy() for name, x in text_model.n_best(tf.constant(SENTENCES)).items()}
    hypotheses = text_model.search(tf.constant(read(text_model, SENTENCES)), n_best=4)
    lengths = hypotheses.lengths.numpy()
    np.testing.assert_allclose(
        found["normalized_scores"], found["scores"] / lengths, rtol=1e-5, atol=1e-5
    )
    assert (np.diff(found["normalized_scores"], axis=1) <= 0).all()


def test_equal_texts_are_listed_once():
    texts = tf.constant([["a", "b", "a", "c"], ["", "", "d", "d"], ["e", "f", "", ""]])
    scores = tf.constant([[-1.0, -2, -3, -4]] * 3)
    tokens = tf.constant([[[7, 8, 1], [9, 1, 0], [6, 1, 0], [5, 4, 1]]] * 3)
    lengths = tf.constant([[3, 2, 2, 3], [3, 2, 2, 3], [3, 2, 0, 0]])
    found = without_repeats(texts, scores, 2 * scores, tokens, lengths)
    assert found.text.numpy().astype(str).tolist() == [
        ["a", "b", "c", ""], ["", "d", "", ""], ["e", "f", "", ""],
    ]  # fmt: skip
    assert found.score.numpy().tolist() == [
        [-1, -2, -4, NOT_FOUND], [-1, -3, NOT_FOUND, NOT_FOUND], [-1, -2, NOT_FOUND, NOT_FOUND],
    ]  # fmt: skip
    assert found.normalized_score.numpy()[0].tolist() == [-2, -4, -8, NOT_FOUND]
    assert found.length.numpy().tolist() == [[3, 2, 3, 0], [3, 2, 0, 0], [3, 2, 0, 0]]
    assert found.target.to_list() == [[7, 8, 1, 9, 1, 5, 4, 1], [7, 8, 1, 6, 1], [7, 8, 1, 9, 1]]


def test_a_blank_has_one_translation(text_model):
    found = text_model.n_best(tf.constant([" \t"]))
    assert found["translations"].numpy().tolist() == [[b""] * SEARCH.beam_size]
    assert found["scores"].numpy().tolist() == [[0, NOT_FOUND, NOT_FOUND]]
    aligned = text_model.align(tf.constant(["", "It is cold."]))
    assert aligned["target_tokens"][0].numpy().tolist()[:2] == [b"</s>", b""]


def test_given_translations_are_scored_by_the_model(text_model):
    french = ["L'homme mangera.", "", "Il fait froid.", "Nous dormons."]
    source = text_model.source.ids(text_model.source.tokenizer.tokenize(SENTENCES))
    target = text_model.target.ids(text_model.target.tokenizer.tokenize(french))
    losses = text_model.model.token_losses(source.to_tensor(PAD), target.to_tensor(PAD)).numpy()
    expected = [-losses[target.value_rowids().numpy() == i].sum() for i in range(4)]
    found = text_model.score(tf.constant(SENTENCES), tf.constant(french))["score"].numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert text_model.score(tf.constant([" "]), tf.constant([""]))["score"].numpy() == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many"):
        text_model.score(tf.constant(["a", "b"]), tf.constant(["c"]))


def test_models_of_one_vocabulary_translate_together(model_dir, text_model):
    twice = load_text_model([model_dir, model_dir], SEARCH)
    found, expected = (
        {name: x.numpy() for name, x in t.align(tf.constant(SENTENCES)).items()}
        for t in (twice, text_model)
    )
    assert found["translation"].tolist() == expected["translation"].tolist()
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-4)
    np.testing.assert_allclose(found["alignment"], expected["alignment"], atol=1e-5)


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


def test_blank_text(text_model):
    found = text_model.translate(tf.constant(["", "  \t "]))
    assert found["translation"].numpy().tolist() == [b"", b""]
    assert found["score"].numpy().tolist() == [0, 0]


def test_unknown_words_can_be_barred(model_dir):
    settings = dataclasses.replace(SEARCH, allow_unknown=False)
    text_model = load_text_model(model_dir, settings)
    found = text_model.search(tf.constant(read(text_model, SENTENCES)))
    assert not (found.tokens.numpy() == UNK).any()


def test_a_long_line_is_cut(text_model):
    source = read(text_model, ["word " * 10_000])
    assert source.shape == (1, SEARCH.max_length + 1)


def test_align_gives_words_and_weights(text_model):
    found = {name: x.numpy() for name, x in text_model.align(tf.constant(SENTENCES)).items()}
    alone = text_model.translate(tf.constant(SENTENCES))
    assert found["translation"].tolist() == alone["translation"].numpy().tolist()
    assert found["source_tokens"][2].tolist()[:5] == [b"It", b"is", b"cold", b".", b"</s>"]
    for i in range(len(SENTENCES)):
        words = found["target_tokens"][i] != b""
        assert found["target_tokens"][i][words][-1] == b"</s>"
        rows = found["alignment"][i]
        np.testing.assert_allclose(rows[words].sum(axis=1), 1, atol=1e-5)
        assert not rows[~words].any()
        assert not rows[:, found["source_tokens"][i] == b""].any()
