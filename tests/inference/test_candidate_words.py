"""Search among a few words: exact where they are all, else of the sentence's own alone."""

import dataclasses
from pathlib import Path

import pytest
from test_unk_replacement import with_options

from rnnsearch_tf.alignment.lexicon import write_lexicon
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator

pytestmark = pytest.mark.slow

SENTENCES = [
    "The man will eat.",
    "She has seen the old cat in Paris.",
    "  ",
    "Zork is cold.",
    "We.",
]


@pytest.fixture(scope="module")
def exact(translator) -> TextModel:
    return translator._engine


@pytest.fixture(scope="module")
def lexicon(exact, tmp_path_factory) -> Path:
    """Each source word has a translation of its own and, where any word is, the last one."""
    words = exact.target.vocabulary.tokens
    path = tmp_path_factory.mktemp("lexicon") / "lexicon.tsv"
    others = {
        word: (words[3 + i % (len(words) - 3)], "not in it", words[-1])
        for i, word in enumerate(exact.source.vocabulary.tokens[3:])
    }
    write_lexicon(path, others)
    return path


@pytest.fixture(scope="module")
def few(exact, lexicon) -> TextModel:
    return searching_among(exact, 10, lexicon)


def searching_among(exact: TextModel, candidate_words: int, lexicon: Path) -> TextModel:
    options = dataclasses.replace(exact.config.decoding, candidate_words=candidate_words)
    return with_options(exact, options, lexicon)


def test_with_all_words_it_is_the_exact_search(exact, lexicon):
    beyond, whole = (
        searching_among(exact, count, lexicon)
        for count in (1000, len(exact.target.vocabulary) - 4)  # but the last, all are frequent ones
    )
    assert beyond._candidates is None and whole._candidates is not None
    lines = SENTENCES[:4]  # they have a known word each, and so the last word
    for expected, found in zip(
        *(Translator.of(model).translate(lines, n_best=3) for model in (exact, whole)), strict=True
    ):
        assert [h.tokens for h in expected.hypotheses] == [h.tokens for h in found.hypotheses]
        for a, b in zip(expected.hypotheses, found.hypotheses, strict=True):
            assert a.score == pytest.approx(b.score, abs=1e-4)


def test_a_sentence_has_its_own_words_whatever_stands_beside_it(exact, few):
    together = Translator.of(few).translate(SENTENCES, n_best=3)
    frequent = set(exact.target.vocabulary.tokens[:13])
    changed = 0
    for line, result in zip(SENTENCES, together, strict=True):
        source = result.source_tokens[:-1]
        ids = exact.source.vocabulary.encode(source)[:-1]
        words = exact.target.vocabulary.tokens
        own = {words[3 + (i - 3) % (len(words) - 3)] for i in ids if i > 2} | {words[-1]}
        for hypothesis in result.hypotheses:
            assert set(hypothesis.tokens) <= frequent | own
        alone = Translator.of(few).translate(line, n_best=3)
        assert [h.tokens for h in alone.hypotheses] == [h.tokens for h in result.hypotheses]
        changed += result.text != Translator.of(exact).translate(line, n_best=3).text
    assert changed


def test_prepared_weights_are_shared_where_options_need_the_same(few):
    options = few.config.decoding
    prepared = few.with_decoding(dataclasses.replace(options, beam_size=4))
    prepared.prepare()
    same = prepared.with_decoding(options)
    assert same._prepared is prepared._prepared
    ours, theirs = (Translator.of(model).translate(SENTENCES, n_best=2) for model in (same, few))
    for one, other in zip(ours, theirs, strict=True):
        assert [h.text for h in one.hypotheses] == [h.text for h in other.hypotheses]
    narrow = prepared.with_decoding(dataclasses.replace(options, bfloat16=True))
    assert narrow._prepared is not prepared._prepared is not None


def test_without_a_lexicon_there_are_none(exact):
    translator = Translator.of(exact)
    with pytest.raises(InputError, match="rnnsearch-lexicon learns it"):
        translator.with_options(candidate_words=10)


def test_the_words_of_a_prefix_are_among_the_candidates(few):
    """Forced ones; the last one, unfinished, must begin one of the sentence's own words."""
    words = few.target.vocabulary.tokens
    [outside] = {words[20]} - set(words[:13])
    results = Translator.of(few).complete(SENTENCES[0], f"{outside} Zork ", n_best=3)
    for one in results.hypotheses:
        assert one.tokens[:2] == (outside, "[UNK]")
        assert -1e3 < one.score < 0
    nothing = Translator.of(few).complete(SENTENCES[0], outside[:-1] + "\u00e9\u00e9")
    assert nothing.tokens[0] == "[UNK]"  # no word at all begins so
