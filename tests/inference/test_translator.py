"""The Python API: any text in, as many results in order; scores and alignments are the model's."""

import copy
import dataclasses
import doctest
import itertools
import json
import os
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch_tf import progress
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.digests import sealed
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference import translator as module
from rnnsearch_tf.inference.exported import CARD, Export, find_version, new_version
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.text_model import MAX_WEIGHTS
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.tokenizers import word_tokenizers_for
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer

pytestmark = pytest.mark.slow

SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "It is cold.", "We sleep."]


@pytest.fixture(scope="module")
def exported(export_dir) -> Translator:
    return Translator.load(export_dir)


def test_examples_in_the_documentation_run(export_dir, translator):
    """The class's example loads an export; those of its methods go on with a model."""
    names = {"MODEL_DIR": export_dir, "translator": translator}
    examples = doctest.testmod(module, extraglobs=names)
    assert examples.attempted >= 8
    assert examples.failed == 0


texts = st.lists(st.text(max_size=40) | st.sampled_from(SENTENCES), max_size=5)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(texts)
def test_any_text_in_as_many_translations_in_order(translator, lines):
    results = translator.translate(lines, n_best=3, return_alignment=True)
    assert [one.source for one in results] == lines
    for line, one in zip(lines, results, strict=True):
        alone = translator.translate(line)
        assert alone.text == one.text
        assert alone.score == pytest.approx(one.score, abs=1e-4)
        assert one.source_tokens[-1] == one.tokens[-1] == "</s>"
        if len(one.source_tokens) == 1:
            assert (one.text, one.score, len(one.hypotheses)) == ("", 0, 1)
        check_hypotheses(one, translator.config.decoding.length_penalty)
    pairs = [(one.source, hypothesis) for one in results for hypothesis in one.hypotheses]
    reported = [hypothesis.score for _, hypothesis in pairs]
    np.testing.assert_allclose([*translator.score_stream(pairs)], reported, rtol=1e-4, atol=1e-4)


def check_hypotheses(one: Any, length_penalty: float) -> None:
    """They differ and are sorted by score; rows of their alignments sum to one."""
    ranks = [hypothesis.normalized_score for hypothesis in one.hypotheses]
    assert ranks == sorted(ranks, reverse=True)
    assert len({hypothesis.text for hypothesis in one.hypotheses}) == len(ranks)
    for hypothesis in one.hypotheses:
        expected = hypothesis.score / len(hypothesis.tokens) ** length_penalty
        assert hypothesis.normalized_score == pytest.approx(expected, rel=1e-4)
        assert hypothesis.alignment.shape == (len(hypothesis.tokens), len(one.source_tokens))
        np.testing.assert_allclose(hypothesis.alignment.sum(axis=1), 1, atol=1e-4)
        assert (hypothesis.alignment >= 0).all()


def test_an_export_gives_what_the_model_gives(translator, exported):
    lines = [*SENTENCES, "", "a caf\u00e9 \ufffd"]
    for name in ("translate", "align"):
        arguments = (lines, lines) if name == "align" else (lines,)
        options = {"n_best": 3, "return_alignment": True} if name == "translate" else {}
        for result, expected in zip(
            getattr(exported, name)(*arguments, **options),
            getattr(translator, name)(*arguments, **options),
            strict=True,
        ):
            assert_same(result, expected)
    scores = translator.score(lines, lines)
    np.testing.assert_allclose(exported.score(lines, lines), scores, rtol=1e-5)


def assert_same(result: Any, expected: Any) -> None:
    """All fields of results, numbers up to rounding."""
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(result, field.name), getattr(expected, field.name))
    elif isinstance(expected, tuple | list):
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, str | int | None):
        assert result == expected
    else:
        np.testing.assert_allclose(result, expected, atol=1e-4)


def test_a_translator_is_neither_copied_nor_used_in_a_forked_process(translator, monkeypatch):
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Translator cannot be copied or pickled"):
            copied(translator)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    for method, texts in ((translator.translate, ["a"]), (translator.score, ["a", "b"])):
        with pytest.raises(RuntimeError, match="does not work in a forked process"):
            method(*texts)
    with pytest.raises(RuntimeError, match="does not work in a forked process"):
        translator.with_options(beam_size=2)


def test_another_beam(translator, exported):
    sizes: Any = np.arange(3, 5)
    three, four = (translator.translate(SENTENCES, beam_size=n, n_best=n) for n in sizes)
    assert [one.text for one in three] == [one.text for one in translator.translate(SENTENCES)]
    assert max(len(one.hypotheses) for one in three) == 3
    assert max(len(one.hypotheses) for one in four) == 4
    with pytest.raises(InputError, match="n_best 4: must be from 1 to the beam size, 3"):
        translator.translate(SENTENCES, n_best=4)
    for wrong in (1.5, 2.0, "2"):
        with pytest.raises(InputError, match=rf"n_best {wrong!r}: must be from 1"):
            translator.translate(SENTENCES, n_best=wrong)
    best_two = [result.hypotheses[:2] for result in translator.translate(SENTENCES, n_best=3)]
    of_numpy = translator.translate(SENTENCES, n_best=np.int64(2))
    assert [result.hypotheses for result in of_numpy] == best_two
    with pytest.raises(InputError, match="n_best 0"):
        translator.translate(SENTENCES, n_best=0)
    with pytest.raises(InputError, match="beam_size 0: must be at least 1"):
        translator.translate(SENTENCES, beam_size=0)
    with pytest.raises(InputError, match="beam_size 2: this model searches with a beam of 3"):
        exported.translate(SENTENCES, beam_size=2)


def test_an_export_is_a_version_or_the_highest_in_a_folder(export_dir, tmp_path):
    assert find_version(export_dir) == find_version(export_dir / "1") == export_dir / "1"
    (tmp_path / "9").mkdir()
    (tmp_path / "10").mkdir()
    assert find_version(tmp_path) == tmp_path / "10"
    (tmp_path / "0011").mkdir()  # version 11 to a server
    (tmp_path / "20").touch()  # no folder, but in the way of a new one
    assert find_version(tmp_path) == tmp_path / "0011"
    assert new_version(tmp_path) == tmp_path / "21"
    assert find_version(tmp_path / "none") is None
    (tmp_path / "config.json").touch()
    assert find_version(tmp_path) is None  # a model directory


def test_an_export_of_0_1_0_is_read(export_dir, tmp_path):
    """Its card may have an old name of the tokenizer."""
    card = json.loads((export_dir / "1" / "model.json").read_text("utf-8"))
    del card["sha256"]  # which it did not have either
    (tmp_path / "model.json").write_text(json.dumps({**card, "tokenizer": "spaces"}), "utf-8")
    config = Export(tmp_path).config
    assert config.tokenizer == "whitespace"
    assert [type(one) for one in word_tokenizers_for(config)] == [WhitespaceTokenizer] * 2


def test_an_export_with_other_options_is_refused(export_dir):
    with pytest.raises(InputError, match="an export always uses its own decoding options"):
        Translator.load(export_dir, DecodingConfig(beam_size=2))
    with pytest.raises(InputError, match="an export has one set of weights"):
        Translator.load([export_dir], weights="last")


def test_a_damaged_export(export_dir, tmp_path):
    with pytest.raises(InputError, match="no such model directory"):
        Translator.load(tmp_path / "none")
    (tmp_path / "3").mkdir()
    with pytest.raises(InputError, match=r"3/model\.json: No such file"):
        Translator.load(tmp_path)
    (tmp_path / "3" / "model.json").write_bytes((export_dir / "1" / "model.json").read_bytes())
    with pytest.raises(InputError, match=r"3/assets/source\.vocab: No such file"):
        Translator.load(tmp_path)


def test_streams_are_read_as_they_are_translated(translator, monkeypatch):
    monkeypatch.setattr(module, "LINES_AT_ONCE", 2)
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in itertools.cycle(SENTENCES):
            read.append(line)
            yield line

    results = translator.translate_stream(lines())
    assert [next(results).source for _ in range(3)] == SENTENCES[:3]
    assert len(read) == 4
    pairs = ((line, line) for line in itertools.cycle(SENTENCES))
    scores = list(itertools.islice(translator.score_stream(pairs), 5))
    assert scores[0] == pytest.approx(scores[4], abs=1e-4)


def test_alignments_of_given_pairs(translator):
    french = ["L'homme mangera.", "Il fait froid."]
    alignments = translator.align(["The man will eat.", "It is cold."], french)
    assert alignments[0].source_tokens == ("The", "man", "will", "eat", ".", "</s>")
    assert alignments[0].target_tokens == ("L'", "homme", "mangera", ".", "</s>")
    assert [one.weights.shape for one in alignments] == [(5, 6), (5, 5)]
    for one in alignments:
        np.testing.assert_allclose(one.weights.sum(axis=1), 1, atol=1e-5)
    alone = translator.align("It is cold.", "Il fait froid.")
    np.testing.assert_allclose(alone.weights, alignments[1].weights, atol=1e-5)


def test_only_so_many_tokens_are_read(translator):
    long = "word " * 510
    alignment = translator.align(long, long)
    assert alignment.weights.shape == (501, 501)
    assert translator.score(long, long) == translator.score("word " * 500, "word " * 500)
    assert translator.source_lengths([long, "It is cold."]) == [510, 4]


def test_no_more_pairs_are_aligned_at_once_than_the_engine_takes(translator, monkeypatch):
    assert module._PAIRS_AT_ONCE * (DecodingConfig().max_length + 1) ** 2 <= MAX_WEIGHTS / 2
    pairs = SENTENCES * 2, ["Il fait froid."] * 8
    expected = translator.align(*pairs)
    shapes = []

    class Engine:
        def align_tokens(self, source, target):
            weights = translator._engine.align_tokens(source, target)
            shapes.append(tuple(weights.shape))
            return weights

    monkeypatch.setattr(module, "MAX_WEIGHTS", 100)
    limited = Translator(
        Engine(),
        translator.config,
        (translator.source_tokenizer, translator.target_tokenizer),
        translator.vocabularies,
    )
    for one, other in zip(limited.align(*pairs), expected, strict=True):
        assert one.source_tokens == other.source_tokens
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
    assert sum(shape[0] for shape in shapes) == 8
    assert all(shape[0] == 1 or np.prod(shape) <= 100 for shape in shapes)
    assert max(shape[0] for shape in shapes) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (3, "a sentence, a str, or a list of them, not 3, of type int"),
        (None, "a sentence, a str, or a list of them, not None, of type NoneType"),
        (iter("ab"), "or a list of them, not <str_.*iterator"),
        (["a", float("nan")], "sentence 2: expected a str, not nan, of type float"),
        ({"en": ["a"]}, "or a list of them, not {'en': .*'a'.*}, of type dict"),
        (np.array([["a"]]), "or a list of them, not array.*, of type ndarray"),
    ],
)
def test_what_is_no_text(translator, text, said):
    for call in (translator.translate, lambda text: translator.score(text, ["a"])):
        with pytest.raises(TypeError, match=said):
            call(text)


def test_pairs_that_do_not_fit(translator):
    with pytest.raises(InputError, match="2 sentences, but 1 translations"):
        translator.score(["a", "b"], ["c"])
    with pytest.raises(InputError, match="2 sentences, but 1 translations"):
        translator.align(["a", "b"], "ab")
    with pytest.raises(InputError, match="3 sentences, but 2 translations"):
        translator.score(["a", "b", "c"], np.array(["a", "b"]))
    with pytest.raises(InputError, match="one sentence, but a list"):
        translator.score("a", ["b"])
    with pytest.raises(TypeError, match="or a list of them, not None"):
        translator.score("a", None)
    with pytest.raises(TypeError, match="translation 2: expected a str, not nan"):
        translator.score(["a", "b"], ["c", float("nan")])


@pytest.mark.parametrize(
    ("stream", "given", "said"),
    [
        ("translate_stream", ["a", None], "sentence 2: expected a str, not None"),
        ("translate_stream", {"en": ["a"]}, "an iterable of sentences, not .* of type dict"),
        ("translate_windows", ["It is cold."], "an iterable of sentences, not a single sentence"),
        ("source_lengths", "It is cold.", "an iterable of sentences, not a single sentence"),
        (
            "score_stream",
            ("a b", "c"),
            "pair 1: expected a sentence and its translation, not 'a b'",
        ),
        ("align_stream", [("a", None)], "translation 1: expected a str, not None"),
    ],
)
def test_what_is_no_text_in_a_stream(translator, stream, given, said):
    with pytest.raises(TypeError, match=said):
        list(getattr(translator, stream)(given))


def test_half_an_emoji_is_refused_after_the_lines_before_it(translator):
    half = json.loads('"Hi \\ud83d"')
    results = translator.translate_stream(["It is cold.", half])
    assert next(results).text
    with pytest.raises(InputError, match="sentence 2 is not Unicode: surrogates not allowed"):
        next(results)
    for call in (
        lambda: translator.translate(half),
        lambda: translator.score("a", half),
        lambda: list(translator.align_stream([(half, "a")])),
    ):
        with pytest.raises(InputError, match="is not Unicode"):
            call()
    with pytest.raises(InputError, match="the prefix is not Unicode"):
        translator.complete("a", half)


def test_a_result_without_tokens_is_read_as_text(translator):
    """A server sends no tokens unless it is asked for them."""
    text = "Il fait froid."
    of_server = Translation("It is cold.", (), (Hypothesis(text, (), -1.0, None),))
    expected = translator.score("It is cold.", text)
    assert translator.score("It is cold.", of_server) == expected
    assert translator.score("It is cold.", of_server.hypotheses[0]) == expected


def test_the_probability_of_a_word_is_the_mean_of_the_models(translator, model_dir, other_dir):
    options = translator.config.decoding
    other, together = (Translator.load(d, options) for d in (other_dir, [model_dir, other_dir]))
    pairs = [(one.source, one) for one in translator.translate(SENTENCES, n_best=2)]
    probabilities = (
        [np.exp(given.word_scores) for given in each.score_words_stream(pairs)]
        for each in (translator, other, together)
    )
    for first, second, mean in zip(*probabilities, strict=True):
        np.testing.assert_allclose(mean, (first + second) / 2, rtol=1e-4)
        assert np.abs(first / second - 1).max() > 0.1


def test_scores_of_words_sum_to_that_of_the_sentence(translator, model_dir, other_dir):
    together = Translator.load([model_dir, other_dir], translator.config.decoding)
    for searched in (translator, together):
        results = searched.translate([*SENTENCES, ""], n_best=3)
        for one in results:
            for hypothesis in one.hypotheses:
                assert len(hypothesis.word_scores) == len(hypothesis.tokens)
                assert max(hypothesis.word_scores) <= 0
                assert sum(hypothesis.word_scores) == pytest.approx(hypothesis.score, abs=1e-5)
                assert hypothesis.pieces == hypothesis.piece_scores == ()
        sources = [one.source for one in results]
        for one, read in zip(results, searched.score_words(sources, results), strict=True):
            assert (read.text, read.tokens) == (one.text, one.tokens)
            np.testing.assert_allclose(read.word_scores, one.word_scores, atol=1e-4)
            assert read.score == pytest.approx(one.score, abs=1e-4)


# Whole words, an unfinished one, unknown ones, and a translation that is at its end.
PREFIXES = ["Il ", "Il", "L'", "Elle ne m", "Le Zork ", "Le Zork", "Zork m", "Il fait froid.", "("]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_completion_begins_with_its_prefix_and_is_scored_as_a_whole(translator, prefix):
    results = translator.complete("It is cold.", prefix, n_best=3).hypotheses
    assert len({one.text for one in results}) == len(results) > 0
    for one in results:
        assert one.text.startswith(prefix.strip())
        assert one.tokens[-1] == "</s>"
        assert "[UNK]" in one.tokens or not ("Zork" in prefix or prefix == "(")
        assert translator.score("It is cold.", one) == pytest.approx(one.score, abs=1e-3)
        assert sum(one.word_scores) == pytest.approx(one.score, abs=1e-4)
    scores = [one.normalized_score for one in results]
    assert scores == sorted(scores, reverse=True)


def test_a_blank_at_the_end_makes_the_last_word_whole(translator):
    for prefix, is_whole in (("Il f ", True), ("Il f", False)):
        for one in translator.complete("It is cold.", prefix, n_best=3).hypotheses:
            assert one.tokens[1] == "[UNK]" if is_whole else one.tokens[1].startswith("f")


def test_a_blank_prefix_is_none_and_a_blank_sentence_is_asked_about_with_one(translator):
    expected = translator.translate("It is cold.", n_best=3)
    for prefix in ("", " \u2028", b" "):
        assert (
            translator.complete("It is cold.", prefix, n_best=3).hypotheses == expected.hypotheses
        )
    assert translator.complete("", "").text == ""
    assert translator.complete("", "Il ").text.startswith("Il")


def test_of_a_prefix_beyond_the_limits_as_many_tokens_are_read_as_of_any_text(translator):
    result = translator.complete("We sleep.", "Il fait " * 255)  # 500 tokens, some by the ratio
    assert result.text == " ".join(["Il fait"] * 250)
    assert result.tokens == ("Il", "fait") * 250 + ("</s>",)


def test_what_cannot_be_completed(translator, exported):
    with pytest.raises(InputError, match="n_best 4: must be from 1 to the beam size, 3"):
        translator.complete("It is cold.", "Il", n_best=4)
    with pytest.raises(TypeError, match="the prefix: expected a str, not None"):
        translator.complete("It is cold.", None)
    with pytest.raises(InputError, match="export with --completions"):
        exported.complete("It is cold.", "Il")


class OlderEngine:
    """The functions of an export of version 0.1.0: without scores of tokens."""

    def __init__(self, engine):
        self._engine = engine

    def best(self, lines):
        return {k: v for k, v in self._engine.best(lines).items() if k != "token_scores"}

    def score_tokens(self, source, target):
        return self._engine.score_tokens(source, target)["score"]


def test_an_export_of_version_0_1_0_gives_sentences_scores_alone(translator):
    sides = translator.source_tokenizer, translator.target_tokenizer
    engine = OlderEngine(translator._engine)
    older = Translator(engine, translator.config, sides, translator.vocabularies)
    expected = translator.translate("It is cold.")
    result = older.translate("It is cold.")
    assert (result.tokens, result.score) == (expected.tokens, expected.score)
    assert result.hypotheses[0].word_scores == ()
    with pytest.raises(ValueError, match="no word scores"):
        _ = result.word_scores
    pair = ("It is cold.", "Il fait froid.")
    read = older.score_words(*pair)
    assert (read.score, read.word_scores) == (translator.score(*pair), ())
    assert older.score(*pair) == read.score


def test_text_as_bytes_or_of_an_array(translator):
    results = translator.translate([b"It is cold.", b"caf\xe9", np.str_("It is late.")])
    assert [one.source for one in results] == ["It is cold.", "caf\ufffd", "It is late."]
    assert repr(results[2]).startswith("Translation('It is late.' → ")
    assert results[0].text == translator.translate("It is cold.").text


def test_a_long_list_says_how_far_it_is(translator, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0)
    translator.translate(SENTENCES)
    assert "line 3/4: 0 s left" in capsys.readouterr().err
    translator.translate(SENTENCES, progress=False)
    assert capsys.readouterr().err == ""


def test_words_that_the_vocabulary_lacks_are_told(translator, export_dir):
    line = "The platypus is cold </s>."
    tokens = ("The", "platypus", "is", "cold", "<", "/", "s", ">", ".", "</s>")
    words = set(translator.vocabularies[0].tokens)
    lacked = tuple(i for i, token in enumerate(tokens) if token not in words)
    assert 1 in lacked and len(lacked) < len(tokens) - 1
    for system in (translator, Translator.load(export_dir)):
        result = system.translate(line, return_alignment=True)
        assert result.source_tokens == tokens
        assert result.unknown == lacked
        pair = system.align(line, "Le qwerty.")
        assert (pair.unknown_source, pair.unknown_target[0]) == (lacked, 1)


def test_a_translator_tells_what_it_is(translator, model_dir, export_dir):
    source, target = (f"{len(v):,}" for v in translator.vocabularies)
    told = f"Translator(rnnsearch, en → fr, {source} → {target} tokens, beam %d, from %s)"
    beam = translator.config.decoding.beam_size
    assert repr(translator) == told % (beam, model_dir)
    assert repr(translator.with_options(beam_size=2)) == told % (2, model_dir)
    with pytest.raises(TypeError, match=r"no setting beamsize \(did you mean beam_size\?\)"):
        translator.with_options(beamsize=2)
    assert repr(Translator.load(export_dir)) == told % (3, export_dir / "1")


def test_a_search_in_bfloat16_has_nearly_the_same_scores(translator):
    exact = translator.translate("Tom sees the dog.").hypotheses[0].score
    approximate = (
        translator.with_options(bfloat16=True).translate("Tom sees the dog.").hypotheses[0].score
    )
    assert 0 < abs(exact - approximate) < 0.1 * abs(exact)


def test_words_that_are_no_tokens_are_read_as_text(translator):
    text = "il fait froid."
    served = Hypothesis(text, ("il", "fait", "froid.", "</s>"), -1.0, -0.5)  # of subwords
    assert translator.score("it is cold.", served) == translator.score("it is cold.", text)


def test_tokens_of_an_iterators_lines_are_counted(translator):
    assert translator.source_lengths(iter(["it is cold .", "it"])) == [4, 1]
    assert translator.words_of_pairs(iter(["a"]), map(str.lower, ["B"]))[1][0].words == (
        "b",
        "</s>",
    )


def test_models_are_in_float32_whatever_a_program_has_set(model_dir):
    with dtype_policy("mixed_bfloat16"):
        model: Any = load_text_model(model_dir).model
    assert {layer.compute_dtype for layer in model.layers} == {"float32"}


def test_an_export_aligns_by_any_of_its_models_or_by_an_aligner(export_dir, tmp_path):
    card = json.loads((export_dir / "1" / CARD).read_text("utf-8"))
    del card["sha256"]
    [model] = card["models"]

    def aligns(alignment: str, *architectures: str) -> bool:
        models = [{**model, "model": {**model["model"], "architecture": a}} for a in architectures]
        content = sealed({**card, "alignment": alignment, "models": models})
        (tmp_path / CARD).write_text(json.dumps(content))
        return Export(tmp_path).aligns

    assert aligns("attention", "rnnsearch") and aligns("attention", "rnnencdec", "rnnsearch")
    assert aligns("aligner", "rnnencdec") and not aligns("attention", "rnnencdec")


def test_a_model_without_attention_aligns_by_its_aligner(translator, monkeypatch):
    monkeypatch.setattr(type(translator.model), "has_attention", property(lambda model: False))
    assert not Translator.of(translator._engine).aligns
    monkeypatch.setattr(translator._engine, "aligner", object())
    assert Translator.of(translator._engine).aligns
