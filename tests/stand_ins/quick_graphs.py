"""Graphs that are made quickly, for tests: most of theirs run once or twice."""

import functools
import sys
import typing
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_resource_variable_ops


def install() -> None:
    """Spare the rewriting of graphs and each operation's traceback, a tenth of the time each.

    Also a kernel for each name of a variable: most of what making a variable takes.
    The commands that tests start, and TensorFlow's C runtime, do as they do for users.
    """
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
    gen_resource_variable_ops.var_handle_op = _unnamed(gen_resource_variable_ops.var_handle_op)
    if sys.version_info < (3, 12):
        # `isinstance` works the members of a protocol out anew; TensorFlow asks for each operation.
        typing._get_protocol_attrs = functools.cache(typing._get_protocol_attrs)  # type: ignore[attr-defined]


def _unnamed(var_handle_op: Callable) -> Callable:
    """Make handles of variables by one kernel: it is made anew for each `debug_name`."""

    @functools.wraps(var_handle_op)
    def without_name(*args: Any, **settings: Any) -> Any:
        if "debug_name" in settings:  # not every TensorFlow has it
            settings["debug_name"] = ""
        return var_handle_op(*args, **settings)

    return without_name
