"""NumPy arrays to TensorProto and back, as TensorFlow's C++ does it."""

import numpy as np
from tensorflow.core.framework.tensor_pb2 import TensorProto

from tfserving import dtypes
from tfserving.status import invalid_argument

# Where the values of a type lie.
_FIELDS = {dtypes.STRING: "string_val", dtypes.FLOAT: "float_val"}


def to_proto(array: np.ndarray) -> TensorProto:
    """A tensor with its values in the field of their type, as a server answers."""
    proto = TensorProto(dtype=dtypes.data_type(array))
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    getattr(proto, _FIELDS[proto.dtype]).extend(array.reshape(-1).tolist())
    return proto


def to_array(proto: TensorProto) -> np.ndarray:
    """The content of a tensor that a client sent.

    Raises:
        StatusError: INVALID_ARGUMENT, its shape and its values do not go together.
    """
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    if proto.dtype not in _FIELDS or min(shape, default=0) < 0:
        raise invalid_argument(f"a tensor of type {proto.dtype} and shape {shape} cannot be read")
    size = int(np.prod(shape, dtype=np.int64))
    if proto.tensor_content and proto.dtype != dtypes.STRING:
        array = np.frombuffer(proto.tensor_content, np.float32)
    else:
        array = _filled(proto, size)
    if array.size != size:
        raise invalid_argument(f"{array.size} values do not make a tensor of shape {shape}")
    return array.reshape(shape)


def _filled(proto: TensorProto, size: int) -> np.ndarray:
    """The values given; where they are fewer than `size`, the last one goes on."""
    values = list(getattr(proto, _FIELDS[proto.dtype]))
    is_text = proto.dtype == dtypes.STRING
    if len(values) < size:
        values += (values[-1:] or [b"" if is_text else 0.0]) * (size - len(values))
    return dtypes.strings(values) if is_text else np.array(values, np.float32)
