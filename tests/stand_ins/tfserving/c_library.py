"""The functions of TensorFlow's C API that are needed, from the library of the pip wheel."""

import contextlib
import ctypes
import functools
import importlib.util
from collections.abc import Iterator
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

from tfserving.status import Code, StatusError


class Buffer(ctypes.Structure):
    """TF_Buffer."""

    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


class Output(ctypes.Structure):
    """TF_Output: an operation and which of its outputs."""

    _fields_ = (("operation", c_void_p), ("index", c_int))


# Name: result, arguments.
_FUNCTIONS = {
    "TF_LoadLibrary": (c_void_p, c_char_p, c_void_p),
    "TF_NewStatus": (c_void_p,),
    "TF_DeleteStatus": (None, c_void_p),
    "TF_GetCode": (c_int, c_void_p),
    "TF_Message": (c_char_p, c_void_p),
    "TF_NewBuffer": (POINTER(Buffer),),
    "TF_DeleteBuffer": (None, POINTER(Buffer)),
    "TF_NewGraph": (c_void_p,),
    "TF_DeleteGraph": (None, c_void_p),
    "TF_GetAllOpList": (POINTER(Buffer),),
    "TF_GraphOperationByName": (c_void_p, c_void_p, c_char_p),
    "TF_NewSessionOptions": (c_void_p,),
    "TF_DeleteSessionOptions": (None, c_void_p),
    "TF_SetConfig": (None, c_void_p, c_char_p, c_size_t, c_void_p),
    "TF_LoadSessionFromSavedModel": (
        *(c_void_p, c_void_p, c_void_p, c_char_p, POINTER(c_char_p), c_int, c_void_p),
        *(POINTER(Buffer), c_void_p),
    ),
    "TF_SessionRun": (
        *(None, c_void_p, c_void_p),
        *(POINTER(Output), POINTER(c_void_p), c_int),
        *(POINTER(Output), POINTER(c_void_p), c_int),
        *(c_void_p, c_int, c_void_p, c_void_p),
    ),
    "TF_CloseSession": (None, c_void_p, c_void_p),
    "TF_DeleteSession": (None, c_void_p, c_void_p),
    "TF_AllocateTensor": (c_void_p, c_int, POINTER(c_int64), c_int, c_size_t),
    "TF_DeleteTensor": (None, c_void_p),
    "TF_TensorType": (c_int, c_void_p),
    "TF_NumDims": (c_int, c_void_p),
    "TF_Dim": (c_int64, c_void_p, c_int),
    "TF_TensorByteSize": (c_size_t, c_void_p),
    "TF_TensorData": (c_void_p, c_void_p),
    "TF_StringInit": (None, c_void_p),
    "TF_StringCopy": (None, c_void_p, c_char_p, c_size_t),
    "TF_StringGetDataPointer": (c_void_p, c_void_p),
    "TF_StringGetSize": (c_size_t, c_void_p),
}


@functools.cache
def c_api() -> ctypes.CDLL:
    """The library, with the types of its functions declared."""
    spec = importlib.util.find_spec("tensorflow")
    assert spec is not None
    assert spec.origin is not None
    (path,) = Path(spec.origin).parent.glob("libtensorflow_cc.*")  # .so.2, or .2.dylib on a Mac
    library = ctypes.CDLL(str(path))
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def load_text_ops() -> None:
    """Load the operations of tensorflow-text, where it is installed; a real server links them."""
    spec = importlib.util.find_spec("tensorflow_text")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "python" / "ops"
        with checked_status() as status:
            c_api().TF_LoadLibrary(bytes(folder / "_sentencepiece_tokenizer.so"), status)


@contextlib.contextmanager
def checked_status() -> Iterator[int]:
    """A TF_Status* for the calls inside the block.

    Raises:
        StatusError: at the end of the block, when the status is not OK.
    """
    status = c_api().TF_NewStatus()
    try:
        yield status
        number = c_api().TF_GetCode(status)
        if number:
            code = next(code for code in Code if code.value[0] == number)
            raise StatusError(code, c_api().TF_Message(status).decode("utf-8", "replace"))
    finally:
        c_api().TF_DeleteStatus(status)
