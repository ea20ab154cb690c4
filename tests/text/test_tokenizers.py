"""Tokenizers by name, their fingerprints, and whitespace in place of Moses' rules."""

import dataclasses
import inspect
import json
from pathlib import Path

import pytest
import tensorflow as tf

from rnnsearch_tf.config import MOSES, WHITESPACE, Config
from rnnsearch_tf.inference import exported
from rnnsearch_tf.text import (
    cleaning,
    composed_form,
    letters,
    moses,
    nonbreaking_prefixes,
    word_tokenizer,
)
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.tokenizers import tokenizer_for, with_prefixes, word_tokenizers_for
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer

WORDS = MOSES, WHITESPACE

LINES = ["d' abord , l'homme$5 .", "", "  a\u00a0b\tc\u2003 ", "x\x00y\x1bz"]


def test_words_are_what_stands_between_spaces():
    rows = WhitespaceTokenizer("fr").tokenize(tf.constant(LINES)).to_list()
    assert [[word.decode() for word in row] for row in rows] == [
        ["d'", "abord", ",", "l'homme$5", "."], [], ["a", "b", "c"], ["xyz"]
    ]  # fmt: skip


def test_words_are_joined_by_blanks():
    rows = tf.ragged.constant([["l'", "homme", "."], [], ["a"]], tf.string, ragged_rank=1)
    joined = WhitespaceTokenizer("fr").detokenize(rows).numpy().tolist()
    assert joined == [b"l' homme .", b"", b"a"]


def test_what_is_no_utf8_is_replaced():
    [[word]] = WhitespaceTokenizer("en").tokenize(tf.constant([b"caf\xe9"])).to_list()
    assert word.decode() == "caf\ufffd"


def test_tokenizers_by_name():
    assert tokenizer_for("whitespace", "de").language == "de"
    assert tokenizer_for("moses", "en") is tokenizer_for("moses", "en")
    config = dataclasses.replace(Config(), source_language="fr", target_language="en")
    assert [one.language for one in word_tokenizers_for(config)] == ["fr", "en"]
    with pytest.raises(ValueError, match="language 'fi': choose one of en, fr"):
        tokenizer_for("moses", "fi")
    with pytest.raises(ValueError, match="tokenizer 'words': choose one of moses, whitespace"):
        Config(tokenizer="words")  # type: ignore[arg-type]


def test_abbreviations_go_with_the_settings(tmp_path):
    config = with_prefixes(Config(source_language="de"))
    assert config.target_prefixes == ""
    assert "source_prefixes" not in config.given_settings()
    card = {
        **{name: getattr(config, name) for name in ("source_language", "target_language")},
        **{"tokenizer": config.tokenizer, "decoding": dataclasses.asdict(config.decoding)},
        "models": [dataclasses.asdict(config)],
    }
    (tmp_path / exported.CARD).write_text(json.dumps(card), "utf-8")
    german, _ = word_tokenizers_for(exported.Export(tmp_path).config)
    [tokens] = german.tokenize(tf.constant(["Dr. Haus. Tor."])).to_list()
    assert tokens == [b"Dr.", b"Haus", b".", b"Tor", b"."]
    kept = Config(source_language="de", source_prefixes="Abk")  # of the model that it begins from
    assert with_prefixes(kept).source_prefixes == "Abk"
    assert with_prefixes(Config(tokenizer="whitespace", source_language="de")).source_prefixes == ""


def test_tokens_of_these_tokenizers_are_words():
    for tokenizer in (MosesTokenizer("en"), WhitespaceTokenizer("de")):
        assert tokenizer.word_tokenizer is tokenizer


def test_fingerprints_differ_by_rules_and_language():
    made = [tokenizer_for(name, language) for name in WORDS for language in ("en", "fr")]
    assert len({tokenizer.fingerprint() for tokenizer in made}) == 4
    assert MosesTokenizer("en").fingerprint() == MosesTokenizer("en").fingerprint()


@pytest.mark.parametrize(
    ("module", "changed"),
    [
        (cleaning, {"moses", "whitespace"}),
        (composed_form, {"moses", "whitespace"}),
        (letters, {"moses"}),
        (moses, {"moses"}),  # no change of its rules makes whitespace-tokenized text anew
        (nonbreaking_prefixes, {"moses"}),
        (word_tokenizer, {"whitespace"}),
    ],
)
def test_a_fingerprint_changes_with_the_code(monkeypatch, module, changed):
    def fingerprints() -> dict[str, str]:
        return {name: tokenizer_for(name, "en").fingerprint() for name in WORDS}

    before = fingerprints()
    source = inspect.getsource
    monkeypatch.setattr(inspect, "getsource", lambda m: source(m) + "\nnew = 1" * (m is module))
    after = fingerprints()
    assert {name for name in WORDS if before[name] != after[name]} == changed


def test_a_fingerprint_changes_with_the_tables(monkeypatch):
    before = MosesTokenizer("en").fingerprint(), WhitespaceTokenizer("en").fingerprint()
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path, *how: read(path, *how) + "# new")
    assert MosesTokenizer("en").fingerprint() != before[0]
    assert WhitespaceTokenizer("en").fingerprint() == before[1]


def test_a_fingerprint_changes_with_tensorflow(monkeypatch):
    before = WhitespaceTokenizer("en").fingerprint()
    monkeypatch.setattr(tf.version, "VERSION", "3.0.0")
    assert WhitespaceTokenizer("en").fingerprint() != before


def test_special_tokens_in_a_text_are_unknown_words(tmp_path):
    vocabulary = Vocabulary(["<pad>", "</s>", "[UNK]", "a"])
    vocabulary.save(tmp_path / "v")
    side = TextVectorizer(WhitespaceTokenizer("en"), tmp_path / "v")
    ids = side.ids(side.read(tf.constant(["a </s> <pad> [UNK] b a"]), 9))
    assert ids.to_list() == [[3, 2, 2, 2, 2, 3, 1]]
    assert vocabulary.encode(["a", "</s>", "<pad>", "[UNK]", "b", "a"]) == ids.to_list()[0]


def test_another_vocabulary_at_the_same_path(tmp_path):
    for word in ("a", "b"):
        Vocabulary(["<pad>", "</s>", "[UNK]", word]).save(tmp_path / "v")
        side = TextVectorizer(WhitespaceTokenizer("en"), tmp_path / "v")
        assert side.ids(tf.ragged.constant([[word]])).to_list() == [[3, 1]]
        assert side.spell(tf.constant([3], tf.int64)).numpy() == [word.encode()]


def test_the_last_word_of_a_file_without_a_last_line_end(tmp_path):
    (tmp_path / "v").write_text("<pad>\n</s>\n[UNK]\na\nb", "utf-8")
    side = TextVectorizer(WhitespaceTokenizer("en"), tmp_path / "v")
    ids = side.ids(side.read(tf.constant(["b a"]), 9))
    assert ids.to_list() == [[4, 3, 1]]
    assert side.tokens(ids[:, :-1]).to_list() == [[b"b", b"a"]]
