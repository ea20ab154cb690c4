"""The bounds of a translation's length are those of exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.decoding import model_search


def test_lengths_times_ratios_are_rounded_up_from_the_exact_product():
    lengths = np.arange(1, 202)
    source = tf.constant(np.tri(201, dtype=np.int32))  # sentences of these lengths
    for hundredths in range(1, 300, 7):
        ratio = Fraction(hundredths, 100)
        options = DecodingConfig(
            max_length=1_000, max_length_ratio=float(ratio), min_length_ratio=float(ratio) / 2
        )
        longest, shortest = model_search._bounds(source, options)
        assert shortest is not None
        assert longest.numpy().tolist() == [math.ceil(n * ratio) for n in lengths.tolist()]
        assert shortest.numpy().tolist() == [math.ceil(n * ratio / 2) for n in lengths.tolist()]
