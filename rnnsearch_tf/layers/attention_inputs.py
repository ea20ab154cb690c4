"""Shapes of what an attention is called with: states and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

_Shape = Sequence[int | None]


def check_shapes(
    layer: keras.layers.Layer,
    state_shape: _Shape,
    annotations_shape: _Shape,
    n: int | None = None,
    two_n: int | None = None,
) -> None:
    """Check the arguments of an attention.

    Args:
        layer: the attention.
        state_shape: [R, n] or [B, Ty, n].
        annotations_shape: [B, Tx, 2n].
        n: width of the states that the layer was built for; None before.
        two_n: likewise of the annotations.

    Raises:
        ValueError: another rank or width; the text says whether the two are swapped.
    """
    if _fits(state_shape, (2, 3), n) and _fits(annotations_shape, (3,), two_n):
        return
    are_swapped = _fits(annotations_shape, (2, 3), n) and _fits(state_shape, (3,), two_n)
    raise ValueError(
        f"{type(layer).__name__}(state, annotations) takes states [R, {n or 'n'}] or "
        f"[B, Ty, {n or 'n'}] and annotations [B, Tx, {two_n or '2n'}], not {_text(state_shape)} "
        f"and {_text(annotations_shape)}{': they are swapped' if are_swapped else ''}"
    )


def states_of_each(queries: Sequence[Any], sentences: Any) -> Any:
    """Return Q, the number of states of each sentence, where states are [*queries, n].

    It is 1 when there is no sentence, so that an empty batch has a shape, too.
    """
    if len(queries) == 2:
        return queries[1]
    if keras.backend.backend() == "tensorflow":
        return ops.maximum(queries[0], 1) // ops.maximum(sentences, 1)
    return queries[0] // sentences  # elsewhere shapes are integers, not tensors


def _fits(shape: _Shape, ranks: tuple[int, ...], width: int | None) -> bool:
    return len(shape) in ranks and (width is None or shape[-1] == width)


def _text(shape: _Shape) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
