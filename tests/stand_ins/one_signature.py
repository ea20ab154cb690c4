"""A SavedModel with one signature: an export's others take seconds to trace."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.serving.signatures import signatures


def saved(text_model: TextModel, name: str, path: Path) -> Any:
    """Save a model with a signature; return it as it is loaded again."""
    parts = tf.Module()
    vars(parts).update(vars(text_model))  # without methods, which would all be traced
    parts.complete = None  # as `export` does
    tf.saved_model.save(parts, str(path), {name: signatures(text_model)[name]})
    return tf.saved_model.load(str(path)).signatures[name]
