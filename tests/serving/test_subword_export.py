"""Subwords from training to a server: from right to left, into a script without spaces.

The server is the stand-in; the operations of tensorflow-text are loaded into TensorFlow's C
runtime, where TensorFlow Serving has them linked.
"""

import dataclasses
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import scripted_train_step
from scripted_page_server import PAGE
from tfserving import running
from training_result import weights
from without_python_tensorflow import without_python_tensorflow

from rnnsearch_tf.alignment.lexicon import lexicon_of
from rnnsearch_tf.client import Client
from rnnsearch_tf.config import Config, DecodingConfig, ModelConfig, TrainingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.results import Translation
from rnnsearch_tf.scripts import aligner
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.training.initial_model import InitialModel
from rnnsearch_tf.training.run import train
from rnnsearch_tf.training.validation import ValidationSet

pytestmark = pytest.mark.serving

_HEBREW, _KANA = "אבגדהוזחטיכלמ", "あいうえおかきくけこさしす"
SENTENCE = "אבג דהו"

# A session in a process without Python TensorFlow and without the library of tensorflow-text.
RUN = """
import sys
from tfserving.protos import leave_python_tensorflow_out
leave_python_tensorflow_out()
from tfserving.c_session import CSession
from tfserving.status import StatusError
try:
    CSession(sys.argv[1])
except StatusError as error:
    print(error)
"""


def made_up_text(count: int) -> ParallelText:
    """Pairs of words of Hebrew letters and the same letters as kana, without spaces."""
    letters = dict(zip(_HEBREW, _KANA, strict=True))
    dice = random.Random(1)
    source = [
        " ".join(
            "".join(dice.choices(_HEBREW, k=dice.randint(1, 4))) for _ in range(dice.randint(1, 5))
        )
        for _ in range(count)
    ]
    target = ["".join(letters.get(letter, "") for letter in line) for line in source]
    return ParallelText(source, target)


@pytest.fixture(scope="module")
def subword_dir(shared_folder) -> Path:
    """Where a `Translator` is loaded once."""
    config = Config(
        model=ModelConfig(
            embedding_size=8,
            hidden_size=11,
            attention_size=7,
            maxout_size=8,
            tied_embeddings=True,
            lexical_model=True,
        ),
        training=TrainingConfig(batch_size=16, max_updates=3, subword_sampling=0.2),
        decoding=DecodingConfig(
            beam_size=2, max_length=20, min_length_ratio=0.5, correct_spelling=True
        ),
        source_language="he",
        target_language="ja",
        tokenizer="sentencepiece",
        subwords=320,
    )
    path = shared_folder / "subwords"
    train(config, path, made_up_text(64))
    return path


@pytest.fixture(scope="module")
def subword_export(subword_dir, tmp_path_factory) -> Path:
    return export([subword_dir], tmp_path_factory.mktemp("subwords"), completions=True)


def test_characters_are_evaluated(subword_dir):
    directory, text = ModelDirectory(subword_dir), made_up_text(12)
    evaluated = ValidationSet(directory.load_model(), directory.load_config(), directory, text)
    assert "|tok:char|" in evaluated.bleu_signature
    evaluator = Evaluator(Translator.load(subword_dir))
    lengths = evaluator.source_lengths(text.target)
    assert lengths == [len(line) for line in text.target]
    scores = evaluator.score(text.target, text.target)
    assert min(scores[name].score for name in scores.scores if name != "ter") > 99


def test_an_aligner_aligns_the_words_of_the_text(subword_dir, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(subword_dir, copy)
    text = made_up_text(64)
    for name, side in (("source", text.source), ("target", text.target)):
        (tmp_path / name).write_text("\n".join(side) + "\n", "utf-8")
    flags = [f"--{name}={tmp_path / name}" for name in ("source", "target")]
    assert aligner.run([*flags, f"--model_dir={copy}"]) == 0
    translator = Translator.load(copy, alignment="aligner")
    alignments = translator.align(text.source, text.target)
    for alignment, pieces in zip(
        alignments, Translator.load(subword_dir).align(*text), strict=True
    ):
        assert alignment.source_tokens == pieces.source_tokens
        assert alignment.weights.shape == pieces.weights.shape
        np.testing.assert_allclose(alignment.weights.sum(axis=1), 1, atol=1e-5)
    # The text's words are known: most of what is written is linked.
    unlinked = [weight for one in alignments for weight in one.weights[:-1, -1]]
    assert np.median(unlinked) < 0.2


def test_the_model_directory_has_what_reading_needs(subword_dir, tmp_path):
    directory = ModelDirectory(subword_dir)
    config = directory.load_config()
    assert config.model.source_vocabulary_size == len(directory.load_vocabularies()[0])
    assert not config.decoding.allow_unknown
    copy = shutil.copytree(subword_dir, tmp_path / "model")
    (copy / "target.spm").unlink()
    with pytest.raises(InputError, match=r"target\.spm: No such file"):
        Translator.load(copy)


def test_training_is_resumed_and_other_subwords_are_refused(subword_dir):
    config = ModelDirectory(subword_dir).load_config()
    files = [subword_dir / name for name in ("training.jsonl", "last.weights.h5")]
    before = [file.read_bytes() for file in files]
    train(config, subword_dir, made_up_text(64))
    assert [file.read_bytes() for file in files] == before  # it was finished
    other = dataclasses.replace(config, subwords=310)
    with pytest.raises(InputError, match=r"other settings: subwords is 320, not 310"):
        train(other, subword_dir, made_up_text(64))


def test_fine_tuning_keeps_the_subwords(subword_dir, tmp_path, monkeypatch):
    """Training starts from the initial model's weights: the scripted update adds a constant."""
    scripted_train_step.use(monkeypatch)
    initial = InitialModel(subword_dir)
    config = initial.settings_over(Config(training=TrainingConfig(batch_size=16, max_updates=1)))
    assert config.decoding.beam_size == 2 and not config.decoding.correct_spelling
    other_text = ParallelText(["שתף ☃"] * 16, ["ねこ"] * 16)
    path = tmp_path / "model"
    train(config, path, other_text, initial_model=subword_dir)
    for name in ("source.spm", "target.spm", "source.vocab", "target.vocab"):
        assert (path / name).read_bytes() == (subword_dir / name).read_bytes()
    for weight, before in zip(weights(path), weights(subword_dir, "best"), strict=True):
        np.testing.assert_allclose(weight - before, np.ravel(weight - before)[0], atol=1e-6)
    for change in ({"tokenizer": "whitespace"}, {"subwords": 321}, {"joint_subwords": True}):
        other = dataclasses.replace(config, **change)
        with pytest.raises(UsageError, match=f"its {next(iter(change))} is"):
            train(other, tmp_path / "other", other_text, initial_model=subword_dir)
    with pytest.raises(InputError, match="no initial model"):
        files = [subword_dir / "source.spm"]
        train(config, tmp_path / "other", other_text, subwords=files, initial_model=subword_dir)
    assert not (tmp_path / "other").exists()


@pytest.fixture(scope="module")
def translator(subword_dir) -> Translator:
    return Translator.load(subword_dir)


@pytest.fixture(scope="module")
def expected(translator) -> Translation:
    return translator.translate(SENTENCE, return_alignment=True)


def test_results_are_words_and_score_as_searched(translator, expected):
    assert expected.source_tokens == ("אבג", "דהו", "</s>")
    assert expected.unknown == ()
    best = expected.hypotheses[0]
    assert "".join(best.tokens[:-1]) == best.text
    assert len(best.pieces) >= len(best.tokens) == len(best.alignment)
    np.testing.assert_allclose(best.alignment.sum(axis=1), 1, atol=1e-5)
    assert translator.score(SENTENCE, expected) == pytest.approx(expected.score, abs=1e-4)
    assert translator.align(SENTENCE, best.text).source_tokens == expected.source_tokens


def test_a_line_in_capitals_is_read_in_lower_case(translator):
    given, read = translator.translate(["AB\u0130 CDE", "Abi\u0307 cde"], return_alignment=True)
    assert given.hypotheses == read.hypotheses
    assert given.source_tokens == ("AB\u0130", "CDE", "</s>")
    np.testing.assert_array_equal(given.alignment, read.alignment)
    assert translator.score(given.source, given) == pytest.approx(given.score, abs=1e-4)
    assert translator.words_of_pairs([given.source], ["x"])[2] == [["Abi\u0307", "cde"]]


def test_scores_of_words_are_sums_over_their_pieces(translator, expected):
    best = expected.hypotheses[0]
    assert len(best.piece_scores) == len(best.pieces)
    assert len(best.word_scores) == len(best.tokens)
    for scores in (best.piece_scores, best.word_scores):
        assert sum(scores) == pytest.approx(best.score, abs=1e-5)
    given = translator.score_words("אבגד", "あ いう")
    assert given.tokens[-1] == given.pieces[-1] == "</s>"
    ends = np.cumsum(given.piece_scores)
    for end in np.cumsum(given.word_scores):
        assert np.abs(ends - end).min() < 1e-4  # a word ends with a piece


@pytest.mark.parametrize("prefix", ["あい", "あ い", "あ い ", "☃う", "ああ ああ"])
def test_a_completion_begins_with_these_characters(translator, prefix):
    """However the prefix is cut into pieces."""
    for one in translator.complete(SENTENCE, prefix, n_best=2).hypotheses:
        assert one.text.startswith(prefix.strip())
        assert translator.score(SENTENCE, one) == pytest.approx(one.score, abs=1e-3)


def test_a_lexicon_is_of_words(translator):
    """A source word is one of the text; in a target without spaces, a piece is a word."""
    text = made_up_text(16)
    lexicon = lexicon_of(translator, text)
    words = {word for line in text.source for word in line.split()}
    assert lexicon and set(lexicon) <= {*words, "</s>"}
    assert any(len(word) > 2 for word in lexicon)  # of several pieces
    shown = {word for one in translator.align(*text) for word in one.target_tokens}
    assert {word for row in lexicon.values() for word in row if word} <= shown


def test_a_lexicon_of_words_has_no_subwords(translator, expected):
    with pytest.raises(InputError, match="candidate words need a word model"):
        translator.with_options(candidate_words=100)
    replaced = translator.with_options(replace_unknown=True).translate(SENTENCE)
    assert replaced.text == expected.text  # nothing is unknown


def test_an_export_gives_the_same(subword_export, expected):
    again = Translator.load(subword_export).translate(
        [SENTENCE, "", "☃ x", "AB CD", "Ab cd"], return_alignment=True
    )
    assert again[0].hypotheses[0].pieces == expected.hypotheses[0].pieces
    assert again[1].text == ""
    assert again[2].source_tokens == ("☃", "x", "</s>")
    assert again[3].hypotheses == again[4].hypotheses
    np.testing.assert_allclose(again[0].alignment, expected.alignment, atol=1e-5)


def test_the_card_says_what_the_graph_needs(subword_export):
    card = json.loads((subword_export / "model.json").read_text("utf-8"))
    assert card["needs"] == ["tensorflow-text"]


def test_the_c_runtime_refuses_by_name_without_the_library(subword_export):
    assert "SentencepieceOp" in without_python_tensorflow(RUN, subword_export)


@pytest.fixture(scope="module")
def server(subword_export):
    with running(subword_export.parent, "--rest_api_enable_cors_support") as server:
        yield server


def test_a_server_answers_with_words(server, translator, expected):
    pair = (SENTENCE, "あい")
    completed = translator.complete(*pair, n_best=2)
    with Client(f"grpc://{server.grpc}", deadline=300) as client:
        [begun] = client.complete([pair])
        [result], [listed] = client.align([SENTENCE]), client.n_best([SENTENCE])
    assert (result.text, result.source_tokens, result.tokens) == (
        expected.text, expected.source_tokens, expected.tokens,
    )  # fmt: skip
    np.testing.assert_allclose(result.alignment, expected.alignment, atol=1e-5)
    assert begun.text.startswith("あい")
    assert [h.text for h in begun.hypotheses] == [h.text for h in completed.hypotheses]
    np.testing.assert_allclose(begun.word_scores, completed.word_scores, atol=1e-5)
    for hypothesis in (result.hypotheses[0], listed.hypotheses[0]):
        assert hypothesis.tokens == expected.tokens
        np.testing.assert_allclose(hypothesis.word_scores, expected.word_scores, atol=1e-5)


def test_the_page_shows_words_of_both_scripts(server, expected):
    """What it shows is what the server answers; the signatures are as it expects."""
    best = expected.hypotheses[0]
    with Client(server.rest, deadline=300) as client:
        [listed] = client.n_best([SENTENCE])
    page_in_browser = pytest.importorskip("page_in_browser")
    expect = page_in_browser.expect
    with page_in_browser.chromium() as browser:
        address = f"{PAGE.as_uri()}/index.html?server={server.rest}"
        visit = page_in_browser.Visit(browser, address, clock=False)
        page = visit.page
        page_in_browser.approve(page)
        page.locator("#source").fill(SENTENCE)
        texts = [hypothesis.text for hypothesis in listed.hypotheses]
        expect(page.locator("#candidates .text")).to_have_text(texts, timeout=120_000)
        expect(page.locator("#translation")).to_have_text(expected.text)
        expect(page.locator("#direction")).to_have_text("Hebrew to Japanese with soft alignment")
        expect(page.locator("#matrix tbody th")).to_have_text(list(best.tokens))
        told = page.locator("#matrix tbody td").evaluate_all(
            "cells => cells.map(cell => parseFloat(cell.getAttribute('aria-label')))"
        )
        np.testing.assert_allclose(told, 100 * np.ravel(best.alignment), atol=0.5)
        expect(page_in_browser.trouble(page)).to_be_empty()
        assert visit.errors == []
        assert page.locator("#source").evaluate("x => getComputedStyle(x).direction") == "rtl"
        assert page.locator("#translation").evaluate("x => getComputedStyle(x).direction") == "ltr"
