"""Arrays to the JSON body of a REST answer; see TensorFlow Serving's json_tensor.cc."""

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
    named = {name: _json(array) for name, array in outputs.items()}
    return _encoded(f'{{"outputs": {_object(named)}}}')


def error_body(error: StatusError) -> bytes:
    """The answer to a request that failed."""
    return _encoded(json.dumps({"error": error.message}, ensure_ascii=False))


def _rows(outputs: Mapping[str, np.ndarray]) -> str:
    sizes = {array.shape[0] if array.ndim else 0 for array in outputs.values()}
    if len(sizes) != 1 or 0 in sizes:
        raise invalid_argument(f"outputs whose first dimensions are {sorted(sizes)} have no rows")
    rows = (
        _object({name: _json(array[i]) for name, array in outputs.items()})
        for i in range(sizes.pop())
    )
    return f"[{', '.join(rows)}]"


def _object(named: Mapping[str, str]) -> str:
    if len(named) == 1:
        return next(iter(named.values()))
    return f"{{{', '.join(f'{json.dumps(name)}: {value}' for name, value in named.items())}}}"


def _json(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"[{', '.join(map(_json, value))}]"
    value = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(value, bytes):  # text, as none of our outputs is named for bytes
        return json.dumps(value.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    return _json_float(value)


def _json_float(value: np.float32) -> str:
    """Six digits where they are enough to get the value back, else nine."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = f"{value:.6g}"
    if np.float32(text) != value:
        text = f"{value:.9g}"
    return text if any(mark in text for mark in ".e") else text + ".0"


def _encoded(text: str) -> bytes:
    """Bytes that are not UTF-8 leave as they came."""
    return text.encode("utf-8", "surrogateescape")
