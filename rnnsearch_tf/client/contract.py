"""What the exported signatures take and give."""

from typing import NamedTuple


class Output(NamedTuple):
    """An output of a signature."""

    kind: type[str] | type[float]
    dimensions: tuple[str, ...]  # by name: the same name, the same size; B is the batch


class Signature(NamedTuple):
    """A signature; every input is string [B]."""

    inputs: tuple[str, ...]
    outputs: dict[str, Output]


_EACH = ("B",)
_TRANSLATION = {"translation": Output(str, _EACH), "score": Output(float, _EACH)}

SIGNATURES = {
    "serving_default": Signature(("text",), _TRANSLATION),
    "nbest": Signature(
        ("text",),
        {
            "translations": Output(str, ("B", "N")),
            "scores": Output(float, ("B", "N")),
            "normalized_scores": Output(float, ("B", "N")),
        },
    ),
    "align": Signature(
        ("text",),
        {
            **_TRANSLATION,
            "source_tokens": Output(str, ("B", "Tx")),
            "target_tokens": Output(str, ("B", "Ty")),
            "alignment": Output(float, ("B", "Ty", "Tx")),
        },
    ),
    "score": Signature(("text", "translation"), {"score": Output(float, _EACH)}),
}
