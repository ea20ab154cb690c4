"""Graphs that are made quickly, for tests: most of theirs run once or twice."""

import functools
import sys
import typing

import tensorflow as tf
from tensorflow.python.framework import ops


def install() -> None:
    """Spare the rewriting of graphs and each operation's traceback, a tenth of the time each.

    The commands and servers that tests start, and TensorFlow's C runtime, do as they do for users.
    """
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
    if sys.version_info < (3, 12):
        # `isinstance` works the members of a protocol out anew; TensorFlow asks for each operation.
        typing._get_protocol_attrs = functools.cache(typing._get_protocol_attrs)  # type: ignore[attr-defined]
