"""Functions that run as TensorFlow graphs."""

import functools

import tensorflow as tf

# Loops and branches are written as operations; to look for others would only take time at start.
graph_function = functools.partial(tf.function, autograph=False)


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same elements, without TensorFlow's autotuning.

    The end of a pass would wait for its thread, which sleeps for up to a minute (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
