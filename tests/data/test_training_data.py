"""What a training run is told of its text, and how long translations may be."""

import io

import pytest
import sentencepiece

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.training_data import TrainingData
from rnnsearch_tf.text.subwords import learn_subwords

WORDS = Config(tokenizer="whitespace", training=TrainingConfig(max_length=9))


@pytest.mark.parametrize(
    ("tokens", "most"), [(1, 3.0), (2, 3.0), (3, 5.0), (7, 9.0), (20, 3.0)], ids=str
)
def test_a_translation_may_be_as_long_as_those_of_the_text(tmp_path, tokens, most):
    """The mean counts; 20 tokens are too many to train on."""
    text = ParallelText(["a", "a", "b"], ["x", " ".join("x" * tokens), " ".join("x" * tokens)])
    data = TrainingData(WORDS, text, tmp_path)
    assert data.config.decoding.max_length_ratio == pytest.approx(most)
    said = [hint for hint in data.hints() if "max_length_ratio" in hint]
    assert len(said) == (most > 3)


def test_there_is_a_limit_to_how_long(tmp_path):
    config = Config(tokenizer="whitespace", training=TrainingConfig(max_length=999))
    data = TrainingData(config, ParallelText(["a"] * 2, [" ".join("x" * 998)] * 2), tmp_path)
    assert data.config.decoding.max_length_ratio == 1_000


def test_pairs_that_are_too_long_are_told(tmp_path):
    text = ParallelText(["a"] * 8, [*["x"] * 7, " ".join("x" * 10)])
    [hint] = TrainingData(WORDS, text, tmp_path).hints()
    assert hint == "12% of the pairs are too long: a larger --max_length keeps more of them"


def without_bytes(lines: list[str], size: int) -> bytes:
    """Learn subwords as SentencePiece does by default."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, hard_vocab_limit=False
    )
    return model.getvalue()


@pytest.mark.parametrize(("learn", "share"), [(learn_subwords, 75), (without_bytes, 50)])
def test_a_script_that_the_subwords_lack_is_told(tmp_path, learn, share):
    (tmp_path / "en.spm").write_bytes(learn(["the students read"] * 9, 290))
    config = Config(tokenizer="sentencepiece", subwords=290)
    text = ParallelText(["the students"] * 2, ["学"] * 2)
    data = TrainingData(config, text, tmp_path / "cache", subwords=[tmp_path / "en.spm"])
    assert "sentencepiece, vocabularies" in str(data) and f"bytes 0.0% and {share}.0%" in str(data)
    [hint] = data.hints()
    assert hint.startswith(f"{share}% of the target's tokens are unknown or single bytes")
