"""A translator without a trained model: it answers in capital letters."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from rnnsearch_tf.config import WHITESPACE, Config, DecodingConfig
from rnnsearch_tf.inference import side_by_side
from rnnsearch_tf.inference.translator import LINES_AT_ONCE, Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts.shared.chosen_models import ChosenModels
from rnnsearch_tf.text.tokenizers import tokenizer_for
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

MAX_LENGTH = 50
# Words of the tests.
KNOWN = Vocabulary(
    [*SPECIAL_TOKENS, "line", "x", *(w + str(i) for i in range(1000) for w in ("", "w"))]
)


def answer(line: str) -> str:
    return line.upper()


class ScriptedEngine:
    """The functions of a `TextModel`.

    Attributes:
        windows: the lines of each search, so far.
        before: called with the number of each search, from 0, before it.
    """

    def __init__(self) -> None:
        self.windows: list[list[str]] = []
        self.before: Callable[[int], None] = lambda number: None
        self._counting = threading.Lock()

    def best(self, lines: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._found(lines, 1)

    def candidates(self, lines: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._found(lines, 2)

    def score_tokens(self, source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        """-0.25 for each word: those of the source are </s>'s."""
        self.before(len(self.windows))
        self.windows.append([b" ".join(row).decode() for row in source.numpy()])
        lengths = [tf.math.count_nonzero(side != "", axis=1) for side in (source, target)]
        scores = [[-0.25] * int(y) + [-0.25 * int(x)] for x, y in zip(*lengths, strict=True)]
        rows = tf.ragged.constant(scores, tf.float32)
        return {"score": tf.reduce_sum(rows, axis=1), "token_scores": rows.to_tensor()}

    def _found(self, lines: tf.Tensor, size: int) -> dict[str, tf.Tensor]:
        texts = [line.decode(errors="replace") for line in lines.numpy()]
        with self._counting:
            self.before(len(self.windows))
            self.windows.append(texts)
        rows = len(texts)
        return {
            "text": tf.constant(
                [[f"{answer(text)}{'!' * i}" for i in range(size)] for text in texts]
            ),
            "score": tf.fill([rows, size], -0.5),
            "normalized_score": tf.fill([rows, size], -0.25),
            "length": tf.fill([rows, size], 1),
            "source_tokens": tf.fill([rows, 1], "</s>"),
            "target_tokens": tf.fill([rows, size], "</s>"),
            "token_scores": tf.fill([rows, size], -0.5),
        }


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """What rnnsearch-translate and rnnsearch-score find in every model directory.

    A window of lines is one search.
    """
    monkeypatch.setattr(side_by_side, "_PART", LINES_AT_ONCE)
    scripted = ScriptedEngine()
    config = Config(decoding=DecodingConfig(max_length=MAX_LENGTH, beam_size=2))
    words = tokenizer_for(WHITESPACE, "")
    translator = Translator(scripted, config, (words, words), (KNOWN, KNOWN))
    monkeypatch.setattr(ChosenModels, "open", lambda *_, **__: translator)
    return scripted


def made_model(folder: Path, words: Iterable[str] = (), **settings: Any) -> str:
    """The flag for a model directory without weights; it knows these words, or many."""
    vocabulary = Vocabulary([*SPECIAL_TOKENS, *words]) if words else KNOWN
    digest = vocabulary.digest
    sizes = dict.fromkeys(("source_vocabulary_size", "target_vocabulary_size"), len(vocabulary))
    config = Config(tokenizer=WHITESPACE, source_vocabulary=digest, target_vocabulary=digest)
    config = config.with_settings(**sizes, **settings)
    directory = ModelDirectory(folder)
    directory.create(config, vocabulary, vocabulary)
    directory.weights_path().touch()
    return f"--model_dir={folder}"
