"""JSON of any size, parsed in pieces."""

import json
from collections.abc import Callable
from json.decoder import JSONArray, JSONObject  # type: ignore[attr-defined]
from typing import Any

_PIECE_CHARACTERS = 1 << 16
_MAX_LISTS = 1_000_000
_MAX_VALUES = 1 << 24  # an answer of 256 MiB has fewer weights
_parsed = json.JSONDecoder().raw_decode  # (text, start) -> value and place of its end


def parse_in_pieces(body: bytes, pause: Callable[[], None]) -> Any:
    """Parse JSON in UTF-8, list by list; ValueError or RecursionError where it cannot be.

    Python's parser lets no other thread run before it ends, so it is given no list and no object of
    more than 65,536 characters at a time. `pause` is called before each piece; an error that it
    raises ends the work. ValueError for more lists and objects, or more values, than answers have:
    as Python objects, they take up to 50 times the memory of their text.
    """
    if body.count(b"[") + body.count(b"{") > _MAX_LISTS or body.count(b",") > _MAX_VALUES:
        raise ValueError(f"more than {_MAX_LISTS:,} lists and objects, or {_MAX_VALUES:,} values")

    def value(text: str, start: int) -> tuple[Any, int]:
        """Parse the value that begins at `start`; return it and the place of its end."""
        pause()
        first = text[start : start + 1]
        if first not in ("[", "{"):
            return _parsed(text, start)
        try:
            found, length = _parsed(text[start : start + _PIECE_CHARACTERS])
        except ValueError:  # it is longer, or wrong
            inside = text, start + 1
            if first == "[":
                return JSONArray(inside, value)
            return JSONObject(inside, True, value, None, None)
        return found, start + length

    decoder = json.JSONDecoder()
    decoder.scan_once = value  # type: ignore[attr-defined]
    return decoder.decode(body.decode())
