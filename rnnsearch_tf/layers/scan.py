"""A recurrence over the first axis: the loop of encoder and decoder."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops, tree


def scan(step: Callable[[Any, Any], Any], state: Any, inputs: Any, reverse: bool = False) -> Any:
    """Apply state_t = step(state_{t-1}, inputs_t) along axis 0 and keep every state.

    Args:
        step: takes the state (a tensor or a tuple) and one position's inputs.
        state: the state before the first step.
        inputs: a tensor or tuple of tensors [T, ...].
        reverse: go from T to 1; state t still belongs to inputs t.

    Returns:
        The states after each step, structured like `state`, with T in front.
    """
    if keras.backend.backend() == "tensorflow":
        return _tensorflow_scan(step, state, inputs, reverse)

    def keep(state: Any, position: Any) -> Any:
        state = step(state, position)
        return state, state

    return ops.scan(keep, state, inputs, reverse=reverse)[1]


def _tensorflow_scan(
    step: Callable[[Any, Any], Any], state: Any, inputs: Any, reverse: bool
) -> Any:
    # `keras.ops.scan` keeps its carry in TensorArrays of length one; this loop needs none.
    import tensorflow as tf

    steps = tf.shape(tree.flatten(inputs)[0])[0]
    flat_state = tree.flatten(state)
    # TensorArrays, not slices of the inputs: the gradient of a slice is as large as the whole.
    sources = tree.map_structure(
        lambda x: tf.TensorArray(x.dtype, steps, element_shape=x.shape[1:]).unstack(x), inputs
    )
    targets = [tf.TensorArray(s.dtype, steps, element_shape=s.shape) for s in flat_state]

    def body(i: Any, flat: list, arrays: list) -> Any:
        position = steps - 1 - i if reverse else i
        inputs_t = tree.map_structure(lambda array: array.read(position), sources)
        flat = tree.flatten(step(tree.pack_sequence_as(state, flat), inputs_t))
        arrays = [array.write(position, s) for array, s in zip(arrays, flat, strict=True)]
        return i + 1, flat, arrays

    _, _, targets = tf.while_loop(
        lambda i, *_: i < steps,
        body,
        (0, flat_state, targets),
        maximum_iterations=steps,  # XLA sizes what the gradient keeps of each step by it
    )
    return tree.pack_sequence_as(state, [array.stack() for array in targets])
