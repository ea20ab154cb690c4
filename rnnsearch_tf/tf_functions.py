"""`tf.function` without AutoGraph, and `tf.data` without autotuning."""

import functools

import tensorflow as tf

# Loops and branches are operations already: AutoGraph would only delay the start.
graph_function = functools.partial(tf.function, autograph=False)


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Return the dataset without autotuning.

    With it, the end of a pass waits for a thread that sleeps for up to a minute (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
