"""The signatures: the model's scores and alignments, and a sentence never feels its neighbors."""

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.n_best import LOWEST
from rnnsearch_tf.inference.text_model import MAX_WEIGHTS, TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.scripts.shared.finite_values import json_line
from rnnsearch_tf.scripts.shared.translation_lines import plain_lines
from rnnsearch_tf.serving.signatures import signatures
from rnnsearch_tf.text.vocabulary import PAD

pytestmark = pytest.mark.serving

SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "It is cold.", "We sleep."]
SEARCH = DecodingConfig(beam_size=3, max_length_ratio=2.0, length_penalty=1.0)
STRANGE = [
    "",
    b"caf\xe9 \xff\xfe is cold",
    "a\tcat\nis\x00 \x1bhere\r",
    "\u200b\ufeff",
    "\ud7ff \U0010ffff \u0000",
    "and the old man " * 60,
    "." * 600,
]

Call = Callable[..., dict[str, np.ndarray]]


def caller(text_model: TextModel) -> Call:
    """A function of a signature's name and its inputs."""
    functions = signatures(text_model)

    def call(name: str, *texts: list) -> dict[str, np.ndarray]:
        outputs = functions[name](*map(tf.constant, texts))
        return {output: values.numpy() for output, values in outputs.items()}

    return call


@pytest.fixture(scope="module")
def text_model(model_dir) -> TextModel:
    return load_text_model(model_dir, SEARCH)


@pytest.fixture(scope="module")
def call(text_model) -> Call:
    return caller(text_model)


def test_answers_do_not_depend_on_the_batch(call):
    texts = [*SENTENCES, *STRANGE]
    together, n_best = call("align", texts), call("nbest", texts)
    for i, text in enumerate(texts):
        alone = {name: values[0] for name, values in call("align", [text]).items()}
        assert alone["translation"] == together["translation"][i]
        assert alone["score"] == pytest.approx(together["score"][i], abs=1e-5, rel=1e-5)
        rows, columns = alone["alignment"].shape
        assert alone["target_tokens"].tolist() == together["target_tokens"][i, :rows].tolist()
        np.testing.assert_allclose(
            alone["alignment"], together["alignment"][i, :rows, :columns], atol=1e-5
        )
        assert not together["alignment"][i, rows:].any()
        assert not together["alignment"][i, :, columns:].any()
        alone = {name: values[0] for name, values in call("nbest", [text]).items()}
        assert alone["translations"].tolist() == n_best["translations"][i].tolist()
        np.testing.assert_allclose(alone["scores"], n_best["scores"][i], rtol=1e-5, atol=1e-5)


def test_the_n_best_are_ranked_by_the_normalized_score(call):
    outputs = call("nbest", SENTENCES)
    lengths = (outputs["words"] != b"").sum(axis=2)
    np.testing.assert_allclose(
        outputs["normalized_scores"], outputs["scores"] / lengths, rtol=1e-5, atol=1e-5
    )
    assert (np.diff(outputs["normalized_scores"], axis=1) <= 0).all()


def test_a_blank_has_one_translation(call):
    outputs = call("nbest", [" \t"])
    assert outputs["translations"].tolist() == [[b""] * SEARCH.beam_size]
    assert outputs["scores"].tolist() == [[0, LOWEST, LOWEST]]
    aligned = call("align", ["", "It is cold."])
    assert aligned["target_tokens"][0].tolist()[:2] == [b"</s>", b""]


def test_given_translations_are_scored_by_the_model(text_model, call):
    french = ["L'homme mangera.", "", "Il fait froid.", "Nous dormons."]
    source = text_model.source.ids(text_model.source.tokenizer.tokenize(SENTENCES))
    target = text_model.target.ids(text_model.target.tokenizer.tokenize(french))
    losses = text_model.model.token_losses(source.to_tensor(PAD), target.to_tensor(PAD)).numpy()
    expected = [-losses[target.value_rowids().numpy() == i].sum() for i in range(4)]
    np.testing.assert_allclose(call("score", SENTENCES, french)["score"], expected, rtol=1e-5)
    assert call("score", [" "], [""])["score"] == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many texts as translations"):
        call("score", ["a", "b"], ["c"])


def test_alignments_that_are_too_large_are_refused(text_model):
    long, short = tf.fill([1, 499], "a"), tf.pad(tf.fill([4000, 1], "a"), [[0, 0], [0, 498]])
    sizes = "4001 texts x 21 target tokens x 500 source tokens, padding counted, are more than"
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{sizes} {MAX_WEIGHTS} weights"):
        text_model.align_tokens(tf.concat([short, long], 0), tf.fill([4001, 20], "b"))
    assert text_model.align_tokens(long, long[:, :2]).shape == [1, 3, 500]


def test_scores_and_weights_that_are_not_finite_are_numbers_of_json(text_model, call):
    assert isinstance(text_model.model, TranslationModel)
    [weights] = [w for w in text_model.model.weights if w.path.endswith("attention/W_a")]
    before = weights.numpy()
    weights.assign(before * np.nan)
    try:
        outputs, lists = call("align", ["It is cold.", ""]), call("nbest", ["It is cold.", ""])
        scores = call("score", ["It is cold.", ""], ["Il fait froid.", ""])["score"]
        result = Translator.of(text_model).translate("It is cold.", return_alignment=True)
        given = Translator.of(text_model).score("It is cold.", "Il fait froid.")
    finally:
        weights.assign(before)
    assert outputs["translation"].tolist() == [b"", b""]
    assert outputs["score"].tolist() == scores.tolist() == [LOWEST, 0]
    assert outputs["target_tokens"].tolist() == [[b"</s>"], [b"</s>"]]
    assert not outputs["alignment"].any()
    assert lists["translations"].tolist() == [[b""] * 3] * 2
    assert lists["scores"].tolist() == [[LOWEST] * 3, [0, LOWEST, LOWEST]]
    # In Python they are what they are, and null in JSON.
    assert (result.text, result.tokens, result.score) == ("", ("</s>",), -math.inf)
    assert result.normalized_score == given == -math.inf
    assert np.isnan(result.alignment).all() and result.alignment.shape == (1, 5)
    [hypothesis] = json.loads(json_line(result))["hypotheses"]
    assert hypothesis["score"] is hypothesis["normalized_score"] is hypothesis["alignment"] is None
    assert (
        next(plain_lines(result, 0, n_best=1, with_score=True, with_links=True)) == " ||| -inf ||| "
    )
