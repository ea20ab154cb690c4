"""JSON of any size, parsed in pieces."""

import json
import re
from collections.abc import Callable
from typing import Any

_PIECE_CHARACTERS = 1 << 16
_CLOSING = {"[": "]", "{": "}"}
_BLANKS = re.compile(r"[ \t\n\r]*")
_parsed = json.JSONDecoder().raw_decode  # (text, start) -> value and place of its end


def parse_in_pieces(body: bytes, pause: Callable[[], None]) -> Any:
    """Parse JSON in UTF-8, list by list; ValueError or RecursionError where it cannot be.

    Python's parser lets no other thread run before it ends, so it is given no list and no object of
    more than 65,536 characters at a time. `pause` is called before each piece; an error that it
    raises ends the work.
    """
    text = body.decode()
    value, end = _value(text, _after_blanks(text, 0), pause)
    if _after_blanks(text, end) != len(text):
        raise ValueError("more than one value")
    return value


def _value(text: str, start: int, pause: Callable[[], None]) -> tuple[Any, int]:
    """Parse the value that begins at `start`; return it and the place of its end."""
    pause()
    if text[start : start + 1] not in _CLOSING:
        return _parsed(text, start)
    try:
        value, length = _parsed(text[start : start + _PIECE_CHARACTERS])
    except ValueError:  # it is longer, or wrong
        return _long_value(text, start, pause)
    return value, start + length


def _long_value(text: str, start: int, pause: Callable[[], None]) -> tuple[Any, int]:
    """Parse a list or an object item by item."""
    closing = _CLOSING[text[start]]
    names: list[str] = []
    values: list[Any] = []
    place = start
    separator = ","
    while separator == ",":
        place = _after_blanks(text, place + 1)
        if not values and text.startswith(closing, place):
            break
        if closing == "}":
            name, place = _name(text, place)
            names.append(name)
        value, place = _value(text, place, pause)
        values.append(value)
        place = _after_blanks(text, place)
        separator = text[place : place + 1]
    if not text.startswith(closing, place):
        raise ValueError(f"no , or {closing} at {place:,}")
    return dict(zip(names, values, strict=True)) if closing == "}" else values, place + 1


def _name(text: str, start: int) -> tuple[str, int]:
    """Parse the name of an item of an object; return it and the place of the item's value."""
    name, place = _parsed(text, start)
    place = _after_blanks(text, place)
    if not isinstance(name, str) or not text.startswith(":", place):
        raise ValueError(f"no name at {start:,}")
    return name, _after_blanks(text, place + 1)


def _after_blanks(text: str, start: int) -> int:
    found = _BLANKS.match(text, start)
    assert found is not None  # it may be empty
    return found.end()
