"""`tf.function` without AutoGraph, `tf.data` without autotuning, Keras on TensorFlow."""

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from rnnsearch_tf.errors import InputError

# Loops and branches are operations already: AutoGraph would only delay the start.
graph_function = functools.partial(tf.function, autograph=False)


def graph_method(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a method a graph function of each object, which the function keeps alive.

    `tf.function` on a method refers to the object weakly: of a temporary object, as in
    `MosesTokenizer("en").tokenize(text)`, `self` would be None.
    """

    def decorate(method: Callable[..., Any]) -> Any:
        @functools.wraps(method)
        def bound(self: Any) -> Any:
            return graph_function(method.__get__(self), **options)

        return functools.cached_property(bound)

    return decorate


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Return the dataset without autotuning.

    With autotuning, each pass ends by waiting for a thread, up to a minute (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def check_backend(*others: str) -> None:
    """Raise an InputError if Keras is neither on TensorFlow nor on one of the others."""
    backend = keras.config.backend()
    if backend not in ("tensorflow", *others):
        raise InputError(
            "training and translation need TensorFlow: set KERAS_BACKEND=tensorflow "
            f"(it is {backend}) before Keras is imported"
        )
