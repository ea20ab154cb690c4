"""Ways to a model that translates byte strings."""

from pathlib import Path

import numpy as np
from hostile_strings import Translate, Translations
from tfserving.c_session import CSession

from rnnsearch_tf.inference.translator import Translator


def through_c(session: CSession) -> Translate:
    """Through TensorFlow's C runtime."""

    def translate(lines: list[bytes]) -> Translations:
        found = session.run("serving_default", {"text": lines})
        return Translations(found["translation"].tolist(), found["score"])

    return translate


def through_python(path: Path) -> Translate:
    """Through the package's own interface; `path` is a model directory or an export."""
    translator = Translator.load(path)

    def translate(lines: list[bytes]) -> Translations:
        results = list(translator.translate_stream(lines))
        scores = np.array([result.score for result in results], np.float32)
        return Translations([result.text.encode() for result in results], scores)

    return translate
