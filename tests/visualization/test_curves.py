"""Curves: BLEU by source length with intervals, and training runs."""

import itertools
import xml.etree.ElementTree as ET

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.visualization import curves
from rnnsearch_tf.visualization.curves import draw_bleu_by_length, draw_training
from rnnsearch_tf.visualization.image_files import PAGE

SVG = "{http://www.w3.org/2000/svg}"


def texts(path) -> list[str]:
    return [text.text or "" for text in ET.parse(path).iter(f"{SVG}text")]


def filled(path, color: str) -> int:
    """How many marks have this color inside."""
    wanted = f"fill: {color}"
    return sum(wanted in (mark.get("style") or "") for mark in ET.parse(path).iter(f"{SVG}use"))


def test_bleu_by_length_names_systems_bins_and_marks(tmp_path):
    one = [LengthBin(1, 10, 5, 30.0), LengthBin(11, 20, 5, 20.0)]
    other = [LengthBin(1, 10, 5, 25.0), LengthBin(11, 23, 5, 20.0)]
    draw_bleu_by_length(tmp_path / "a.svg", {"one": one, "other $1": other}, marks=[15])
    labels = texts(tmp_path / "a.svg")
    draw_bleu_by_length(tmp_path / "b.svg", {"_one": one, "$x_{1$": other, r"\alpha": one})
    assert {" _one", "$x_{1$", r"\alpha"} <= set(texts(tmp_path / "b.svg"))
    assert {"one", "1–10", "11–20", "11–23", "training ≤ 15", "BLEU"} <= set(labels)
    assert not any("confidence" in text or "hollow" in text for text in labels)
    with pytest.raises(InputError, match="other: no BLEU by length"):
        draw_bleu_by_length(tmp_path / "c.svg", {"one": one, "other": []})
    draw_bleu_by_length(tmp_path / "a.png", {"one": one})
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def box(element, axes) -> tuple[float, float, float, float]:
    """The left, bottom, right and top of something drawn, in shares of the axes."""
    extent = element.get_window_extent().transformed(axes.transAxes.inverted())
    lowered = getattr(element, "get_text", str)().startswith("\n")  # the upper line is empty
    return extent.x0, extent.y0, extent.x1, (extent.y0 + extent.y1) / 2 if lowered else extent.y1


def overlap(a, b) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_legend_and_marks_are_outside_the_axes_and_no_labels_overlap(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(curves, "save_figure", lambda figure, path: drawn.append(figure))
    spans = [*((low, low + 9) for low in range(1, 60, 10)), (51, 63), (61, 107)]
    system = [LengthBin(*span, 9, 20.0, interval=3.0) for span in spans]
    names = ["one", "other", "a long name that is wider than half of the figure (against one)"]
    many = [*names, *(f"a folder with a name of its own, number {i}" for i in range(9)), "x" * 99]
    draw_bleu_by_length(tmp_path / "a.svg", dict.fromkeys(names, system), marks=[30, 50])
    long = [LengthBin(low, low + 9, 9, 20.0) for low in range(1, 400, 10)]
    draw_bleu_by_length(tmp_path / "c.svg", {"one": long[:15]})
    draw_bleu_by_length(tmp_path / "d.svg", {"one": long})
    for some in (spans[:1], [*spans[:6], (61, 150)], [*spans[:6], (61, 300)]):
        bins = [LengthBin(*span, 9, 20.0) for span in some]
        draw_bleu_by_length(tmp_path / "f.svg", {"one": bins, "two": bins}, marks=[50, 30])
    draw_training(tmp_path / "b.svg", dict.fromkeys(names, TRAINED[:1]))
    long_run = [TRAINED[0], {**TRAINED[1], "updates": 400_000}]
    draw_training(tmp_path / "g.svg", {"one": long_run})
    draw_training(tmp_path / "e.svg", dict.fromkeys(many, TRAINED))
    looks = [(line.get_color(), line.get_marker()) for line in drawn[-1].axes[1].get_lines()]
    assert len({*looks}) == len(many)
    for figure in drawn:
        FigureCanvasAgg(figure).draw()
        (legend,) = figure.legends
        assert legend.get_window_extent().x1 <= figure.bbox.x1
        for axes in figure.axes:
            assert axes.get_window_extent().height > figure.dpi  # an inch
            assert box(legend, axes)[1] > 1
            labels = [box(label, axes) for label in axes.get_xticklabels() if label.get_text()]
            marks = [box(text, axes) for text in axes.texts]
            if axes.get_xlabel() == "updates":
                assert all(float(tick).is_integer() for tick in axes.get_xticks())
            assert all(mark[1] >= 1 for mark in marks)
            for one, other in itertools.combinations([*labels, *marks, box(legend, axes)], 2):
                assert not overlap(one, other)


def test_intervals_are_bars_and_differences_by_chance_are_hollow(tmp_path):
    bins = [
        LengthBin(1, 10, 5, 30.0, interval=2.0, p_value=0.049),
        LengthBin(11, 20, 5, 20.0, interval=None, p_value=0.05),
        LengthBin(21, 30, 5, 10.0, interval=1.0),
    ]
    draw_bleu_by_length(tmp_path / "with.svg", {"one": bins}, compared=["one"])
    text = "\n".join(texts(tmp_path / "with.svg"))
    assert (
        "bars: 95% confidence intervals" in text
        and "hollow: p ≥ 0.05, or too few sentences" in text
    )
    plain = [LengthBin(*b[:4]) for b in bins]
    draw_bleu_by_length(tmp_path / "without.svg", {"one": plain})
    hollow = [filled(tmp_path / f"{name}.svg", PAGE) for name in ("with", "without")]
    assert hollow == [2, 0]  # p ≥ 0.05, and no p
    draw_bleu_by_length(tmp_path / "untold.svg", {"one": plain}, compared=["one"])
    assert filled(tmp_path / "untold.svg", PAGE) == 3  # too few sentences in each bin
    bars = [
        sum(b"LineCollection" in line for line in (tmp_path / f"{name}.svg").read_bytes().split())
        for name in ("with", "without")
    ]
    assert bars == [1, 0]


TRAINED = [
    {"updates": 10, "train_nll_per_token": 5.0, "nll_per_token": 4.0, "bleu": 3.0},
    {"updates": 20, "train_nll_per_token": 2.0, "nll_per_token": 2.5, "bleu": 9.0},
]


def test_trainings_are_curves_of_what_their_logs_have(tmp_path):
    unevaluated = [{"updates": 10, "train_nll_per_token": 5.0}]
    old = [{"updates": 10, "nll_per_token": 5.0, "bleu": 1.0}]
    logs = {"all": TRAINED, "unevaluated": unevaluated, "old": old}
    draw_training(tmp_path / "a.svg", logs, regularized=["unevaluated"])
    labels = texts(tmp_path / "a.svg")
    curves = [text for text in labels if text.split(",")[0] in logs]
    assert curves == [
        "all, training", "all, validation", "unevaluated, training loss", "old, validation"
    ]  # fmt: skip
    assert "updates" in labels and "BLEU (validation set)" in labels


def test_a_training_without_evaluations_cannot_be_drawn(tmp_path):
    with pytest.raises(InputError, match="new: no evaluation to draw"):
        draw_training(tmp_path / "a.svg", {"all": TRAINED, "new": []})
    assert list(tmp_path.iterdir()) == []
