"""The evaluator: translations with and without [UNK], likelihood, and the sentences it scores."""

import copy
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.calibration import calibration
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.length_bins import bleu_by_length
from rnnsearch_tf.evaluation.scores import in_words, score_set
from rnnsearch_tf.evaluation.significance import compare
from rnnsearch_tf.evaluation.unk_free import unk_free_sentences
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK, Vocabulary

pytestmark = pytest.mark.slow

# --- scores of given translations -----------------------------------------------------------------

TEXT = ParallelText(
    [" ".join(["cat"] * length) for length in [5] * 11 + [15] * 2],
    [f"Le chat n° {i} dort sur l'herbe verte." for i in range(13)],
)
TRANSLATIONS = [*TEXT.target[:5], *(f"Un chien {i} est sur l'herbe." for i in range(5, 13))]
FRENCH = MosesTokenizer("fr")


def evaluator_of_words(*numbers: str) -> Evaluator:
    """Of a translator that has tokenizers and nothing else; it knows these numbers."""
    tokenizers = {"source": MosesTokenizer("en"), "target": FRENCH}
    words = in_words(["Le chat n° dort sur l'herbe verte."], FRENCH)[0].split()
    translator: Any = types.SimpleNamespace(
        model=None,
        vocabularies=(
            Vocabulary([*SPECIAL_TOKENS, "cat"]),
            Vocabulary([*SPECIAL_TOKENS, *words, *numbers]),
        ),
        **{f"{side}_tokenizer": tokenizer for side, tokenizer in tokenizers.items()},
        **{f"{side}_word_tokenizer": tokenizer for side, tokenizer in tokenizers.items()},
    )
    return Evaluator(translator)


def test_scores_are_of_all_and_of_those_without_unknown_words():
    evaluator = evaluator_of_words("3", "4", "5")
    assert unk_free_sentences(evaluator.translator, *TEXT) == [3, 4, 5]
    scores = evaluator.evaluate(TRANSLATIONS, *TEXT)
    assert scores.all == score_set(TRANSLATIONS, TEXT.target, FRENCH)
    assert scores.no_unknown == score_set(TRANSLATIONS[3:6], TEXT.target[3:6], FRENCH)
    lengths = [5] * 11 + [15] * 2
    assert evaluator.source_lengths(TEXT.source) == lengths
    bins = bleu_by_length(TRANSLATIONS, TEXT.target, lengths)
    assert scores.by_length == bins
    assert [b[:3] for b in bins] == [(1, 10, 11), (11, 20, 2)]
    assert scores.replaced is None and scores.comparisons == []


def test_other_translations_are_scored_and_compared_with_them():
    evaluator = evaluator_of_words("3", "4", "5")
    others = TEXT.target[::-1]
    scores = evaluator.evaluate(TRANSLATIONS, *TEXT, replaced=others, systems={"Moses": others})
    assert scores.replaced == score_set(others, TEXT.target, FRENCH)
    lengths = evaluator.source_lengths(TEXT.source)
    assert scores.comparisons == [compare("Moses", TRANSLATIONS, others, TEXT.target, lengths)]


def test_without_known_sentences_there_are_no_scores_of_them():
    assert evaluator_of_words().evaluate(TRANSLATIONS, *TEXT).no_unknown is None


# --- a model --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def evaluator(model_dir: Path) -> Evaluator:
    """Of a model that likes [UNK]."""
    text_model = load_text_model(model_dir)
    assert isinstance(text_model.model, TranslationModel)
    [bias] = [weight for weight in text_model.model.weights if weight.path.endswith("readout/b")]
    bias.assign(bias.numpy() + 2 * (np.arange(bias.shape[0]) == UNK))
    return Evaluator(Translator.of(text_model))


@pytest.fixture(scope="module")
def text(corpus: Path) -> ParallelText:
    whole = ParallelFiles([corpus / "valid.en"], [corpus / "valid.fr"]).read()
    return ParallelText(whole.source[:7], whole.target[:7])


def test_one_search_gives_translations_with_unk_and_with_it_replaced(evaluator, text):
    translations, replaced = evaluator.translate_and_replace(text.source)
    assert translations == evaluator.translate(text.source)
    other = evaluator.translator.with_options(replace_unknown=True)
    assert replaced == [result.text for result in other.translate(text.source)]
    assert any("[UNK]" in line for line in translations)
    assert not any("[UNK]" in line for line in replaced)


def test_unk_can_be_kept_out_of_the_output(evaluator, text):
    translations = evaluator.translate_without_unk(text.source)
    assert not any("[UNK]" in line for line in translations)
    other = evaluator.translator.with_options(allow_unknown=False)
    assert translations == [result.text for result in other.translate(text.source)]


def test_a_sentence_is_translated_and_aligned(evaluator, text):
    result = evaluator.translate_and_align(text.source[0])
    assert result.alignment.shape == (len(result.tokens), len(result.source_tokens))


def test_the_likelihood_is_of_all_tokens(evaluator, text):
    pairs = evaluator.pairs(text)
    scores = evaluator.translator.score(text.source, text.target)
    likelihood = evaluator.nll(pairs)
    assert likelihood.per_sentence == pytest.approx(-np.mean(scores), rel=1e-5)
    tokens = sum(pairs.target.lengths(np.arange(7)) + 1)
    assert likelihood.per_token == pytest.approx(-np.sum(scores) / tokens, rel=1e-5)


def test_the_calibration_is_of_the_most_probable_tokens(evaluator, text):
    """Of the model, and of an ensemble of it and another one."""
    pairs = evaluator.pairs(text)
    model = evaluator.translator.model
    other = TranslationModel(model.config)
    for weight, own in zip(other.weights, model.weights, strict=True):
        weight.assign(1.5 * own)
    together = copy.copy(evaluator)
    together._model = Ensemble([model, other])
    for models, measured in (
        ([model], evaluator.calibration(pairs, 3)),
        ([model, other], together.calibration(pairs)),
    ):
        [batch] = ordered_batches(pairs, len(pairs), "batch")
        target = batch["target"].numpy()
        inputs = {name: batch[name] for name in ("source", "target")}
        p = np.mean([tf.nn.softmax(each(inputs)).numpy() for each in models], axis=0)
        confidence = p.max(axis=2)[target > 0].tolist()
        correct = (p.argmax(axis=2) == target)[target > 0].tolist()
        assert 0 < sum(correct) < len(correct)
        expected = calibration(confidence, correct)
        assert measured.tokens == len(correct)
        assert measured.error == pytest.approx(expected.error, abs=1e-5)
        for found, wanted in zip(measured.bins, expected.bins, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_an_export_has_the_options_it_was_made_with_and_no_model(export_dir, evaluator, text):
    exported = Evaluator(Translator.load(export_dir))
    translations, replaced = exported.translate_and_replace(text.source)
    assert len(translations) == 7 and replaced is None
    with pytest.raises(InputError, match="its own decoding options"):
        exported.translate_without_unk(text.source)
    with pytest.raises(ValueError, match="likelihood needs a model"):
        exported.nll(exported.pairs(text))
    with pytest.raises(ValueError, match="calibration needs a model"):
        exported.calibration(exported.pairs(text))
