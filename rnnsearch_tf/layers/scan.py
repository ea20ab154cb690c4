"""A recurrence over the first axis: the loop of encoder and decoder."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops, tree


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    state: Any,  # before the first step: a tensor or a nest
    inputs: Any,  # a nest of tensors [T, ...]
    like: Any,  # a nest of tensors with the dtypes and shapes of one position's output
    reverse: bool = False,  # go from T to 1; output t still belongs to inputs t
    differentiable: bool = False,  # by TensorFlow; elsewhere always
) -> tuple[Any, Any]:
    """Apply state_t, output_t = step(state_{t-1}, inputs_t) along axis 0.

    Returns the last state, and the outputs with T in front. T may be 0, except for XLA.
    """
    if keras.backend.backend() != "tensorflow":
        if tree.flatten(inputs)[0].shape[0] == 0:  # on PyTorch, `ops.scan` cannot stack nothing
            return state, tree.map_structure(lambda x: ops.expand_dims(x, 0)[:0], like)
        return ops.scan(step, state, inputs, reverse=reverse)
    # `keras.ops.scan` keeps its carry in TensorArrays of length one; this loop needs none.
    import tensorflow as tf

    steps = tf.shape(tree.flatten(inputs)[0])[0]
    if differentiable:  # not by slices: the gradient of a slice is as large as the whole
        inputs = tree.map_structure(
            lambda x: tf.TensorArray(x.dtype, steps, element_shape=x.shape[1:]).unstack(x), inputs
        )
    targets = [tf.TensorArray(x.dtype, steps, element_shape=x.shape) for x in tree.flatten(like)]

    def body(i: Any, flat: list, arrays: list) -> Any:
        position = steps - 1 - i if reverse else i
        start = tf.expand_dims(position, 0)

        def read(x: Any) -> Any:
            if differentiable:
                return x.read(position)
            return tf.strided_slice(x, start, start + 1, shrink_axis_mask=1)  # copies nothing

        inputs_t = tree.map_structure(read, inputs)
        after, output = step(tree.pack_sequence_as(state, flat), inputs_t)
        outputs = tree.flatten(output)
        arrays = [array.write(position, x) for array, x in zip(arrays, outputs, strict=True)]
        return i + 1, tree.flatten(after), arrays

    _, flat, targets = tf.while_loop(
        lambda i, *_: i < steps,
        body,
        (0, tree.flatten(state), targets),
        parallel_iterations=1,  # several need bookkeeping, and each would wait for the one before
        maximum_iterations=steps,  # XLA sizes what the gradient keeps of each step by it
    )
    outputs = [_stack(array, x) for array, x in zip(targets, tree.flatten(like), strict=True)]
    return tree.pack_sequence_as(state, flat), tree.pack_sequence_as(like, outputs)


def _stack(array: Any, like: Any) -> Any:
    """Stack a TensorArray; an empty one knows the sizes of its elements by `like` alone."""
    import tensorflow as tf

    if tf.executing_eagerly():
        return array.stack()
    return tf.raw_ops.TensorListStack(
        input_handle=array.flow, element_shape=tf.shape(like), element_dtype=array.dtype
    )
