"""Products: in which dtype, and how TensorFlow computes them."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from rnnsearch_tf.tensor_types import Float, Tensor


class PreciseLayer(keras.layers.Layer):
    """A layer that computes only its products in the compute dtype of its policy.

    Under "mixed_bfloat16" Keras casts the inputs and weights of a layer to bfloat16. Here states,
    gates, attention and sums keep the dtype of the weights, float32: only the factors of a product
    with a weight are cast, which rounds its result, too. This is more accurate, and faster where
    elementwise bfloat16 is slow. `models.losses` describes the softmax of the output layer.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> "PreciseLayer":
        """Keep the arguments of the constructor, which may be a subclass's, for `get_config`."""
        layer = super().__new__(cls, *args, **kwargs)
        signature = inspect.signature(cls.__init__)
        given = signature.bind_partial(None, *args, **kwargs)
        given.apply_defaults()
        kept: dict[str, Any] = {}
        vars(layer)["_arguments"] = kept
        for name, value in list(given.arguments.items())[1:]:  # without self
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                kept.update(value)
            elif value or kind is not inspect.Parameter.VAR_POSITIONAL:
                kept[name] = value
        return layer

    def __init__(self, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor.

        NotImplementedError if one is an object, unless a subclass handles it in a `get_config` of
        its own.
        """
        config = super().get_config()
        for name, value in vars(self)["_arguments"].items():
            plain = value.item() if isinstance(value, np.generic) else value
            if all(isinstance(x, str | int | float | bool | None) for x in tree.flatten(plain)):
                config.setdefault(name, plain)
            elif name not in config and type(self).get_config is PreciseLayer.get_config:
                raise NotImplementedError(f"{self.name}: {name} needs a get_config of its own")
        return config

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        """Add a weight that Keras never casts by itself, whatever layer or model is around it."""
        return super().add_weight(*args, **{"autocast": False, **kwargs})

    def freeze_parts(self, *layers: keras.layers.Layer | None) -> None:
        """Freeze the layers inside if this one is frozen: Keras saves `trainable` of it alone."""
        for layer in layers:
            if layer is not None and not self.trainable:
                layer.trainable = False

    def wide(self, x: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
        """Cast an input to the dtype of the weights."""
        return ops.cast(x, self.variable_dtype)

    def factor(self, *weights: Float[Tensor, "*rows _"]) -> Float[Tensor, "*rows _"]:
        """Join weights by columns and cast them for `product`; once, outside a loop."""
        return ops.cast(joined(*weights), self.compute_dtype)

    def symbol(self, *shape: int | None) -> keras.KerasTensor:
        """An output of a functional model, for which `call` need not be traced."""
        return keras.KerasTensor(shape, dtype=self.variable_dtype)


def check_units(units: int) -> None:
    """Raise a ValueError for a layer without units."""
    if units < 1:
        raise ValueError(f"units {units}: must be at least 1")


# In `executed_graph`, by graph, axis and ids of weights: the weights, kept alive, and their join.
_Joins = dict[tuple[Any, ...], tuple[Any, Any]]
_joins: contextvars.ContextVar[_Joins | None] = contextvars.ContextVar("joins", default=None)


@contextlib.contextmanager
def executed_graph() -> Iterator[None]:
    """Trace for graphs that TensorFlow executes itself, not XLA.

    Inside, `joined` joins the same weights only once per graph; TensorFlow itself removes duplicate
    operations on the result, such as casts. A loss may use operations that XLA lacks.
    """
    token = _joins.set({})  # of this thread alone
    try:
        yield
    finally:
        _joins.reset(token)


def is_executed_graph() -> bool:
    """Return whether `executed_graph` is in force."""
    return _joins.get() is not None


def joined(*weights: Float[Tensor, "*_"], axis: int = -1) -> Float[Tensor, "*_"]:
    """Concatenate weights, by columns; a single variable becomes a tensor."""
    joins = _joins.get()
    if joins is None:
        return ops.concatenate(weights, axis=axis)
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()  # that of a function, or of the body of a loop
    key = (graph, axis, *map(id, weights))
    if key not in joins:
        joins[key] = weights, ops.concatenate(weights, axis=axis)
    return joins[key][1]


def split_columns(
    x: Float[Tensor, "*rows _"], *columns: int
) -> tuple[Float[Tensor, "*rows _"], ...]:
    """Split the last axis before each of the columns."""
    if keras.backend.backend() != "tensorflow":
        return tuple(ops.split(x, columns, axis=-1))
    import tensorflow as tf

    # `ops.split` computes the sizes in 24 operations, and slices take longer. TensorFlow moves a
    # split into more than three parts to other threads.
    return tuple(tf.split(x, np.diff((0, *columns, x.shape[-1])), axis=-1))


def sizes(x: Tensor) -> tuple[Any, ...]:
    """Return a shape for `ops.reshape`; a single unknown size is -1, which needs no graph op."""
    if sum(size is None for size in x.shape) == 1:
        return tuple(-1 if size is None else size for size in x.shape)
    return ops.shape(x)


def spaced(matrix: Float[Tensor, "a b"]) -> Float[Tensor, "a _"]:
    """Append columns of zeros to a matrix for a loop's products, if that makes them faster.

    In TensorFlow's products on a CPU, rows a multiple of 2 KiB apart compete for the same lines of
    the cache: for 40 rows of x, a matrix of 256 rows and 1024 columns takes twice as long as one of
    1040. `product` drops the columns again.
    """
    is_slow = matrix.shape[-1] % 512 == 0 and matrix.dtype == "float32"
    if keras.backend.backend() != "tensorflow" or not is_slow:
        return matrix
    return ops.pad(matrix, ((0, 0), (0, 16)))


def product(
    x: Float[Tensor, "*rows a"],
    matrix: Float[Tensor, "a _"],
    bias: Float[Tensor, "b"] | None = None,
    columns: int | None = None,
) -> Float[Tensor, "*rows b"]:
    """Multiply rows by a matrix in the dtype of the matrix, and return the dtype of x.

    All rows go into one product of two matrices, which TensorFlow fuses with the bias. ValueError
    for a symbolic input: a functional model would hold the matrix as a constant, not a weight.

    `columns` is b if the matrix is from `spaced`.
    """
    if isinstance(x, keras.KerasTensor):
        raise ValueError("in a functional model, call the layer itself, not one of its methods")
    if len(x.shape) != 2:
        *rows, size = sizes(x)
        y = product(ops.reshape(x, (-1, size)), matrix, bias, columns)
        return ops.reshape(y, (*rows, ops.shape(y)[-1]))
    y = ops.cast(ops.matmul(ops.cast(x, matrix.dtype), matrix), x.dtype)
    if columns not in (None, matrix.shape[-1]):
        y = y[:, :columns]
    return y if bias is None else ops.add(y, bias)


def outer_product(
    x: Float[Tensor, "*rows a"], y: Float[Tensor, "*rows b"], dtype: str
) -> Float[Tensor, "a b"]:
    """Σ xᵀ y over all rows, computed in `dtype`: the gradient of the matrix of a product."""
    x2, y2 = (ops.cast(ops.reshape(z, (-1, z.shape[-1])), dtype) for z in (x, y))
    return ops.cast(ops.matmul(ops.transpose(x2), y2), x.dtype)


def product_of_each(
    x: Float[Tensor, "B a b"], y: Float[Tensor, "B _ _"], transposed: bool = False
) -> Float[Tensor, "B a c"]:
    """Compute x y, or x yᵀ if `transposed`, for each sentence: an attention's small products."""
    is_vector = x.shape[1] == 1 and x.dtype != "float16"
    if keras.backend.backend() != "tensorflow" or not is_vector:
        return ops.matmul(x, ops.transpose(y, (0, 2, 1)) if transposed else y)
    import tensorflow as tf

    # `tf.matmul` goes through oneDNN, which takes up to three times as long for one row of each.
    return tf.raw_ops.BatchMatMulV3(x=x, y=y, Tout=x.dtype, adj_y=transposed)


@contextlib.contextmanager
def dtype_policy(name: str) -> Iterator[None]:
    """Build layers inside under a Keras dtype policy: "float32" or "mixed_bfloat16"."""
    earlier = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(earlier)
