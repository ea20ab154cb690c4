"""What all `tf.data` pipelines share."""

import tensorflow as tf


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same elements, without TensorFlow's autotuning.

    The end of a pass would wait for its thread, which sleeps for up to a minute (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
