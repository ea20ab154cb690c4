"""NumPy arrays to TF_Tensor and back."""

import ctypes

import numpy as np

from tfserving import dtypes
from tfserving.c_library import c_api

_STRING_SIZE = 24  # sizeof(TF_TString)


def new_tensor(array: np.ndarray) -> int:
    """A TF_Tensor* with an array of strings, which TF_DeleteTensor frees with it."""
    c = c_api()
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    size = array.size * _STRING_SIZE
    tensor = c.TF_AllocateTensor(dtypes.STRING, shape, array.ndim, size)
    addresses = _addresses(c.TF_TensorData(tensor), array.size)
    for address, value in zip(addresses, array.flat, strict=True):
        c.TF_StringInit(address)
        c.TF_StringCopy(address, value, len(value))
    return tensor


def to_array(tensor: int) -> np.ndarray:
    """A copy of a TF_Tensor* that TensorFlow has made."""
    c = c_api()
    shape = tuple(c.TF_Dim(tensor, axis) for axis in range(c.TF_NumDims(tensor)))
    data = c.TF_TensorData(tensor)
    if c.TF_TensorType(tensor) == dtypes.STRING:
        values = [_string_at(address) for address in _addresses(data, int(np.prod(shape)))]
        return dtypes.strings(values, shape)
    array = np.empty(shape, np.float32)
    if array.size:
        ctypes.memmove(array.ctypes.data, data, array.nbytes)
    return array


def _addresses(data: int, count: int) -> range:
    return range(data or 0, (data or 0) + count * _STRING_SIZE, _STRING_SIZE)


def _string_at(address: int) -> bytes:
    c = c_api()
    return ctypes.string_at(c.TF_StringGetDataPointer(address), c.TF_StringGetSize(address))
