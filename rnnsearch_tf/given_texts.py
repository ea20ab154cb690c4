"""Texts that a caller gives: sentences, and pairs of a sentence and a translation."""

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.results import Hypothesis, Translation

Line = str | bytes  # bytes are UTF-8; invalid ones count as U+FFFD
Target = Line | Translation | Hypothesis
_Line = TypeVar("_Line", bound=Line)
_Target = TypeVar("_Target", bound=Target)


def decoded(line: Line) -> str:
    """Return the text of a sentence, a plain str also for one of NumPy."""
    return line.decode(errors="replace") if isinstance(line, bytes) else str(line)


def _is_series(values: Any) -> bool:
    """Whether iteration gives a value's elements, and not names, as of a data frame or a dict."""
    is_flat = getattr(values, "ndim", 1) == 1 and not isinstance(values, Mapping)
    return is_flat and hasattr(values, "__iter__")


def each_line(lines: Iterable[_Line], kind: Any = Line) -> Iterator[_Line]:
    """Iterate over sentences; TypeError for a string or, while iterating, for a non-sentence.

    InputError for a str that is not valid Unicode, such as one cut inside an emoji.
    """
    if isinstance(lines, Line):
        raise TypeError("expected an iterable of sentences, not a single sentence")
    if not _is_series(lines):
        raise TypeError(f"expected an iterable of sentences, not {_described(lines)}")
    return (checked_text(line, f"sentence {n:,}", kind) for n, line in enumerate(lines, 1))


def checked_lines(text: Any) -> list[Line]:
    """Return a list of the sentences, or of the single one.

    TypeError if it is neither; InputError as `each_line`.
    """
    return list(each_line([text] if isinstance(text, Line) else _checked_list(text)))


def _checked_list(values: Any) -> Any:
    if not hasattr(values, "__len__") or not _is_series(values):
        raise TypeError(
            f"expected a sentence, a str, or a list of them, not {_described(values)}; the methods "
            "that end in _stream take iterators"
        )
    return values


def checked_text(text: Any, name: str, kind: Any = Line) -> Any:
    """Return the text; TypeError for another type, InputError for a str that is not Unicode."""
    if not isinstance(text, kind):
        raise TypeError(f"{name}: expected a str, not {_described(text)}")
    try:
        if isinstance(text, str):
            text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} is not Unicode: {error.reason}") from error
    return text


def each_pair(
    pairs: Iterable[tuple[_Line, _Target]], kind: Any = Line, target_kind: Any = Target
) -> Iterator[tuple[_Line, _Target]]:
    """Yield the pairs one by one; TypeError for what is not a pair, InputError as `each_line`."""
    for number, pair in enumerate(pairs, 1):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"pair {number:,}: expected a sentence and its translation, not {_described(pair)}"
            )
        source, target = pair
        yield (
            checked_text(source, f"sentence {number:,}", kind),
            checked_text(target, f"translation {number:,}", target_kind),
        )


def checked_pairs(source: Any, target: Any) -> list[tuple[Line, Target]]:
    """Pair a sentence, or a list of them, with translations; InputError if there are not as many.

    TypeError if the sentences or the translations are not strings.
    """
    lines = checked_lines(source)
    targets = [target] if isinstance(target, Target) else _checked_list(target)
    if isinstance(source, Line) and not isinstance(target, Target):
        raise InputError("one sentence, but a list of translations")
    if len(lines) != len(targets):
        raise InputError(f"{len(lines):,} sentences, but {len(targets):,} translations")
    return list(each_pair(zip(lines, targets, strict=True)))


def _described(value: Any) -> str:
    """Show a value of the wrong type, for an error."""
    return f"{reprlib.repr(value)}, of type {type(value).__name__}"
