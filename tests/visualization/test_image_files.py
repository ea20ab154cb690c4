"""Formats of pictures, by the endings of their names."""

import re
import xml.etree.ElementTree as ET

import matplotlib
import pytest
from matplotlib.figure import Figure

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.visualization.image_files import (
    INK,
    PAGE,
    figure_style,
    image_format,
    save_figure,
)


def figure() -> Figure:
    with figure_style():
        figure = Figure((2, 1), dpi=50)
        figure.add_subplot().set_title("élu: a $5 <title>", parse_math=False)
    return figure


@pytest.mark.parametrize(
    ("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")]
)
def test_the_ending_says_which_kind(tmp_path, name, start):
    path = tmp_path / "made" / name
    save_figure(figure(), path)
    assert path.read_bytes().startswith(start)
    assert [file.name for file in path.parent.iterdir()] == [name]


@pytest.mark.parametrize(
    "style",
    ["dark_background", "seaborn-v0_8", {"text.usetex": True, "savefig.facecolor": "black"}],
)
def test_the_style_of_the_user_changes_nothing(tmp_path, style):
    with matplotlib.style.context(style):
        save_figure(figure(), tmp_path / "a.svg")
    save_figure(figure(), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_every_color_of_an_svg_changes_on_a_dark_page(tmp_path):
    save_figure(figure(), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text("utf-8")
    style = next(ET.parse(tmp_path / "a.svg").iter("{http://www.w3.org/2000/svg}style")).text or ""
    assert "@media (prefers-color-scheme: dark)" in style
    drawn = text.replace(style, "")
    for field in ("fill", "stroke"):
        for color in set(re.findall(rf"{field}: (#\w+)", drawn)):
            assert color in (INK, PAGE)
            assert f'[style*="{field}: {color}"]' in style


def test_a_pdf_has_the_fonts_of_its_words(tmp_path):
    save_figure(figure(), tmp_path / "a.pdf")
    assert b"/FontFile2" in (tmp_path / "a.pdf").read_bytes()


def test_equal_figures_are_equal_files(tmp_path, monkeypatch):
    for ending in ("svg", "png", "pdf"):
        for name, seconds in (("a", "1"), ("b", "2000000000")):
            monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)  # the time that a file would have
            save_figure(figure(), tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_full_disk_is_told_by_the_file(tmp_path, ending):
    """A limit on a file's size stops the same calls that a full disk stops."""
    resource = pytest.importorskip("resource", reason="of POSIX")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError) as caught:
            save_figure(figure(), tmp_path / f"a.{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.filename == str(tmp_path / f"a.{ending}")
    assert list(tmp_path.iterdir()) == []


def test_other_endings_are_refused_and_nothing_is_written(tmp_path):
    for name in ("a.gif", "a", "png"):
        with pytest.raises(InputError, match=r"must end in \.png, \.svg or \.pdf"):
            save_figure(figure(), tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"x\.gif: .* must end in \.png, \.svg or \.html"):
        image_format("x.gif", (".png", ".svg", ".html"))
