"""Draw docs/network.svg: RNNsearch, from the layers, weights and shapes of the model itself.

    python docs/network.py

A small model is built in which every axis has another length, so that each length in a shape says
which axis it is. Only the places of the boxes stand here; a layer that is gone is an error.
"""

import dataclasses
import html
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from rnnsearch_tf.config import RNNSEARCH, ModelConfig
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.presets import PRESETS

PICTURE = Path(__file__).resolve().parent / "network.svg"

SIZES = {"Kx": 61, "Ky": 67, "m": 47, "n": 53, "n'": 59, "l": 43}
LENGTHS = {"B": 3, "Tx": 5, "Ty": 7}
AXES = {size: axis for axis, size in (SIZES | LENGTHS).items()}
AXES |= {2 * SIZES[axis]: f"2{axis}" for axis in ("n", "l")}

WIDTH, HEIGHT = 945, 636
BOX = (190, 62)  # width and height
STYLE = """
  svg { --back: #ffffff; --group: #f3f5f8; --box: #ffffff; --line: #5b6675; --text: #17202b;
        --soft: #56606d; --accent: #0b63b0; --inner: #d5dbe3 }
  @media (prefers-color-scheme: dark) {
    svg { --back: #14181d; --group: #1d232a; --box: #28303a; --line: #9aa7b6; --text: #e9eef4;
          --soft: #aab5c1; --accent: #7cc0ff; --inner: #3a4450 }
  }
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--text) }
  .name { font-weight: 600 } .class, .shape { fill: var(--soft); font-size: 12px }
  .shape { font-family: ui-monospace, "DejaVu Sans Mono", monospace }
  .symbol { fill: var(--accent); font-style: italic }
  .halo { paint-order: stroke; stroke: var(--group); stroke-width: 5px; stroke-linejoin: round }
  .group { fill: var(--group) } .box { fill: var(--box); stroke: var(--inner) }
  path { fill: none; stroke: var(--line); stroke-width: 1.5 } marker path { fill: var(--line) }
"""

ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>'
)


class Place(NamedTuple):
    """The middle of a box, in px."""

    x: float
    y: float


PLACES = {
    "source_embedding": Place(215, 140),
    "forward": Place(115, 270),
    "backward": Place(315, 270),
    "initial_state": Place(570, 140),
    "target_embedding": Place(785, 140),
    "attention": Place(570, 335),
    "decoder": Place(785, 335),
    "readout": Place(677, 520),
}
GROUPS = {"source_side": (10, 70, 410, 365), "target_side": (465, 70, 470, 365)}


def build() -> TranslationModel:
    """Make a model whose axes differ in length."""
    sizes: Any = SIZES.values()
    return TranslationModel(ModelConfig(RNNSEARCH, *sizes))


def tensor_shapes(model: TranslationModel) -> dict[str, list[str]]:
    """Return the shapes of the outputs of each layer of the model, with axes for lengths."""
    layers = [model.get_layer(name) for name in (*GROUPS, "readout")]
    outputs = keras.Model(model.inputs, [layer.output for layer in layers])
    source = np.ones((LENGTHS["B"], LENGTHS["Tx"]), np.int32)
    target = np.ones((LENGTHS["B"], LENGTHS["Ty"]), np.int32)
    values = outputs({"source": source, "target": target})
    return {
        layer.name: [axes(tensor.shape) for tensor in keras.tree.flatten(value)]
        for layer, value in zip(layers, values, strict=True)
    }


def axes(shape: Iterable[int]) -> str:
    """Write a shape with the names of its axes."""
    return f"[{', '.join(AXES[length] for length in shape)}]"


def layers_with_weights(model: TranslationModel) -> dict[str, keras.layers.Layer]:
    """Return the innermost layers that have weights, by name."""
    found: dict[str, keras.layers.Layer] = {}
    for layer in model.layers:
        inner = [each for each in layer._flatten_layers(include_self=False) if each.weights]
        found |= {each.name: each for each in (inner or [layer]) if each.weights}
    return found


def parameters(layer: keras.layers.Layer) -> int:
    """Count the weights that a layer has in the paper's model."""
    config = dataclasses.asdict(PRESETS["rnnsearch-50"].model)
    fields = ("source_vocabulary_size", "target_vocabulary_size", "embedding_size", "hidden_size",
              "attention_size", "maxout_size")  # fmt: skip
    paper = {SIZES[axis]: config[field] for axis, field in zip(SIZES, fields, strict=True)}
    paper |= {2 * size: 2 * length for size, length in list(paper.items())}
    return sum(math.prod(paper[length] for length in weight.shape) for weight in layer.weights)


def text(x: float, y: float, content: str, kind: str, anchor: str = "middle") -> str:
    """Write a line of text."""
    escaped = html.escape(content, quote=False)
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{escaped}</text>'


def box(layer: keras.layers.Layer) -> str:
    """Draw a layer: its name, class, weights and their number."""
    x, y = PLACES[layer.name]
    width, height = BOX
    if layer.name == "readout":
        width = 405
    names = {weight.path.split("/")[-1] for weight in layer.weights}
    if "W_z" in names:  # three of each: candidate and gates
        names = {name for name in names if "_" not in name}
    left, top = x - width / 2, y - height / 2
    return "\n".join([
        f'<rect class="box" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>',
        text(x, y - 12, layer.name, "name"),
        text(x, y + 5, type(layer).__name__, "class"),
        text(x, y + 22, f"{', '.join(sorted(names))} · {parameters(layer) / 1e6:.1f} M", "class"),
    ])  # fmt: skip


def arrow(*points: tuple[float, float]) -> str:
    """Draw a line through points, with an arrow at its end."""
    path = " L ".join(f"{x} {y}" for x, y in points)
    return f'<path d="M {path}" marker-end="url(#arrow)"/>'


def label(x: float, y: float, symbol: str, shape: str = "", anchor: str = "start") -> str:
    """Write what flows along an arrow: its symbol in the paper, and its shape."""
    lines = [text(x, y, symbol, "symbol halo", anchor)]
    return "\n".join([*lines, text(x, y + 16, shape, "shape halo", anchor)] if shape else lines)


def arrows(shapes: dict[str, list[str]]) -> list[str]:
    """Draw what flows between the boxes."""
    annotations, last = shapes["source_side"]
    states, words, contexts, alignment = shapes["target_side"]
    (logits,) = shapes["readout"]
    half = BOX[1] / 2
    ids = [axes(LENGTHS[axis] for axis in pair) for pair in (("B", "Tx"), ("B", "Ty"))]
    return [
        arrow((215, 44), (215, 140 - half)), label(225, 34, "x, ids with </s>", ids[0]),
        arrow((785, 44), (785, 140 - half)), label(775, 34, "y, ids with </s>", ids[1], "end"),
        arrow((170, 140 + half), (115, 270 - half)), arrow((260, 140 + half), (315, 270 - half)),
        label(215, 212, "E x", anchor="middle"),
        arrow((115, 270 + half), (160, 367)), arrow((315, 270 + half), (270, 367)),
        label(112, 340, "→h", anchor="end"), label(312, 340, "←h"),
        '<rect class="box" x="105" y="368" width="220" height="46" rx="23"/>',
        text(215, 387, "h = [→h ; ←h]", "symbol"), text(215, 404, annotations, "shape"),
        arrow((325, 391), (400, 391), (440, 335), (570 - BOX[0] / 2, 335)),
        arrow((410, 255), (442, 255), (442, 140), (570 - BOX[0] / 2, 140)),
        label(437, 108, "←h₁", last, "middle"),
        arrow((640, 140 + half), (735, 335 - half)), label(700, 232, "s₀"),
        arrow((800, 140 + half), (800, 335 - half)), label(808, 200, "E yᵢ"),
        arrow((880, 140), (918, 140), (918, 520), (880, 520)),
        label(912, 440, "E yᵢ₋₁", words, "end"),
        arrow((665, 322), (690, 322)), label(677, 314, "c", anchor="middle"),
        arrow((690, 350), (665, 350)), label(677, 372, "sᵢ₋₁", anchor="middle"),
        arrow((570, 335 + half), (570, 520 - half)), arrow((785, 335 + half), (785, 520 - half)),
        label(580, 392, "c", contexts), label(795, 392, "sᵢ₋₁", states),
        arrow((510, 335 + half), (510, 430)), label(510, 450, "α", alignment, "middle"),
        arrow((677, 520 + half), (677, 600)), label(687, 590, "logits of the next word", logits),
    ]  # fmt: skip


def draw(model: TranslationModel) -> str:
    """Return the picture as SVG."""
    groups = [
        f'<rect class="group" x="{x}" y="{y}" width="{width}" height="{height}" rx="12"/>'
        + text(x + 14, y + 22, f"{name}: {type(model.get_layer(name)).__name__}", "class", "start")
        for name, (x, y, width, height) in GROUPS.items()
    ]
    layers = layers_with_weights(model)
    total = sum(map(parameters, layers.values())) / 1e6
    title = f"RNNsearch with n = n' = 1000, m = 620, l = 500, K = 30,000: {total:.1f} M weights"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{html.escape(title, quote=False)}</title>",
        f"<style>{STYLE}</style>",
        ARROW,
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="12" fill="var(--back)"/>',
        *groups, *arrows(tensor_shapes(model)), *map(box, layers.values()),
        text(20, HEIGHT - 20, title, "class", "start"),
        "</svg>",
    ]) + "\n"  # fmt: skip


if __name__ == "__main__":
    PICTURE.write_text(draw(build()), "utf-8")
