"""The JSON body of a REST predict request to arrays; see TensorFlow Serving's json_tensor.cc."""

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo

from tfserving import dtypes
from tfserving.status import invalid_argument

ROW, COLUMNAR = "instances", "inputs"

# An escaped surrogate that is not half of a pair, which is no character; what comes before is
# there to be skipped.
_LONE_SURROGATE = re.compile(
    r"\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F])"
)


def parse(body: bytes) -> dict[str, Any]:
    """The body as JSON, in which NaN, Infinity and -Infinity are numbers.

    Raises:
        StatusError: INVALID_ARGUMENT, it is no JSON or no object.
    """
    # Bytes that are not UTF-8 are passed on as they are, as the real server does.
    text = body.decode("utf-8", "surrogateescape")
    if any(match["lone"] for match in _LONE_SURROGATE.finditer(text)):
        raise invalid_argument("the body is not JSON: it has half a surrogate pair")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise invalid_argument(f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise invalid_argument("the body is no JSON object")
    return document


def signature_name(document: dict[str, Any]) -> str:
    """The signature asked for; "" when none is named.

    Raises:
        StatusError: INVALID_ARGUMENT, it is no string.
    """
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid_argument("signature_name is no string")
    return name


def read_inputs(
    document: dict[str, Any], signature_inputs: Mapping[str, TensorInfo]
) -> tuple[str, dict[str, np.ndarray]]:
    """The inputs of a request.

    Args:
        document: the parsed body.
        signature_inputs: those of the signature.

    Returns:
        The format, `ROW` or `COLUMNAR`, and the inputs by name.

    Raises:
        StatusError: INVALID_ARGUMENT, they are not the signature's, or malformed.
    """
    types = {name: info.dtype for name, info in signature_inputs.items()}
    if (ROW in document) == (COLUMNAR in document):
        raise invalid_argument(f"the body needs either {ROW!r} or {COLUMNAR!r}")
    if ROW in document:
        return ROW, _read_rows(document[ROW], types)
    return COLUMNAR, _read_columns(document[COLUMNAR], types)


def _read_rows(rows: Any, types: dict[str, int]) -> dict[str, np.ndarray]:
    if not isinstance(rows, list) or not rows:
        raise invalid_argument(f"{ROW!r} is no list with something in it")
    named = _is_named(rows[0])
    if not named and len(types) > 1:
        raise invalid_argument(f"{ROW!r} needs objects, since the inputs are {sorted(types)}")
    values: dict[str, list[np.ndarray]] = {name: [] for name in types}
    for i, row in enumerate(rows):
        if _is_named(row) != named:
            raise invalid_argument(f"{ROW!r}: item {i} is an object or not, unlike the first")
        fields = row if named else {next(iter(types)): row}
        if set(fields) != set(types):
            raise invalid_argument(f"{ROW!r}: item {i} must have the keys {sorted(types)} only")
        for name, value in fields.items():
            values[name].append(_read_tensor(value, types[name], f"{ROW!r}: item {i}: {name}"))
    for name, arrays in values.items():
        if len({array.shape for array in arrays}) > 1:
            raise invalid_argument(f"{ROW!r}: the shapes of {name!r} differ")
    return {name: np.stack(arrays) for name, arrays in values.items()}


def _read_columns(columns: Any, types: dict[str, int]) -> dict[str, np.ndarray]:
    if not _is_named(columns):
        if len(types) > 1:
            raise invalid_argument(f"{COLUMNAR!r} needs an object with {sorted(types)}")
        columns = {next(iter(types)): columns}
    missing = sorted(set(types) - set(columns))
    if missing:
        raise invalid_argument(f"{COLUMNAR!r} lacks {missing}")
    return {  # Other keys are ignored, as the real server does.
        name: _read_tensor(columns[name], data_type, f"{COLUMNAR!r}: {name}")
        for name, data_type in types.items()
    }


def _is_named(value: Any) -> bool:
    """Whether it is an object of inputs by name; `{"b64": "..."}` is a string."""
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)


def _read_tensor(value: Any, data_type: int, where: str) -> np.ndarray:
    shape = _shape(value)
    leaves = [_read_value(leaf, data_type, where) for leaf in _leaves(value, shape, where)]
    if data_type == dtypes.STRING:
        return dtypes.strings(leaves, shape)
    return np.array(leaves, dtypes.NUMERIC[data_type]).reshape(shape)


def _shape(value: Any) -> tuple[int, ...]:
    """Of nested lists, judged by the first of each."""
    if not isinstance(value, list):
        return ()
    return (len(value), *(_shape(value[0]) if value else ()))


def _leaves(value: Any, shape: tuple[int, ...], where: str) -> Iterable[Any]:
    if isinstance(value, list) != bool(shape) or (shape and len(value) != shape[0]):
        raise invalid_argument(f"{where}: lists of different lengths or depths")
    if not shape:
        yield value
    else:
        for item in value:
            yield from _leaves(item, shape[1:], where)


def _read_value(value: Any, data_type: int, where: str) -> Any:
    if data_type == dtypes.STRING:
        return _read_string(value, where)
    dtype = dtypes.NUMERIC[data_type]
    fits = {"f": _fits_float, "i": _fits_int, "b": lambda value, _: isinstance(value, bool)}
    if not fits[dtype.kind](value, dtype):
        raise invalid_argument(f"{where}: {json.dumps(value)} does not fit the input's type")
    return value


def _fits_float(value: Any, dtype: np.dtype) -> bool:
    """Whether it is a number in range; an integer must also be exact."""
    if isinstance(value, float):
        return not math.isfinite(value) or abs(value) <= float(np.finfo(dtype).max)
    return _is_int(value) and abs(value) < 2 ** (np.finfo(dtype).nmant + 1)


def _fits_int(value: Any, dtype: np.dtype) -> bool:
    return _is_int(value) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_string(value: Any, where: str) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if not _is_base64(value):
        raise invalid_argument(f"{where}: {json.dumps(value)} is no string")
    text = "".join(value["b64"].split())
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid_argument(f"{where}: b64 cannot be decoded: {error}") from error
