"""Shapes of what an attention is called with: states and annotations."""

from collections.abc import Sequence
from typing import Any

import keras


def check_shapes(
    layer: keras.layers.Layer, state: Any, annotations: Any, n: Any = None, two_n: Any = None
) -> None:
    """Check the shapes of states and annotations, and the widths that the layer was built for.

    Raises:
        ValueError: another rank or width; the text says whether the two are swapped.
    """
    if _fits(state, (2, 3), n) and _fits(annotations, (3,), two_n):
        return
    are_swapped = _fits(annotations, (2, 3), n) and _fits(state, (3,), two_n)
    n, two_n = n or "n", two_n or "2n"
    raise ValueError(
        f"{type(layer).__name__}(state, annotations): shapes are {tuple(state)} and "
        f"{tuple(annotations)}, not [B, {n}] or [B, Ty, {n}] and [B, Tx, {two_n}]"
        + (": the two are swapped" if are_swapped else "")
    )


def check_optional(
    layer: keras.layers.Layer, keys: Any = None, mask: Any = None, units: int | None = None
) -> None:
    """Check the ranks of given keys and mask; ValueError as `check_shapes`."""
    if keys is not None and not _fits(keys.shape, (3,), units):
        raise ValueError(
            f"{type(layer).__name__}: keys are [B, Tx, {units}], not {tuple(keys.shape)}"
        )
    if mask is not None and not _fits(mask.shape, (2,), None):
        raise ValueError(
            f"{type(layer).__name__}: annotations_mask is [B, Tx], not {tuple(mask.shape)}"
        )


def _fits(shape: Sequence[int | None], ranks: tuple[int, ...], width: int | None) -> bool:
    return len(shape) in ranks and width in (None, shape[-1])
