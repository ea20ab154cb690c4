"""Tensor types: TensorFlow's DataType numbers and NumPy's types."""

import numpy as np

STRING = 7  # DT_STRING; in NumPy an array of bytes objects

NUMERIC = {
    1: np.dtype(np.float32),
    2: np.dtype(np.float64),
    3: np.dtype(np.int32),
    9: np.dtype(np.int64),
    10: np.dtype(np.bool_),
}
_NUMBERS = {dtype: number for number, dtype in NUMERIC.items()}


def data_type(array: np.ndarray) -> int:
    """The DataType of an array.

    Raises:
        TypeError: a type that is not needed here.
    """
    if array.dtype == object:
        return STRING
    if array.dtype not in _NUMBERS:
        raise TypeError(f"no tensor type is known for arrays of {array.dtype}")
    return _NUMBERS[array.dtype]


def strings(values: list[bytes], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Byte strings as an array of objects: NumPy's own string type drops zero bytes at the end."""
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(shape)
