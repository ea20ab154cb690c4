"""A model directory to a SavedModel that TensorFlow Serving can load."""

import os
import shutil
import tempfile
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.model_directory import BEST
from rnnsearch_tf.translator import Translator


def export(
    model_dir: str | Path,
    export_dir: str | Path,
    version: int = 1,
    decoding: DecodingConfig | None = None,
    weights: str = BEST,
) -> Path:
    """Write EXPORT_DIR/<version>/ with the signatures `serving_default` and `align`.

    The folder appears whole, under its final name, or not at all.

    Args:
        model_dir: the trained model.
        export_dir: the folder that a server watches; created when absent.
        version: a positive number; a server takes the highest.
        decoding: instead of the options in the model's config.
        weights: "best" or "last".

    Returns:
        The folder written.

    Raises:
        InputError: an unusable model directory, an export that exists, a disk that refuses.
    """
    target = Path(export_dir) / str(version)
    if version < 1:
        raise InputError(f"version {version}: must be positive")
    if target.exists():
        raise InputError(f"{target} exists; nothing was overwritten")
    translator = Translator.load(model_dir, decoding, weights)
    signatures = {
        "serving_default": translator.translate.get_concrete_function(),
        "align": translator.align.get_concrete_function(),
    }
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # A name that is no number: a server that watches the folder passes it over.
        temporary = Path(tempfile.mkdtemp(prefix=f".{version}-", dir=target.parent))
        try:
            tf.saved_model.save(translator, str(temporary), signatures=signatures)
            temporary.chmod(0o755)
            os.rename(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except (OSError, tf.errors.OpError) as error:
        raise InputError(f"{target}: cannot be written: {error}") from error
    return target
