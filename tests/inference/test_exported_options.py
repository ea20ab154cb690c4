"""A SavedModel corrects spelling, replaces [UNK] and searches among candidate words in bfloat16."""

import dataclasses

import one_signature
import pytest
import tensorflow as tf
from test_spelling import CORRECTING, TYPED
from test_unk_replacement import with_options, write_unknown

from rnnsearch_tf.alignment.lexicon import write_lexicon
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.text_model import TextModel

pytestmark = pytest.mark.slow

OPTIONS = dataclasses.replace(CORRECTING, replace_unknown=True, candidate_words=10, bfloat16=True)


@pytest.fixture
def text_model(model_dir, tmp_path) -> TextModel:
    """A model that writes many [UNK], and a lexicon with a word of its own for each source word.

    It is prepared as an export is.
    """
    plain = load_text_model(model_dir)
    write_unknown(plain, 3)
    translations = {word: (f"{word}!",) for word in plain.source.vocabulary.tokens[3:]}
    write_lexicon(tmp_path / "lexicon.tsv", translations)
    changed = with_options(plain, OPTIONS, tmp_path / "lexicon.tsv")
    changed.prepare()
    return changed


def test_they_are_in_a_saved_model(text_model, tmp_path):
    align = one_signature.saved(text_model, "align", tmp_path / "export")
    (tmp_path / "lexicon.tsv").unlink()
    outputs = {name: value.numpy() for name, value in align(text=tf.constant(TYPED)).items()}
    texts = zip(outputs["translation"], outputs["target_tokens"].tolist(), strict=True)
    assert any(b"[UNK]" in tokens and b"!" in text for text, tokens in texts)
    assert not any(b"[UNK]" in text for text in outputs["translation"])
    frequent = {*text_model.target.vocabulary.tokens[: 3 + OPTIONS.candidate_words]}
    assert {token.decode() for token in outputs["target_tokens"].ravel()} <= {*frequent, ""}
    read = [b" ".join(row).decode().split() for row in outputs["model_input"]]
    assert [read[0], read[3]] == [
        ["The", "man", "will", "[UNK]", ".", "</s>"],
        ["[UNK]", "is", "cold", ".", "</s>"],
    ]
    assert outputs["left_out"].tolist() == [0, 0, 1, 0]
