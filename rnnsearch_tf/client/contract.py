"""The inputs and outputs of the exported signatures."""

import array
import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Output(NamedTuple):
    """An output of a signature."""

    value_type: type[str] | type[float]
    dimensions: tuple[str, ...]  # names; equal names mean equal sizes, B is the batch size
    since: str = ""  # the version of this package whose exports first had it; "" is 0.1.0


class Signature(NamedTuple):
    """A signature; every input is string [B]."""

    inputs: tuple[str, ...]
    outputs: dict[str, Output]


_EACH = ("B",)
_NEW = "0.2"
_TRANSLATION = {"translation": Output(str, _EACH), "score": Output(float, _EACH)}

_LIST = {
    "translations": Output(str, ("B", "N")),
    "scores": Output(float, ("B", "N")),
    "normalized_scores": Output(float, ("B", "N")),
    "words": Output(str, ("B", "N", "W"), _NEW),
    "word_scores": Output(float, ("B", "N", "W"), _NEW),
}

SIGNATURES = {
    "serving_default": Signature(("text",), _TRANSLATION),
    "nbest": Signature(("text",), _LIST),
    "complete": Signature(("text", "prefix"), _LIST),
    "align": Signature(
        ("text",),
        {
            **_TRANSLATION,
            "source_tokens": Output(str, ("B", "Tx")),
            "model_input": Output(str, ("B", "Tx"), _NEW),
            "target_tokens": Output(str, ("B", "Ty")),
            "word_scores": Output(float, ("B", "Ty"), _NEW),
            "alignment": Output(float, ("B", "Ty", "Tx")),
            "left_out": Output(float, _EACH, _NEW),
        },
    ),
    "score": Signature(
        ("text", "translation"),
        {
            "score": Output(float, _EACH),
            "words": Output(str, ("B", "W"), _NEW),
            "word_scores": Output(float, ("B", "W"), _NEW),
        },
    ),
    "describe": Signature(
        ("text",),
        {
            "source_language": Output(str, _EACH),
            "target_language": Output(str, _EACH),
            "alignment": Output(str, _EACH, _NEW),
            "completions": Output(str, _EACH, _NEW),
        },
    ),
}


Columns = dict[str, list[Any]]  # name of an output to nested lists, one level per dimension


class UnexpectedAnswer(Exception):
    """An answer that breaks the contract; the message says how."""


def checked(columns: Mapping[str, Any], signature: Signature, rows: int) -> Columns:
    """Check the outputs of a signature that the export has, for B rows; round to float32.

    Raises `UnexpectedAnswer` for a missing output, other types or sizes, a number that is not
    finite.
    """
    sizes = {"B": rows}
    outputs = {}
    for name, output in signature.outputs.items():
        if name not in columns:
            if output.since:
                continue
            raise UnexpectedAnswer(f"has no output {name!r}")
        with concerning(name):
            outputs[name] = _checked(columns[name], output.value_type, output.dimensions, sizes)
    return outputs


@contextlib.contextmanager
def concerning(name: str) -> Iterator[None]:
    """Return a context in which an `UnexpectedAnswer` names this output."""
    try:
        yield
    except UnexpectedAnswer as error:
        raise UnexpectedAnswer(f"output {name!r} {error}") from error


def _checked(
    values: Any, value_type: type, dimensions: tuple[str, ...], sizes: dict[str, int]
) -> list[Any]:
    """Check nested lists; sizes of dimensions that `sizes` lacks are added to it."""
    if not isinstance(values, list):
        raise UnexpectedAnswer(f"has {type(values).__name__} where a list belongs")
    size = sizes.setdefault(dimensions[0], len(values))
    if len(values) != size:
        raise UnexpectedAnswer(f"has {len(values)} where {size} belong")
    if not values:
        raise UnexpectedAnswer("has an empty list")
    if len(dimensions) > 1:
        return [_checked(value, value_type, dimensions[1:], sizes) for value in values]
    return _texts(values) if value_type is str else _numbers(values)


def _texts(values: list[Any]) -> list[str]:
    for value in values:
        if not isinstance(value, str):
            raise UnexpectedAnswer(f"has {type(value).__name__} where text belongs")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnexpectedAnswer("has text that is not Unicode") from error
    return values


def _numbers(values: list[Any]) -> list[float]:
    for value in values:
        if type(value) not in (float, int):  # bool is an int to isinstance
            raise UnexpectedAnswer(f"has {type(value).__name__} where a number belongs")
    try:
        numbers = array.array("f", values).tolist()
    except OverflowError as error:
        raise UnexpectedAnswer("has a number beyond float32") from error
    if not all(map(math.isfinite, numbers)):
        raise UnexpectedAnswer("has a number that is not finite")
    return numbers
