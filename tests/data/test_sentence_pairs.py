"""Text in memory to ids."""

import numpy as np
from known_pairs import lists

from rnnsearch_tf.data.sentence_pairs import to_sentences, tokenize
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

ENGLISH, FRENCH = MosesTokenizer("en"), MosesTokenizer("fr")


def test_unknown_words_are_2_and_each_sentence_ends_in_1():
    tokens: list[list[str | bytes]] = [["a", "zebra", b"b"], [], ["é", "[UNK]"]]
    sentences = to_sentences(tokens, Vocabulary([*SPECIAL_TOKENS, "a", "b", "é"]))
    ids = sentences.batch(np.arange(3))
    assert ids.tolist() == [[3, 2, 4, 1], [1, 0, 0, 0], [5, 2, 1, 0]]
    assert ids.dtype == np.int32
    assert len(sentences) == 3


def test_a_batch_has_its_rows_in_the_order_asked_for():
    sentences = to_sentences([["a"], [], ["b", "a"]], Vocabulary([*SPECIAL_TOKENS, "a", "b"]))
    assert lists(sentences.batch(np.array([2, 0, 2]))) == [[4, 3], [3], [4, 3]]
    assert sentences.batch(np.array([1])).tolist() == [[1]]
    assert sentences.batch(np.array([0]), width=4).tolist() == [[3, 1, 0, 0]]
    assert sentences.batch(np.array([2]), width=2).tolist() == [[4, 3, 1]]


def test_more_lines_than_are_tokenized_at_once_keep_their_order():
    lines = [f"line {i}" for i in range(4001)]
    tokens = tokenize(lines, ENGLISH)
    assert tokens.flat_values.numpy()[1::2].tolist() == [str(i).encode() for i in range(4001)]


def test_no_lines_have_no_tokens():
    assert tokenize([], ENGLISH).to_list() == []
