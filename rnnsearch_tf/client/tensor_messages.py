"""Tensors as protocol buffers."""

import math
import struct
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.client.contract import UnexpectedAnswer
from rnnsearch_tf.client.serving_pb2 import Tensor

_MAX_AXES = 3  # of an output
_MAX_EMPTY_LISTS = 100_000


def string_vector(texts: Sequence[str]) -> Tensor:
    """Make a DT_STRING tensor [B] of texts."""
    tensor = Tensor(dtype=Tensor.DT_STRING)
    tensor.tensor_shape.dim.add(size=len(texts))
    tensor.string_val.extend(text.encode() for text in texts)
    return tensor


def nested_lists(tensor: Tensor) -> Any:
    """Read a DT_STRING or DT_FLOAT tensor as nested lists, one level per dimension.

    `UnexpectedAnswer` for another dtype, over 3 axes, too many or too few values, or not UTF-8.
    """
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if len(sizes) > _MAX_AXES:
        raise UnexpectedAnswer(f"has {len(sizes)} axes")
    if tensor.dtype == Tensor.DT_STRING:
        flat: list[Any] = _texts(tensor)
    elif tensor.dtype == Tensor.DT_FLOAT:
        flat = _numbers(tensor)
    else:
        raise UnexpectedAnswer("is neither text nor float32")
    is_whole = min(sizes, default=0) >= 0 and len(flat) == math.prod(sizes)
    lists = math.prod(sizes[:-1])  # to make; a size of 0 asks for many without values
    if not is_whole or lists > max(len(flat), _MAX_EMPTY_LISTS):
        raise UnexpectedAnswer(f"has {len(flat)} values for the shape {sizes}")
    return _nested(flat, sizes)


def _texts(tensor: Tensor) -> list[str]:
    try:
        return [text.decode() for text in tensor.string_val]
    except UnicodeDecodeError as error:
        raise UnexpectedAnswer("has text that is not UTF-8") from error


def _numbers(tensor: Tensor) -> list[float]:
    if not tensor.tensor_content:
        return list(tensor.float_val)
    count, rest = divmod(len(tensor.tensor_content), 4)
    if rest:
        raise UnexpectedAnswer("has bytes that are not float32")
    return list(struct.unpack(f"<{count}f", tensor.tensor_content))


def _nested(flat: list[Any], sizes: list[int]) -> Any:
    """Nest a flat list by the sizes of its dimensions, in row-major order."""
    if len(sizes) < 2:
        return flat if sizes else flat[0]
    step = math.prod(sizes[1:])
    rows = (flat[row * step : (row + 1) * step] for row in range(sizes[0]))
    return [_nested(row, sizes[1:]) for row in rows]
