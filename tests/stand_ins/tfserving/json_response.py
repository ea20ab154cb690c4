"""Arrays to the JSON body of a REST answer; see TensorFlow Serving's json_tensor.cc."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from tfserving.json_request import COLUMNAR
from tfserving.status import StatusError


def predict_body(form: str, outputs: Mapping[str, np.ndarray]) -> bytes:
    """The answer to a predict request.

    Args:
        form: the request's, `ROW` or `COLUMNAR`.
        outputs: by name, with as many rows each. The name of a single one is left out.
    """
    if form == COLUMNAR:
        return _encoded(f'{{"outputs": {_object(outputs)}}}')
    rows = (
        _object(dict(zip(outputs, row, strict=True))) for row in zip(*outputs.values(), strict=True)
    )
    return _encoded(f'{{"predictions": [{", ".join(rows)}]}}')


def error_body(error: StatusError) -> bytes:
    """The answer to a request that failed."""
    return _encoded(json.dumps({"error": error.message}, ensure_ascii=False))


def _object(named: Mapping[str, Any]) -> str:
    if len(named) == 1:
        return _json(*named.values())
    items = (f"{json.dumps(name)}: {_json(value)}" for name, value in named.items())
    return f"{{{', '.join(items)}}}"


def _json(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, bytes):  # text, as none of our outputs is named for bytes
        return json.dumps(value.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    return _json_float(value)


def _json_float(value: np.float32) -> str:
    """Six digits where they are enough to get the value back, else nine."""
    text = f"{value:.6g}"
    if np.float32(text) != value:
        text = f"{value:.9g}"
    return text if any(mark in text for mark in ".e") else text + ".0"


def _encoded(text: str) -> bytes:
    """Bytes that are not UTF-8 leave as they came."""
    return text.encode("utf-8", "surrogateescape")
