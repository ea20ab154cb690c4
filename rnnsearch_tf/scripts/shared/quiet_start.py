"""A quiet and quick start of TensorFlow's libraries."""

import contextlib
import functools
import gc
import logging
import os
import sys
from collections.abc import Iterator

from rnnsearch_tf import interrupts
from rnnsearch_tf.extras import require_package

_DEBUG = "RNNSEARCH_DEBUG"  # if it is set, nothing is hidden


def _is_not_of_retracing(record: logging.LogRecord) -> bool:
    """Whether a warning is not about tf.function retracing, which several models cause."""
    return "tf.function retracing" not in record.getMessage()


@contextlib.contextmanager
def quiet_start(backend: str = "tensorflow") -> Iterator[None]:
    """Hide what TensorFlow's libraries write to standard error while they load; load them faster.

    They write to the file descriptor, before any logging setting is read. With RNNSEARCH_DEBUG in
    the environment, as to learn why they crash, nothing is hidden. The garbage collector never
    searches what is loaded the first time: while loading, repeated searches of a million objects
    would take a quarter of the time. InputError if TensorFlow is not installed.
    """
    require_package("tensorflow")
    is_first = "tensorflow" not in sys.modules
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Without it, a process takes all memory of all GPUs, and none is left for another.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    os.environ["KERAS_BACKEND"] = backend  # regardless of the user's other work
    logging.getLogger("tensorflow").addFilter(_is_not_of_retracing)
    sys.stderr.flush()
    kept = os.dup(2)
    if _DEBUG not in os.environ:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
    gc.disable()
    try:
        with interrupts.last_word(functools.partial(os.dup2, kept, 2)), interrupts.held():
            yield
    finally:
        if is_first:  # later, the user's own models would stay too
            gc.freeze()
        gc.enable()
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
