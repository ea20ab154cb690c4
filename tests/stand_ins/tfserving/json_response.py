"""Arrays to the JSON body of a REST answer; see TensorFlow Serving's json_tensor.cc."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfserving.json_request import ROW
from tfserving.status import StatusError, invalid_argument


def predict_body(form: str, outputs: Mapping[str, np.ndarray]) -> bytes:
    """The answer to a predict request.

    Args:
        form: the request's, `ROW` or `COLUMNAR`.
        outputs: by name. The names of a single one are left out.

    Raises:
        StatusError: INVALID_ARGUMENT, rows were asked for, and the outputs are not row by row.
    """
    if form == ROW:
        return _encoded(f'{{"predictions": {_rows(outputs)}}}')
    named = {name: _json(name, array) for name, array in outputs.items()}
    return _encoded(f'{{"outputs": {_object(named)}}}')


def error_body(error: StatusError) -> bytes:
    """The answer to a request that failed."""
    return _encoded(json.dumps({"error": error.message}, ensure_ascii=False))


def _rows(outputs: Mapping[str, np.ndarray]) -> str:
    sizes = {array.shape[0] if array.ndim else 0 for array in outputs.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise invalid_argument(f"outputs whose first dimensions are {sorted(sizes)} have no rows")
    rows = (
        _object({name: _json(name, array[i]) for name, array in outputs.items()})
        for i in range(sizes.pop())
    )
    return f"[{', '.join(rows)}]"


def _object(named: Mapping[str, str]) -> str:
    if len(named) == 1:
        return next(iter(named.values()))
    return f"{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in named.items())}}}"


def _json(name: str, value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"[{', '.join(_json(name, item) for item in value)}]"
    value = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(value, bytes):
        return _json_string(value, is_binary=name.endswith("_bytes"))
    if isinstance(value, np.floating):
        return _json_float(value)
    return json.dumps(value.item() if isinstance(value, np.generic) else value)


def _json_string(value: bytes, is_binary: bool) -> str:
    """Text, unless the output's name says that it is not: what is in it does not matter."""
    if is_binary:
        return json.dumps({"b64": base64.b64encode(value).decode()})
    return json.dumps(value.decode("utf-8", "surrogateescape"), ensure_ascii=False)


def _json_float(value: np.floating) -> str:
    """Six digits where they are enough to get the value back, else nine (17 for doubles)."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = f"{value:.6g}"
    if type(value)(text) != value:
        text = f"{value:.{9 if isinstance(value, np.float32) else 17}g}"
    return text if any(mark in text for mark in ".e") else text + ".0"


def _encoded(text: str) -> bytes:
    """Bytes that are not UTF-8 leave as they came."""
    return text.encode("utf-8", "surrogateescape")
