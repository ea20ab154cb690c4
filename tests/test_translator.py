"""Text to text: the score is the model's, and a sentence never feels its neighbours."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.translator import MAX_SOURCE_TOKENS, Translator
from rnnsearch_tf.vocabulary import EOS, PAD, UNK

SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "It is cold.", "We sleep."]
SEARCH = DecodingConfig(beam_size=3, max_length_ratio=2.0)


@pytest.fixture(scope="module")
def translator(model_dir) -> Translator:
    return Translator.load(model_dir, SEARCH)


def read(translator: Translator, sentences: list[str]) -> np.ndarray:
    return translator._read(tf.constant(sentences))[1].numpy()


def test_beam_score_is_the_teacher_forced_score(translator):
    source = read(translator, SENTENCES)
    found = translator.search(tf.constant(source))
    for q in range(SEARCH.beam_size):
        losses = translator.model.word_losses(tf.constant(source), found.tokens[:, q])
        rows = np.repeat(np.arange(len(source)), found.lengths[:, q])
        expected = [-losses.numpy()[rows == row].sum() for row in range(len(source))]
        kept = found.lengths[:, q].numpy() > 0
        np.testing.assert_allclose(
            found.log_probs[:, q].numpy()[kept], np.array(expected)[kept], rtol=1e-4, atol=1e-4
        )


def test_beam_of_one_is_greedy(model_dir):
    translator = Translator.load(model_dir, dataclasses.replace(SEARCH, beam_size=1))
    source = read(translator, SENTENCES)
    found = translator.search(tf.constant(source)).tokens.numpy()[:, 0]
    for row, tokens in zip(source, found, strict=True):
        row = row[row != PAD]
        step = translator.model.bind(row[None])
        seen, expected = step.start(), []
        for _ in range(2 * len(row) - 1):
            logits = translator.model.predict_word(seen).numpy()[0]
            logits[PAD] = -np.inf
            expected.append(int(logits.argmax()))
            if expected[-1] == EOS:
                break
            seen = step.advance(seen, np.array(expected[-1:]))
        else:
            expected.append(EOS)
        assert tokens[tokens != PAD].tolist() == expected


def test_answers_do_not_depend_on_the_batch(translator):
    long = " ".join(["and the old man"] * 10)
    together = translator.translate(tf.constant([*SENTENCES, long, ""]))
    for i, sentence in enumerate([*SENTENCES, long, ""]):
        alone = translator.translate(tf.constant([sentence]))
        assert alone["translation"][0] == together["translation"][i]
        assert float(alone["score"][0]) == pytest.approx(float(together["score"][i]), abs=1e-5)


def test_blank_text(translator):
    found = translator.translate(tf.constant(["", "  \t "]))
    assert found["translation"].numpy().tolist() == [b"", b""]
    assert found["score"].numpy().tolist() == [0, 0]
    assert translator.translate_lines([]).translations == []


def test_unknown_words_can_be_barred(model_dir):
    settings = dataclasses.replace(SEARCH, allow_unknown=False)
    translator = Translator.load(model_dir, settings)
    found = translator.search(tf.constant(read(translator, SENTENCES)))
    assert not (found.tokens.numpy() == UNK).any()


def test_a_long_line_is_cut(translator):
    source = read(translator, ["word " * 10_000])
    assert source.shape == (1, MAX_SOURCE_TOKENS + 1)


def test_lines_keep_their_order(translator):
    lines = [*SENTENCES, "", *reversed(SENTENCES)]
    done: list[int] = []
    found = translator.translate_lines(lines, batch_tokens=8, report=done.append)
    assert done[-1] == len(lines)
    assert len(done) > 1
    assert found.translations[:4] == found.translations[:4:-1]
    assert found.translations[4] == ""
    one_by_one = [translator.translate_lines([line]).translations[0] for line in lines]
    assert found.translations == one_by_one


def test_align_gives_words_and_weights(translator):
    found = {name: x.numpy() for name, x in translator.align(tf.constant(SENTENCES)).items()}
    alone = translator.translate(tf.constant(SENTENCES))
    assert found["translation"].tolist() == alone["translation"].numpy().tolist()
    assert found["source_tokens"][2].tolist()[:5] == [b"It", b"is", b"cold", b".", b"</s>"]
    for i in range(len(SENTENCES)):
        words = found["target_tokens"][i] != b""
        assert found["target_tokens"][i][words][-1] == b"</s>"
        rows = found["alignment"][i]
        np.testing.assert_allclose(rows[words].sum(axis=1), 1, atol=1e-5)
        assert not rows[~words].any()
        assert not rows[:, found["source_tokens"][i] == b""].any()


def test_alignments_of_given_pairs(translator):
    french = ["L'homme mangera.", "Il fait froid."]
    matrices = translator.align_lines(["The man will eat.", "It is cold."], french)
    assert [m.shape for m in matrices] == [(5, 6), (5, 5)]
    for matrix in matrices:
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-5)
