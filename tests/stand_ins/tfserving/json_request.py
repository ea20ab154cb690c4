"""The JSON body of a REST predict request to arrays; see TensorFlow Serving's json_tensor.cc.

Inputs are lists of strings, as those of all our signatures.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfserving import dtypes
from tfserving.status import invalid_argument

ROW, COLUMNAR = "instances", "inputs"

# An escaped surrogate that is not half of a pair, which is no character; what comes before is
# there to be skipped.
_LONE_SURROGATE = re.compile(
    r"\\\\|\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F])"
)


def parse(body: bytes) -> dict[str, Any]:
    """The body as JSON.

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
    document: dict[str, Any], signature_inputs: Iterable[str]
) -> tuple[str, dict[str, np.ndarray]]:
    """The inputs of a request.

    Args:
        document: the parsed body.
        signature_inputs: names of those of the signature.

    Returns:
        The format, `ROW` or `COLUMNAR`, and the inputs by name.

    Raises:
        StatusError: INVALID_ARGUMENT, they are not the signature's, or malformed.
    """
    names = sorted(signature_inputs)
    if (ROW in document) == (COLUMNAR in document):
        raise invalid_argument(f"the body needs either {ROW!r} or {COLUMNAR!r}")
    if ROW in document:
        return ROW, _read_rows(document[ROW], names)
    return COLUMNAR, _read_columns(document[COLUMNAR], names)


def _read_rows(rows: Any, names: list[str]) -> dict[str, np.ndarray]:
    if not isinstance(rows, list) or not rows:
        raise invalid_argument(f"{ROW!r} is no list with something in it")
    named = _is_named(rows[0])
    if not named and len(names) > 1:
        raise invalid_argument(f"{ROW!r} needs objects, since the inputs are {names}")
    texts: dict[str, list[bytes]] = {name: [] for name in names}
    for i, row in enumerate(rows):
        if _is_named(row) != named:
            raise invalid_argument(f"{ROW!r}: item {i} is an object or not, unlike the first")
        fields = row if named else {names[0]: row}
        if sorted(fields) != names:
            raise invalid_argument(f"{ROW!r}: item {i} must have the keys {names} only")
        for name, value in fields.items():
            texts[name].append(_read_string(value, f"{ROW!r}: item {i}: {name}"))
    return {name: dtypes.strings(values) for name, values in texts.items()}


def _read_columns(columns: Any, names: list[str]) -> dict[str, np.ndarray]:
    if not _is_named(columns):
        if len(names) > 1:
            raise invalid_argument(f"{COLUMNAR!r} needs an object with {names}")
        columns = {names[0]: columns}
    if missing := [name for name in names if name not in columns]:
        raise invalid_argument(f"{COLUMNAR!r} lacks {missing}")
    # Other keys are ignored, as the real server does.
    return {name: _read_strings(columns[name], f"{COLUMNAR!r}: {name}") for name in names}


def _is_named(value: Any) -> bool:
    """Whether it is an object of inputs by name; `{"b64": "..."}` is a string."""
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)


def _read_strings(values: Any, where: str) -> np.ndarray:
    if not isinstance(values, list):
        raise invalid_argument(f"{where}: {json.dumps(values)} is no list")
    return dtypes.strings([_read_string(value, where) for value in values])


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
