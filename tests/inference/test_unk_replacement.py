"""[UNK] becomes the attended source word's translation, or that word; never `</s>`."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.alignment.lexicon import learn_lexicon, write_lexicon
from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.loading import load_text_model, vectorizers_for
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.inference.unk_replacement import UnkReplacement
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.results import Alignment

pytestmark = pytest.mark.slow

SOURCE = tf.ragged.constant([["Ms", "Aït", "left"], [], ["the", "ibex"]], tf.string, ragged_rank=1)
TARGET = tf.ragged.constant(
    [["Mme", "[UNK]", "partit", "[UNK]"], [], ["[UNK]", "[UNK]", "ici"]], tf.string, ragged_rank=1
)
WEIGHTS = np.zeros([3, 5, 4], np.float32)
WEIGHTS[0, 1] = [0.1, 0.3, 0.0, 0.6]  # most on </s>, which is skipped
WEIGHTS[0, 3] = [0.2, 0.1, 0.7, 0.0]
WEIGHTS[2, 0] = [0.1, 0.9, 0.0, 0.0]
WEIGHTS[2, 1] = [0.3, 0.2, 0.5, 0.0]


def words(lexicon) -> list[list[str]]:
    replaced = UnkReplacement(lexicon).replace(TARGET, SOURCE, SOURCE, lambda: tf.constant(WEIGHTS))
    return [[word.decode() for word in row] for row in replaced.to_list()]


def test_the_attended_word_is_copied():
    assert words(None) == [["Mme", "Aït", "partit", "left"], [], ["ibex", "the", "ici"]]


def test_or_translated_where_the_lexicon_has_it(tmp_path):
    write_lexicon(tmp_path / "lexicon.tsv", {"ibex": ("bouquetin",), "Ms": ("Mme", "Madame")})
    replaced = words(tmp_path / "lexicon.tsv")
    assert replaced == [["Mme", "Aït", "partit", "left"], [], ["bouquetin", "the", "ici"]]
    write_lexicon(tmp_path / "lexicon.tsv", {"ibex": ("bouquetin",), "the": ("les",)})
    assert words(tmp_path / "lexicon.tsv")[2] == ["bouquetin", "les", "ici"]


def test_what_was_given_is_copied_and_what_was_read_translated(tmp_path):
    write_lexicon(tmp_path / "lexicon.tsv", {"ibex": ("bouquetin",)})
    given = SOURCE.with_flat_values(tf.constant(["Ms", "Äit", "left", "the", "ibxe"]))
    replaced = UnkReplacement(tmp_path / "lexicon.tsv").replace(
        TARGET, SOURCE, given, lambda: tf.constant(WEIGHTS)
    )
    expected = [["Mme", "Äit", "partit", "left"], [], ["bouquetin", "the", "ici"]]
    assert [[word.decode() for word in row] for row in replaced.to_list()] == expected


def test_a_blank_sentence_has_no_word_for_it():
    blank = tf.ragged.constant([[], [], []], tf.string, ragged_rank=1)
    replaced = UnkReplacement(None).replace(
        TARGET, blank, blank, lambda: tf.constant(WEIGHTS[:, :, :1])
    )
    assert replaced.to_list() == TARGET.to_list()


def test_nothing_is_aligned_where_all_is_known():
    def alignment() -> tf.Tensor:
        tf.debugging.Assert(False, ["aligned"])
        return tf.constant(WEIGHTS)

    known = tf.ragged.constant([["a"], [], ["b"]], tf.string, ragged_rank=1)
    replace = tf.function(lambda: UnkReplacement(None).replace(known, SOURCE, SOURCE, alignment))
    assert replace().to_list() == [[b"a"], [], [b"b"]]


def alignment(source: str, target: str, links: list[int]) -> Alignment:
    x, y = (*source.split(), "</s>"), (*target.split(), "</s>")
    weights = np.zeros([len(y), len(x)], np.float32)
    weights[np.arange(len(y)), [*links, len(x) - 1]] = 1
    return Alignment(x, y, weights)


def test_a_lexicon_has_what_is_linked_most():
    lexicon = learn_lexicon(
        [
            alignment("the cat", "le chat", [0, 1]),
            alignment("the dog", "le chien", [0, 1]),
            alignment("the cats", "les chats gris", [0, 1, 2]),  # "gris" looks at </s>
            alignment("the cat", "la chatte", [0, 1]),
            alignment("the cat", "la chatte", [0, 1]),
            alignment("a cat", "un chat", [0, 1]),
        ]
    )
    # "le" and "la", "chat" and "chatte" are linked twice each: the first in code point order. What
    # is linked once replaces no [UNK].
    assert lexicon == {
        "the": ("la", "le", "les"), "cat": ("chat", "chatte"), "dog": ("", "chien"),
        "cats": ("", "chats"), "a": ("", "un"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a\tb\nc\n", "line 2 is not word, tab, word"),
        (b"a\tb\r\n", "line 1 has a Windows line end"),
        (b"\xef\xbb\xbfa\tb\n", "line 1 has a byte order mark"),
        (b"a\t\n", "line 1 is not"),
        (b"a\tb\n\n", "line 2 is not"),
        (b"a\tb\t\tc\n", "line 1 is not"),
        (b"a\tb\t\n", "line 1 is not"),
        (b"a\tb\na\tc\n", "line 2: a occurs twice"),
        (b"a\t\xff\n", "not UTF-8"),
        (None, "No such file or directory"),
    ],
)
def test_what_is_no_lexicon_is_told_with_its_line(tmp_path, content, said):
    path = tmp_path / "lexicon.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=rf"lexicon\.tsv: {said}"):
        UnkReplacement(path)


def test_an_empty_lexicon_has_no_words(tmp_path):
    (tmp_path / "lexicon.tsv").write_bytes(b"")
    assert words(tmp_path / "lexicon.tsv") == words(None)


def test_a_lexicon_is_written_line_by_line(tmp_path):
    write_lexicon(tmp_path / "l", {"b": ("é",), "a": ("", "x", "y")})
    assert (tmp_path / "l").read_text("utf-8") == "a\t\tx\ty\nb\té\n"
    with pytest.raises(InputError, match=r"none/l: cannot be written: No such file"):
        write_lexicon(tmp_path / "none" / "l", {})


SENTENCES = ["The man will eat.", "She has seen the old cat in Paris.", "  ", "Zork is cold."]
IN_CAPITALS = {word: word.upper() for word in " ".join(SENTENCES).split() if word.islower()}
SEARCH = DecodingConfig(beam_size=2, max_length_ratio=2.0)
REPLACING = dataclasses.replace(SEARCH, replace_unknown=True)


def with_options(text_model: TextModel, decoding: DecodingConfig, lexicon=None) -> TextModel:
    """The same weights with other options."""
    config = dataclasses.replace(text_model.config, decoding=decoding)
    assert isinstance(text_model.model, TranslationModel)
    vectorizers = text_model.source, text_model.target
    return TextModel([text_model.model], config, *vectorizers, lexicon=lexicon)


def write_unknown(text_model: TextModel, nats: float) -> None:
    """Add to the logit of [UNK]."""
    assert isinstance(text_model.model, TranslationModel)
    bias = text_model.model.readout.b
    bias.assign(bias.value + nats * tf.one_hot(2, bias.shape[0]))


@pytest.fixture(scope="module")
def writes_unknown(model_dir) -> TextModel:
    """The search's translations, all of whose known words but a few are made unlikely."""
    model = load_text_model(model_dir, SEARCH)
    write_unknown(model, 4)
    return model


def test_that_there_is_no_lexicon_is_told(model_dir, capsys):
    load_text_model(model_dir, REPLACING)
    assert "no lexicon, so source words replace [UNK]" in capsys.readouterr().err
    load_text_model(model_dir, SEARCH)
    assert "lexicon" not in capsys.readouterr().err


def test_in_the_graph_the_text_alone_changes(writes_unknown, tmp_path):
    translations = {word: (other,) for word, other in IN_CAPITALS.items()}
    write_lexicon(tmp_path / "lexicon.tsv", translations)
    replacing = with_options(writes_unknown, REPLACING, tmp_path / "lexicon.tsv")
    plain = Translator.of(writes_unknown).translate(SENTENCES, n_best=2, return_alignment=True)
    replaced = Translator.of(replacing).translate(SENTENCES, n_best=2)
    assert any("[UNK]" in result.text for result in plain)
    written = set()
    for before, after in zip(plain, replaced, strict=True):
        assert before.tokens == after.tokens
        assert before.score == pytest.approx(after.score, abs=1e-5)
        places = before.alignment[:, :-1].argmax(axis=1) if before.source.strip() else []
        read = [before.source_tokens[place] for place in places]
        expected = [
            IN_CAPITALS.get(word, word) if token == "[UNK]" else token
            for token, word in zip(before.tokens[:-1], read, strict=False)
        ]
        tokenizer = writes_unknown.target.tokenizer
        [text] = tokenizer.detokenize(tf.ragged.constant([expected], tf.string, ragged_rank=1))
        assert after.text == text.numpy().decode()
        written.update(after.text.split())
    copied = {word for one in plain for word in one.source_tokens if word.isalpha()}
    assert written & set(IN_CAPITALS.values()) and written & (copied - set(IN_CAPITALS))


def test_the_baseline_has_no_attention_to_do_it_by(model_dir):
    config = PRESETS["rnnencdec-tiny"]
    small = dataclasses.replace(
        config.model, source_vocabulary_size=5, target_vocabulary_size=5, hidden_size=3
    )
    model = TranslationModel(small)
    vectorizers = vectorizers_for(ModelDirectory(model_dir))
    with pytest.raises(InputError, match="which RNNencdec does not have"):
        TextModel([model], Config(decoding=REPLACING), *vectorizers)
