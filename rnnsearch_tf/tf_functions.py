"""Functions that run as TensorFlow graphs."""

import functools

import tensorflow as tf

# Loops and branches are written as operations; to look for others would only take time at start.
graph_function = functools.partial(tf.function, autograph=False)
