"""Subwords: text of any language and script as pieces of words, by SentencePiece."""

import hashlib
import io
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import MOSES_LANGUAGES
from rnnsearch_tf.errors import InputError, first_line, input_errors, until_error
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.files import temporary_folder
from rnnsearch_tf.text.canonical_composition import composition_rules
from rnnsearch_tf.text.cleaning import clean
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.subword_model_pb2 import SubwordModel
from rnnsearch_tf.text.unspaced import UNSPACED
from rnnsearch_tf.text.vocabulary import EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary
from rnnsearch_tf.text.word_tokenizer import Tokenizer, WhitespaceTokenizer
from rnnsearch_tf.tf_functions import graph_method

_TOKENS = tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)
_LONGEST_LINE = 1 << 24  # bytes; SentencePiece leaves out longer lines; its default is 4,192
BLANK = "▁"  # a space, in a piece
BYTE = re.compile("<0x[0-9A-F]{2}>")  # a piece that is a byte of a character
_UNSPACED_MARK = "[\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"  # 、：
_COMMON_MARKS = '["“”‘’()…—]*'  # of scripts with and without spaces
_OTHER_START = r"[\p{L}\p{N}].*|" + BYTE.pattern  # of a word after a script without spaces
_OTHER_SPECIAL_PIECES = ("<unk>", "<s>")  # of models that were learned elsewhere


class _Model(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model in TensorFlow, which stays until the process or the session ends.

    That of tensorflow-text is freed with a cache of TensorFlow's, which `tf.random.set_seed` and
    `keras.utils.set_random_seed` clear: a tokenizer would fail from then on. This one is found by
    its name, so no operation owns it.
    """

    def __init__(self, model: bytes, name: str):
        super().__init__()
        self._graph = tf.compat.v1.GraphDef()
        node = self._graph.node.add(name="model", op="SentencepieceOp")
        node.attr["model"].s, node.attr["shared_name"].s = model, name.encode()

    def _create_resource(self) -> tf.Tensor:
        def imported() -> tf.Tensor:
            return tf.graph_util.import_graph_def(self._graph, return_elements=["model:0"])[0]

        # Not a `tf.function`, which a program may run eagerly.
        return tf.compat.v1.wrap_function(imported, [])()


class SentencePieceTokenizer(Tokenizer):
    """Splits lines into the most probable pieces of a unigram model (Kudo 2018).

    Characters that the model lacks are read and written as bytes, `<0xE2>` for one, where the model
    was learned with byte fallback, as those of `learn_subwords` are. The operations are
    tensorflow-text's: a SavedModel with them runs where these are linked or loaded.

    ValueError for what is not the content of a SentencePiece model file; InputError where
    tensorflow-text or sentencepiece is not installed.
    """

    def __init__(self, language: str, model: bytes):
        require_package("tensorflow_text")
        require_package("sentencepiece")
        import sentencepiece
        import tensorflow_text

        super().__init__(name="sentencepiece_tokenizer")
        self.language = language
        self.model = model
        self._data = self.digest
        # Moses' rules where they know the language.
        has_rules = language in MOSES_LANGUAGES
        self._of_words = MosesTokenizer(language) if has_rules else _OtherWords(language)
        try:
            # It refuses what crashes tensorflow-text, whose SentencePiece is older.
            sentencepiece.SentencePieceProcessor(model_proto=model)
            self._pieces = tensorflow_text.SentencepieceTokenizer(model, out_type=tf.string)
            # In a SavedModel, tokenizers of one name would all be the first one.
            self._pieces._model_resource = _Model(model, f"sentencepiece_{self.digest}")
            self._pieces.vocab_size()
        except (tf.errors.OpError, ValueError, RuntimeError) as error:
            raise ValueError("not a SentencePiece model") from error

    @classmethod
    def load(cls, language: str, path: Path, digest: str = "") -> "SentencePieceTokenizer":
        """Read a model file; `digest` is its expected SHA-256, in hexadecimal.

        InputError if it cannot be read, is not a SentencePiece model or has another digest, or if
        tensorflow-text or sentencepiece is not installed.
        """
        with input_errors(path):
            model = path.read_bytes()
            if digest not in ("", hashlib.sha256(model).hexdigest()):
                raise ValueError("not the SentencePiece model this model was made with")
            return cls(language, model)

    @property
    def word_tokenizer(self) -> Tokenizer:
        """The tokenizer of words: by Moses' rules, or as `_OtherWords`."""
        return self._of_words

    @property
    def digest(self) -> str:
        """SHA-256 of the model file, in hexadecimal."""
        return hashlib.sha256(self.model).hexdigest()

    def vocabulary(self) -> Vocabulary:
        """Return the model's pieces, behind the special tokens."""
        ids = tf.range(self._pieces.vocab_size())
        pieces = [piece.decode() for piece in self._pieces.id_to_string(ids).numpy()]
        special = (*SPECIAL_TOKENS, *_OTHER_SPECIAL_PIECES)
        # A line has no line break, and the vocabulary's file has a token per line.
        own = (piece for piece in pieces if piece not in special and piece.splitlines() == [piece])
        return Vocabulary([*SPECIAL_TOKENS, *own])

    def word_starts(self) -> np.ndarray:
        """Say which tokens of the vocabulary begin a word of the raw text, bool [K].

        InputError for a model with pieces of more than one word.
        """
        tokens = self.vocabulary().tokens
        if cross_spaces(tokens):
            raise InputError(
                "pieces of this SentencePiece model cross spaces, so words cannot be told apart"
            )
        return np.array([token.startswith(BLANK) for token in tokens])

    @graph_method(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Split lines, string [B], into pieces, string [B, None]; a blank line has none."""
        return self._pieces.tokenize(clean(text))

    @graph_method(input_signature=[_TOKENS])
    def detokenize(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Join pieces, string [B, None], into lines, string [B]."""
        return self._pieces.detokenize(tokens)

    @graph_method(input_signature=[_TOKENS])
    def word_numbers(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Number the words that pieces, string [B, None], belong to, from 0: int64 [B, None].

        A word begins with a space. In scripts without spaces, each piece that does not begin with a
        mark begins a word; after these scripts and their punctuation, so do letters and digits of
        others, and bytes.
        """
        pieces = tokens.flat_values
        before = tf.concat([[""], pieces[:-1]], axis=0)[: tf.size(pieces)]
        starts = tf.strings.regex_full_match(pieces, f"{BLANK}.*")
        is_unspaced = tf.strings.regex_full_match(pieces, f"{UNSPACED}.*")
        has_letter = ~tf.strings.regex_full_match(pieces, r"\p{M}.*")
        starts |= is_unspaced & has_letter & tf.not_equal(before, BLANK)
        place = tf.ragged.range(tokens.row_lengths()).flat_values
        two_before = tf.strings.join([tf.where(place < 2, "", tf.roll(pieces, 2, 0)), before])
        is_after_unspaced = tf.strings.regex_full_match(
            two_before, f".*({UNSPACED}|{_UNSPACED_MARK}){_COMMON_MARKS}"
        )
        starts |= is_after_unspaced & tf.strings.regex_full_match(pieces, _OTHER_START)
        numbers = tokens.with_flat_values(tf.cumsum(tf.cast(starts, tf.int64)))
        first = tf.concat([[0], numbers.flat_values], axis=0)
        first = tf.gather(first, tf.minimum(tokens.row_starts() + 1, tf.size(pieces, tf.int64)))
        return numbers.with_flat_values(
            numbers.flat_values - tf.gather(first, tokens.value_rowids())
        )

    @graph_method(input_signature=[_TOKENS])
    def words(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Join pieces, string [B, None], to words, string [B, None], none of them empty."""
        numbers = self.word_numbers(tokens)
        counts = tf.maximum(tf.reduce_max(numbers, axis=1) + 1, 0)
        before = tf.gather(tf.cumsum(counts, exclusive=True), tokens.value_rowids())
        pieces = tf.RaggedTensor.from_value_rowids(
            tokens.flat_values, numbers.flat_values + before, tf.reduce_sum(counts)
        )
        # A model without a dummy prefix keeps the space before a word.
        words = tf.strings.strip(self._pieces.detokenize(pieces))
        return tf.RaggedTensor.from_row_lengths(tf.where(tf.equal(words, ""), BLANK, words), counts)


class _OtherWords(WhitespaceTokenizer):
    """Splits lines at whitespace, and around each character of a script without spaces."""

    def __init__(self, language: str) -> None:
        super().__init__(language, "whitespace_and_characters_tokenizer")  # in signatures of BLEU

    @graph_method(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Split each line, string [B], into words, string [B, None]; a blank line has none."""
        return tf.strings.split(tf.strings.regex_replace(clean(text), f"({UNSPACED})", r" \1 "))


def ids_of_the_unknown(vocabulary: Vocabulary) -> list[int]:
    """Return the ids of what stands for text that a vocabulary lacks: [UNK], and single bytes."""
    return [UNK, *(i for i, token in enumerate(vocabulary.tokens) if BYTE.fullmatch(token))]


def cross_spaces(pieces: Iterable[str]) -> bool:
    """Whether one of the pieces is of more than one word."""
    return any(BLANK in piece[1:] for piece in pieces)


def learn_subwords(lines: Iterable[str], size: int) -> bytes:
    """Learn a unigram subword model with byte fallback: the content of its file.

    `size` is K, the pieces with the special tokens and the 256 bytes.

    These options differ from SentencePiece's defaults: byte fallback; ids 0 to 2 are padding,
    `</s>` and [UNK], and there is no `<s>`; `size` is an upper limit, for texts with fewer pieces;
    text is normalized by `composition_rules`, not by NFKC; long lines are not left out.
    InputError if `size` is too small for the characters of the text, or the text is empty.
    """
    import sentencepiece

    model = io.BytesIO()
    errors: list[Exception] = []
    try:
        with temporary_folder() as folder:  # SentencePiece computes through a forced end
            rules = folder / "rules.tsv"
            rules.write_text(composition_rules(), "utf-8")
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=until_error(lines, errors),
                model_writer=model,
                vocab_size=size,
                hard_vocab_limit=False,
                byte_fallback=True,
                normalization_rule_tsv=str(rules),
                max_sentence_length=_LONGEST_LINE,
                pad_id=PAD,
                eos_id=EOS,
                unk_id=UNK,
                bos_id=-1,
                pad_piece=SPECIAL_TOKENS[PAD],
                eos_piece=SPECIAL_TOKENS[EOS],
                unk_piece=SPECIAL_TOKENS[UNK],
                minloglevel=3,
            )
    except (RuntimeError, OSError) as error:
        if not errors:
            reason = _reason(error)
            raise InputError(f"{size:,} subwords cannot be learned: {reason}") from error
    if errors:
        raise errors[0]
    learned = SubwordModel.FromString(model.getvalue())
    # The path of a temporary file; without it, models of equal texts are equal.
    learned.normalizer_spec.ClearField("normalization_rule_tsv")
    return learned.SerializeToString(deterministic=True)


def _reason(error: Exception) -> str:
    """Say in our words why SentencePiece refuses."""
    message = str(error)
    if counts := re.search(r"required_chars\. \d+ vs (\d+)", message):
        return f"the characters of the text take {int(counts[1]):,}"
    is_empty = "sentences_.empty()" in message or "(all_chars_count) > (0)" in message
    return "the text is empty" if is_empty else first_line(error)
