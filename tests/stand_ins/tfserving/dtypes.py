"""Tensor types: TensorFlow's DataType numbers and NumPy's types."""

import numpy as np

FLOAT = 1  # DT_FLOAT
STRING = 7  # DT_STRING; in NumPy an array of bytes objects


def data_type(array: np.ndarray) -> int:
    """The DataType of an array; 0 for a type that no signature has."""
    return {np.dtype(object): STRING, np.dtype(np.float32): FLOAT}.get(array.dtype, 0)


def strings(values: list[bytes], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Byte strings as an array of objects: NumPy's own string type drops zero bytes at the end."""
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(shape)
