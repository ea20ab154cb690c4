"""Weights as a search multiplies by them, computed once, when a SavedModel is loaded."""

import uuid
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf


class PreparedWeights(tf.Module):
    """Tensors that are computed from a model's weights now, and again when a SavedModel is loaded.

    Joining, transposing and casting the weights takes as long as a few steps of the search. A
    SavedModel holds the computation, not its results, so that it does not grow. `compute` makes a
    nest of tensors, and of Keras variables, which stay as they are.
    """

    def __init__(self, compute: Callable[[], Any]):
        super().__init__()
        values = compute()

        def leaf(index: int, x: Any) -> Any:
            if x is None or isinstance(x, keras.Variable):
                return x
            return _Tensor(lambda: tf.nest.flatten(compute())[index], x)

        leaves = [leaf(index, x) for index, x in enumerate(tf.nest.flatten(values))]
        nest = tf.nest.pack_sequence_as(values, leaves)
        self._nest = lambda: nest  # where the module does not find Keras variables
        self._tensors = [x for x in leaves if isinstance(x, _Tensor)]  # where it finds these

    def read(self) -> Any:
        """Return the nest, in the graph that is being traced."""
        return tf.nest.map_structure(
            lambda x: x.read() if isinstance(x, _Tensor) else x, self._nest()
        )


class _Tensor(tf.saved_model.experimental.TrackableResource):
    """A tensor that every loader of SavedModels computes after it has read the weights.

    Like a lookup table, it outlives the Python object of its SavedModel, of which only a signature
    may be left: its memory is freed with the process, or the session.
    """

    def __init__(self, compute: Callable[[], tf.Tensor], like: tf.Tensor):
        super().__init__()
        self._compute = compute
        self._spec = tf.TensorSpec(like.shape, like.dtype, uuid.uuid4().hex)
        self._assign(like)

    def _create_resource(self) -> tf.Tensor:
        spec = self._spec  # to whose name Python's loader adds a number of its own
        return tf.raw_ops.VarHandleOp(dtype=spec.dtype, shape=spec.shape, shared_name=spec.name)

    def _initialize(self) -> tf.Operation:
        return self._assign(self._compute())

    def _assign(self, value: tf.Tensor) -> tf.Operation:
        return tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def read(self) -> tf.Tensor:
        """Return the tensor."""
        value = tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=self._spec.dtype)
        value.set_shape(self._spec.shape)  # which a captured handle does not tell
        return value
