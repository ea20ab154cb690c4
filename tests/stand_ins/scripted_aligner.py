"""Translator with known alignments, for tests of links."""

import types
from collections.abc import Sequence

import numpy as np
import pytest

from rnnsearch_tf.config import WHITESPACE, Config, DecodingConfig
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.scripts.shared import chosen_models
from rnnsearch_tf.text.tokenizers import tokenizer_for
from rnnsearch_tf.text.vocabulary import EOS


class ScriptedTranslator:
    """Aligns equal words, which are separated by spaces, with weight 0.8.

    The rest of a word's weight is at `</s>`, or all of it where the other side has no such word.

    Args:
        languages: "en-fr".
        max_length: tokens that are read of a sentence.
        architecture: of the model.
        tokenizer: its name.
    """

    def __init__(
        self,
        languages: str,
        max_length: int = 500,
        architecture: str = "rnnsearch",
        tokenizer: str = "whitespace",
    ):
        source, target = languages.split("-")
        self.config = types.SimpleNamespace(
            source_language=source,
            target_language=target,
            languages=(source, target),
            tokenizer=tokenizer,
            model=types.SimpleNamespace(
                architecture=architecture, has_attention=architecture == "rnnsearch"
            ),
            decoding=types.SimpleNamespace(max_length=max_length),
        )
        self.model = self.config.model
        self.aligner = None
        self.aligns = self.model.has_attention
        self.max_pairs = 0  # aligned at once
        self.source_tokenizer = self.target_tokenizer = tokenizer_for(WHITESPACE, "")
        known = types.SimpleNamespace(encode=lambda tokens: [EOS], tokens=[])  # nothing is unknown
        self.vocabularies = known, known

    def align(
        self, source: Sequence[str], target: Sequence[str], progress: bool = True
    ) -> list[Alignment]:
        self.max_pairs = max(self.max_pairs, len(source))
        return [self._align(x, y) for x, y in zip(source, target, strict=True)]

    def _align(self, source: str, target: str) -> Alignment:
        x, y = (
            (*text.split()[: self.config.decoding.max_length], "</s>") for text in (source, target)
        )
        weights = np.zeros((len(y), len(x)), np.float32)
        for i, word in enumerate(y):
            places = [j for j, other in enumerate(x) if other == word]
            weights[i, -1] = 0.2
            weights[i, places[:1] or -1] += 0.8
        return Alignment(x, y, weights)

    def source_lengths(self, lines: Sequence[bytes]) -> list[int]:
        return [len(line.split()) for line in lines]

    target_lengths = source_lengths


def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, ScriptedTranslator]:
    """Make model directories "en-fr" and "fr-en", and others that a test puts there."""
    models = {name: ScriptedTranslator(name) for name in ("en-fr", "fr-en")}

    def load(
        path: Sequence[str], decoding: DecodingConfig, weights: str, alignment: str | None = None
    ) -> ScriptedTranslator:
        return models[path if isinstance(path, str) else path[0]]

    monkeypatch.setattr(Translator, "load", load)
    monkeypatch.setattr(chosen_models, "check_models", lambda paths, weights: Config())
    return models
