"""Completions as text, against enumeration of all translations, under the tokenizers of words."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig, ModelConfig
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.tokenizers import tokenizer_for
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary

pytestmark = pytest.mark.slow

WORDS = ["Il", "fait", "fa", "froid", ".", "l'"]
IDS = {word: number for number, word in enumerate(WORDS, len(SPECIAL_TOKENS))}
LONGEST = 3  # words


@pytest.fixture(scope="module", params=["moses", "whitespace"])
def translator(request, tmp_path_factory) -> Translator:
    """A model of arbitrary weights, whose beam holds every translation that it may write."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    sides = []
    for language, words in (("en", ["a", "b", "c"]), ("fr", WORDS)):
        Vocabulary([*SPECIAL_TOKENS, *words]).save(folder / language)
        tokenizer = tokenizer_for(request.param, language)
        sides.append(TextVectorizer(tokenizer, folder / language))
    keras.utils.set_random_seed(2)
    sizes = ModelConfig(
        source_vocabulary_size=6, target_vocabulary_size=len(SPECIAL_TOKENS) + len(WORDS),
        embedding_size=3, hidden_size=4, attention_size=3, maxout_size=2,
    )  # fmt: skip
    model = TranslationModel(sizes)
    for weight in model.weights:
        weight.assign(np.random.default_rng(3).normal(size=weight.shape))
    search = DecodingConfig(
        beam_size=300, max_length=LONGEST, max_length_ratio=9.0, allow_unknown=False,
        replace_unknown=True,
    )  # fmt: skip
    config = Config(model=sizes, decoding=search, tokenizer=request.param)
    return Translator.of(TextModel([model], config, *sides))


# The prefix; the words that stand first; the beginning of the word that follows.
CASES: list[tuple[str, list[str], str]] = [
    ("", [], ""),
    ("Il ", ["Il"], ""),
    ("Il fa", ["Il"], "fa"),
    ("Il fa ", ["Il", "fa"], ""),
    ("f", [], "f"),
    ("l'", [], "l'"),
    ("Zork fr", ["Zork"], "fr"),
    ("Il zork", ["Il", "zork"], ""),  # no word begins so
    ("Il Il fait", ["Il", "Il"], "fait"),
    ("Il fa Il fait froid", ["Il", "fa", "Il"], ""),  # longer than the limit
]


@pytest.mark.parametrize(("prefix", "first", "rest"), CASES)
def test_all_that_can_be_written_is_found_and_ranked(translator, prefix, first, rest):
    expected = enumerated(translator, first, rest)
    found = translator.complete("a b", prefix, n_best=300).hypotheses
    assert {one.text for one in found} == set(expected)
    for one in found:
        assert one.text.startswith(" ".join(prefix.split()[:LONGEST]))
        assert one.score == pytest.approx(expected[one.text], abs=1e-4)
    scores = [one.normalized_score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_a_word_of_a_prefix_may_be_unk(translator):
    """It is not replaced, as an [UNK] of the search is."""
    assert translator.complete("c", "[UNK] ").text.startswith("[UNK]")


def enumerated(translator: Translator, first: Sequence[str], rest: str) -> dict[str, float]:
    """Log p of each text of at most `LONGEST` words that begins so."""
    texts, rows = [], []
    for count in range(LONGEST - len(first) + 1):
        for words in itertools.product(WORDS, repeat=count):
            if not rest or (words and words[0].startswith(rest)):
                texts.append([*first, *words])
                rows.append([*(IDS.get(word, UNK) for word in texts[-1]), EOS])
    source = tf.constant([[3, 4, EOS]])
    ids = tf.ragged.constant(rows)
    model = translator.model
    assert model is not None
    losses = model.token_losses(tf.repeat(source, len(rows), 0), ids.to_tensor(PAD))
    log_p = -tf.math.segment_sum(losses, ids.value_rowids()).numpy()
    spelled = translator.target_tokenizer.detokenize(tf.ragged.constant(texts, ragged_rank=1))
    best: dict[str, float] = {}
    for text, score in zip(spelled.numpy(), log_p.tolist(), strict=True):
        best[text.decode()] = max(score, best.get(text.decode(), -np.inf))
    return best
