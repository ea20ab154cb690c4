"""Subwords: any text goes through and comes back, and pieces know their words."""

import io
import struct

import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.words import Side, alignment_of_words
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.subword_model_pb2 import SubwordModel
from rnnsearch_tf.text.subwords import SentencePieceTokenizer, learn_subwords
from rnnsearch_tf.text.typography import reading_plain_forms
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer

TEXT = ["The man is here.", "It is cold.", "The men are not here, are they?", "ראש השנה"] * 20
LINES = ["The man  ☃ is </s> here.", "", "日本語テキスト。", "שלום", "\x00a\u00a0b", "<0x41> [UNK]"]


@pytest.fixture(scope="module")
def model() -> bytes:
    return learn_subwords(iter(TEXT), 320)


@pytest.fixture(scope="module")
def tokenizer(model) -> SentencePieceTokenizer:
    return SentencePieceTokenizer("en", model)


def decoded(rows: tf.RaggedTensor) -> list:
    return [[token.decode() for token in row] for row in rows.to_list()]


def test_a_new_seed_leaves_tokenizers_alone(tokenizer):
    before = decoded(tokenizer.tokenize(tf.constant(LINES)))
    other = SentencePieceTokenizer("en", learn_subwords(iter(["Il fait froid."] * 20), 280))
    tf.random.set_seed(1)  # TensorFlow frees its cache of kernels
    assert decoded(tokenizer.tokenize(tf.constant(LINES))) == before
    assert tokenizer.vocabulary().tokens != other.vocabulary().tokens


def test_functions_may_run_eagerly(tokenizer, model):
    tf.config.run_functions_eagerly(True)
    try:
        again = SentencePieceTokenizer("en", model).tokenize(tf.constant(LINES))
    finally:
        tf.config.run_functions_eagerly(False)
    assert decoded(again) == decoded(tokenizer.tokenize(tf.constant(LINES)))


def test_any_text_comes_back(tokenizer):
    pieces = tokenizer.tokenize(tf.constant(LINES))
    texts = [text.decode() for text in tokenizer.detokenize(pieces).numpy()]
    assert texts == [
        "The man ☃ is </s> here.",
        "",
        "日本語テキスト。",
        "שלום",
        "a b",
        "<0x41> [UNK]",
    ]


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("10⁶ km², 2½ … ﬁ", "10⁶ km², 2½ … ﬁ"),
        ("你好，世界！（好）", "你好，世界！（好）"),
        ("می\u200cروم น้ำ ทำ", "می\u200cروم น้ำ ทำ"),
        ("Vie\u0323\u0302t, Vi\u00ea\u0323t, Vie\u0302\u0323t", "Việt, Việt, Việt"),
        ("e\u0301te\u0301 \u212b \u0958", "été Å \u0915\u093c"),
        ("amend\u00adment\ufeff to\u2060o \u2067a\u200bb\u2069", "amendment too ab"),
        (
            "e\u0301\u0323 \u00e9\u0323 o\u0329\u0301 a\u0301\u0328",
            "\u1eb9\u0301 " * 2 + "\u00f3\u0329 \u0105\u0301",
        ),
        ("t\u0301\u0323 i\u0325\u0328", "\u1e6d\u0301 \u012f\u0325"),
        ("\u0645\u0651\u064e \u0627\u064e\u0654", "\u0645\u064e\u0651 \u0623\u064e"),
        ("\u05dc\u05bc\u05b7 \u0e01\u0e48\u0e38", "\u05dc\u05b7\u05bc \u0e01\u0e38\u0e48"),
    ],
)
def test_text_is_composed_and_nothing_else(tokenizer, line, read):
    [text] = tokenizer.detokenize(tokenizer.tokenize(tf.constant([line]))).numpy()
    assert text.decode() == read


def test_typographic_characters_are_read_as_plain_ones_if_the_text_had_only_these():
    model = learn_subwords(['"It\'s off-air..." – œ'] * 9, 290)  # of – and œ, these alone
    tokenizer = SentencePieceTokenizer("en", reading_plain_forms(model))
    lines = tf.constant(["‘It’s’ “of„ «f»… a–i — r—r, ﬁ œ Œ ☃"])
    [read] = tokenizer.detokenize(tokenizer.tokenize(lines)).numpy()
    assert read.decode() == '\'It\'s\' "of" "f"... a–i - r—r, fi œ Œ ☃'


def test_a_piece_with_a_line_break_is_left_out(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, vocab_size=60, hard_vocab_limit=False,
        user_defined_symbols=["\n"], minloglevel=3,
    )  # fmt: skip
    vocabulary = SentencePieceTokenizer("en", model.getvalue()).vocabulary()
    vocabulary.save(tmp_path / "source.vocab")
    assert Vocabulary.load(tmp_path / "source.vocab").tokens == vocabulary.tokens


def test_no_piece_is_unknown_nor_special(tokenizer):
    vocabulary = tokenizer.vocabulary()
    assert vocabulary.tokens[: len(SPECIAL_TOKENS)] == list(SPECIAL_TOKENS)
    for row in decoded(tokenizer.tokenize(tf.constant(LINES))):
        assert vocabulary.unknown([*row, "</s>"]) == ()
        assert not set(row) & set(SPECIAL_TOKENS)


def test_words_are_parted_by_blanks_and_unspaced_scripts_by_pieces(tokenizer):
    pieces = tf.ragged.constant(
        [
            ["▁", "h", "e", "▁", "m", "a", "n", "."],
            [],
            ["▁", "<0xE2>", "<0x98>", "<0x83>", "▁", "a"],
            ["▁", "日", "本", "。", "▁", "▁", "t"],
            ["a", "n", "▁"],
            ["▁", "在", "G", "o", "工", "2", "0", "年", "<0xE2>", "<0x98>", "作", "."],
            ["▁", "น", "ำ", "ก", "\u0e48", "\u0e47น"],  # marks are no words
            ["▁", "如", "：", "A", "b", "、", "1", "Ｆ", "ｇ"],
            ["▁", "说", "“", "A", "”", "。”", "B", "(", "c"],
            ["(", "a", ")", "▁", "“", "b", "”", "c"],
        ]
    ).with_row_splits_dtype(tf.int64)
    numbers = tokenizer.word_numbers(pieces)
    assert numbers.to_list() == [
        [0, 0, 0, 1, 1, 1, 1, 1],
        [],
        [0, 0, 0, 0, 1, 1],
        [0, 0, 1, 1, 2, 3, 3],
        [0, 0, 1],
        [0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6],
        [0, 0, 1, 2, 2, 2],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
        [0, 0, 0, 1, 1, 1, 2, 2, 2],
        [0, 0, 0, 1, 1, 1, 1, 1],
    ]
    assert decoded(tokenizer.words(pieces)) == [
        ["he", "man."], [], ["☃", "a"], ["日", "本。", "▁", "t"], ["an", "▁"],
        ["在", "Go", "工", "20", "年", "\ufffd\ufffd", "作."], ["น", "ำ", "ก\u0e48\u0e47น"],
        ["如：", "Ab、", "1Ｆｇ"], ["说“", "A”。”", "B(c"], ["(a)", "“b”c"],
    ]  # fmt: skip
    nothing = tf.ragged.constant([[]], tf.string).with_row_splits_dtype(tf.int64)
    assert tokenizer.words(nothing).to_list() == tokenizer.word_numbers(nothing).to_list() == [[]]


def test_words_of_a_model_that_keeps_spaces():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, vocab_size=50, hard_vocab_limit=False,
        add_dummy_prefix=False, remove_extra_whitespaces=False, minloglevel=3,
    )  # fmt: skip
    tokenizer = SentencePieceTokenizer("en", model.getvalue())
    assert decoded(tokenizer.words(tokenizer.tokenize(["It is it"]))) == [["It", "is", "it"]]


def test_words_and_those_with_an_unknown_piece(tokenizer):
    vocabulary = tokenizer.vocabulary()
    known = vocabulary.tokens[-1]
    [words] = Side(tokenizer, vocabulary).words([["▁", "a", "▁", "ß", "▁", known]])
    assert words.unknown == (1,)
    assert words.words[:2] == ("a", "ß")
    assert words.words[-1] == "</s>"


def test_alignment_of_words_sums_over_sources_and_averages_over_targets():
    source, target = [0, 0, 1], [0, 1, 1]
    weights = np.random.default_rng(1).dirichlet(np.ones(4), size=4).astype(np.float32)  # [4, 4]
    ragged = [tf.RaggedTensor.from_row_lengths(x, [3, 0]) for x in (source, target)]
    batch = np.zeros([2, 4, 4], np.float32)
    batch[0], batch[1, 0, 0] = weights, 1  # of a blank, `</s>` alone
    result = alignment_of_words(tf.constant(batch), *ragged).numpy()
    columns = np.stack([weights[:, 0] + weights[:, 1], weights[:, 2], weights[:, 3]], axis=1)
    rows = np.stack([columns[0], (columns[1] + columns[2]) / 2, columns[3]])
    np.testing.assert_allclose(result[0], rows, rtol=1e-6)
    assert result[1, 0, 0] == 1
    assert result[1].sum() == 1


def test_pieces_that_begin_words(tokenizer, monkeypatch):
    tokens = tokenizer.vocabulary().tokens
    starts = tokenizer.word_starts()
    assert [tokens[i] for i in np.flatnonzero(starts)] == [t for t in tokens if t[0] == "▁"]
    monkeypatch.setattr(tokenizer, "vocabulary", lambda: Vocabulary([*SPECIAL_TOKENS, "▁a▁b"]))
    with pytest.raises(InputError, match="cross spaces"):
        tokenizer.word_starts()


def test_words_of_people(tokenizer, model):
    assert isinstance(tokenizer.word_tokenizer, MosesTokenizer)
    others = SentencePieceTokenizer("de", model).word_tokenizer
    assert decoded(others.tokenize(tf.constant(["Guten Tag ไป"]))) == [["Guten", "Tag", "ไ", "ป"]]
    assert others.name != WhitespaceTokenizer("de").name  # they stand in signatures


def test_fingerprints_differ_by_model(tokenizer):
    other = SentencePieceTokenizer("en", learn_subwords(TEXT[:1], 300))
    assert tokenizer.fingerprint() != other.fingerprint()
    assert tokenizer.fingerprint() == SentencePieceTokenizer("en", tokenizer.model).fingerprint()


def test_models_of_equal_texts_are_equal():
    assert learn_subwords(TEXT, 320) == learn_subwords(TEXT, 320)


def test_model_files_are_read_as_sentencepiece_reads_them(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = SubwordModel.FromString(model).pieces
    numbers = range(len(processor))
    assert [piece.piece for piece in pieces] == [processor.id_to_piece(i) for i in numbers]
    assert [piece.score for piece in pieces] == [processor.get_score(i) for i in numbers]
    assert [piece.type == piece.BYTE for piece in pieces] == [processor.is_byte(i) for i in numbers]


def failing_lines():
    yield "a b"
    raise InputError("line 2 is broken")


@pytest.mark.parametrize(
    ("lines", "size", "message"),
    [
        ([], 400, "400 subwords cannot be learned: the text is empty"),
        (["\u200b\u00ad"], 400, "400 subwords cannot be learned: the text is empty"),
        (TEXT, 265, "265 subwords cannot be learned: the characters of the text take 28[0-9]"),
        (failing_lines(), 400, "^line 2 is broken"),
    ],
)
def test_what_cannot_be_learned(lines, size, message):
    with pytest.raises(InputError, match=message):
        learn_subwords(lines, size)


def test_long_lines_are_learned_from():
    model = learn_subwords(["ü" * 3_000, "ö" * 3_000], 264)
    assert all(f"{letter}".encode() in model for letter in "üö")


def test_models_that_cannot_be_read(tmp_path, model):
    path = tmp_path / "source.spm"
    with pytest.raises(InputError, match=r"source\.spm: No such file"):
        SentencePieceTokenizer.load("en", path)
    path.write_bytes(model[:1000])
    with pytest.raises(InputError, match=r"source\.spm: not a SentencePiece model"):
        SentencePieceTokenizer.load("en", path)
    path.write_bytes(model)
    with pytest.raises(InputError, match=r"source\.spm: not the SentencePiece model this model"):
        SentencePieceTokenizer.load("en", path, "0" * 64)


def test_a_model_that_crashes_tensorflow_text_is_refused_before(model):
    """A piece of 300,000 letters: the SentencePiece in tensorflow-text writes past its buffer."""
    piece = protobuf_field(1, b"a" * 300_000) + b"\x15" + struct.pack("<f", -1.0)
    with pytest.raises(ValueError, match="not a SentencePiece model"):
        SentencePieceTokenizer("en", model + protobuf_field(1, piece))


def protobuf_field(number: int, content: bytes) -> bytes:
    """Write a field of a length."""
    length, size = bytearray(), len(content)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def test_a_missing_package_is_named(monkeypatch, model):
    monkeypatch.setattr("rnnsearch_tf.extras.is_installed", lambda name: False)
    with pytest.raises(InputError, match=r'pip install "rnnsearch-tf\[subwords\] @ git\+'):
        SentencePieceTokenizer("en", model)
