"""JSON from untrusted files, with checks of the expected types and one-line errors."""

import contextlib
import dataclasses
import json
import math
import reprlib
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rnnsearch_tf.errors import did_you_mean, input_errors


def parse_json(
    content: str | bytes, make_object: Callable[[list[tuple[str, Any]]], Any] | None = None
) -> Any:
    """Parse JSON, UTF-8; ValueError with a one-line reason."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        return json.loads(text, object_pairs_hook=make_object)
    except RecursionError as error:
        raise ValueError("not JSON: nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8") from error
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error


def read_json(path: str | Path) -> Any:
    """Read a JSON file; InputError if it cannot be read, or is not JSON."""
    with input_errors(path):
        return parse_json(Path(path).read_bytes())


def finite_or_none(value: Any) -> Any:
    """Return the value; None, null in JSON, for a number that is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain(value: Any) -> Any:
    """Turn lists, dicts, NamedTuples and dataclasses into JSON values, which `typed` reads back.

    An object with a method `as_dict` becomes what that returns.
    """
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


def typed(expected: Any, value: Any, name: str = "") -> Any:
    """Make a value of an annotated type from a JSON value; an int is accepted for a float.

    Types are bool, int, float, str, None, Any, list[T], dict[str, T], unions, a `Literal` (any str
    is accepted), dataclasses and NamedTuples of these, and classes with a method `from_dict`, which
    is called. ValueError for another type, and an unknown or missing field.
    """
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _one_of(arguments, value, name)
    if origin is list:
        items = enumerate(_required(list, value, name))
        return [typed(arguments[0], item, f"{name}[{i}]") for i, item in items]
    if origin is dict:
        values = _required(dict, value, name)
        return {k: typed(arguments[1], item, f"{name} {k}".lstrip()) for k, item in values.items()}
    if hasattr(expected, "from_dict"):
        return expected.from_dict(_required(dict, value, name))
    if dataclasses.is_dataclass(expected) or hasattr(expected, "_fields"):
        return record(expected, _required(dict, value, name))
    if expected is float and type(value) is int and abs(value) < 1 << 1000:
        return float(value)
    return _required(str if origin is typing.Literal else expected, value, name)


def record(record_class: Any, values: dict[str, Any]) -> Any:
    """Build a dataclass or NamedTuple from a JSON object; a missing field has its default.

    ValueError as in `typed`, and where a field without a default is missing.
    """
    field_types = typing.get_type_hints(record_class)
    unknown = sorted(set(values) - set(field_types))
    if unknown:
        named = (f"{name}{did_you_mean(name, field_types)}" for name in unknown)
        raise ValueError(f"unknown field {', '.join(named)}")
    fields = {name: typed(field_types[name], value, name) for name, value in values.items()}
    try:
        return record_class(**fields)
    except TypeError as error:
        missing = [name for name in field_types if name not in fields]
        raise ValueError(f"a field of {', '.join(missing)} is missing") from error


def _one_of(expected: tuple[Any, ...], value: Any, name: str) -> Any:
    for one in expected:
        with contextlib.suppress(ValueError):
            return typed(one, value, name)
    raise _unexpected(" or ".join(map(_name, expected)), value, name)


def _required(expected: Any, value: Any, name: str) -> Any:
    if type(value) is not expected:
        raise _unexpected(_name(expected), value, name)
    for key in value if expected is dict else ():
        _required(str, key, f"{name}: a key".removeprefix(": "))  # YAML takes a yes for true
    return value


def _unexpected(wanted: str, value: Any, name: str) -> ValueError:
    where = f"{name}: " if name else ""
    return ValueError(f"{where}expected {wanted}, not {reprlib.repr(value)}")


def _name(expected: Any) -> str:
    names = {dict: "an object", list: "a list", types.NoneType: "null"}
    return names.get(expected, expected.__name__)
