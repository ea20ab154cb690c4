"""Pictures of soft alignments: their cells, their words, and how large they may be."""

import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from made_font import FIRST, install_font
from matplotlib import image

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.visualization import alignment_matrix
from rnnsearch_tf.visualization.alignment_matrix import draw_alignment, paint_alignment
from rnnsearch_tf.visualization.image_files import INK

SOURCE = ["The", "$5", "</s>"]
TARGET = ["Les", "5", "$", "<b>", "</s>"]
ALPHA = np.float32([[1, 0, 0], [0.25, 0.5, 0.25], [0, 1, 0], [0, 0, 0], [0, 0.2, 0.8]])  # [Ty, Tx]
CELL, MARGIN, DPI = 0.2, 0.08, 150  # inches, inches, dots per inch
SVG = "{http://www.w3.org/2000/svg}"


def svg_texts(path) -> list[str]:
    return [text.text or "" for text in ET.parse(path).iter(f"{SVG}text")]


def gray_of_cells(picture: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """The color in the middle of each cell, 0 to 1; the matrix ends at the margin."""
    cell, margin = CELL * DPI, MARGIN * DPI
    height, width = picture.shape[:2]
    y = height - margin - cell * (rows - np.arange(rows) - 0.5)
    x = width - margin - cell * (columns - np.arange(columns) - 0.5)
    return picture[np.ix_(y.astype(int), x.astype(int))][..., :3].mean(-1)


def test_a_png_has_the_papers_gray_scale(tmp_path):
    draw_alignment(tmp_path / "a.png", ALPHA, SOURCE, TARGET)
    picture = image.imread(tmp_path / "a.png")
    np.testing.assert_allclose(gray_of_cells(picture, 5, 3), ALPHA, atol=1 / 255)
    draw_alignment(tmp_path / "b.png", np.float32([[0.3, 0.7]]), ["a", "b"], ["c"])
    cells = gray_of_cells(image.imread(tmp_path / "b.png"), 1, 2)
    np.testing.assert_allclose(cells, [[0.3, 0.7]], atol=1 / 255)
    painted = paint_alignment(ALPHA, SOURCE, TARGET)
    assert painted.shape == picture.shape
    np.testing.assert_allclose(painted / 255, picture, atol=1e-6)


def test_what_is_not_finite_is_black_and_the_users_style_draws_no_grid():
    words = ["a", "b"], ["c", "d"]
    weights = np.array([[1.0, 0.0], [0.25, 0.75]], np.float32)
    expected = paint_alignment(weights, *words)
    with matplotlib.rc_context({"axes.grid": True, "image.origin": "lower"}):
        np.testing.assert_array_equal(paint_alignment(weights, *words), expected)
    unknown = paint_alignment(np.array([[np.nan, np.inf], [0.25, 0.75]]), *words)
    np.testing.assert_array_equal(unknown, paint_alignment(weights * [[0], [1]], *words))


def test_an_svg_has_the_words_as_text_in_order(tmp_path):
    source, target = ["$x$", *SOURCE], [*TARGET[:-1], "中文", "العربية"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the viewer has fonts of its own
        draw_alignment(tmp_path / "a.svg", np.eye(6, 4), source, target)
    assert svg_texts(tmp_path / "a.svg") == [*source, *target]
    draw_alignment(tmp_path / "b.svg", np.eye(1), ["a\uffff"], ["b\ufffe\x01"])  # none is XML's
    assert svg_texts(tmp_path / "b.svg") == ["a\ufffd", "b\ufffd\ufffd"]


@pytest.mark.skipif(
    matplotlib.__version_info__ < (3, 11),
    reason="Matplotlib 3.10 takes letters that no font here has for narrow ones",
)
def test_an_svg_leaves_room_for_wide_letters(tmp_path):
    widths = []
    for word in ("l" * 10, "中" * 10):
        draw_alignment(tmp_path / "a.svg", np.eye(1), ["a"], [word])
        widths.append(float(ET.parse(tmp_path / "a.svg").getroot().attrib["width"][:-2]))
    assert widths[1] >= 100 + CELL * 72 > widths[0]


def test_html_is_a_page(tmp_path):
    path = tmp_path / "new" / "a.html"
    draw_alignment(path, ALPHA, SOURCE, TARGET, languages=("en", "pt_BR"))
    page = (tmp_path / "new" / "a.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert "[0.25,0.5,0.25]" in page and '"languages":["en","pt-BR"]' in page


def test_html_is_made_without_matplotlib(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from rnnsearch_tf.visualization.alignment_matrix import draw_alignment\n"
        "draw_alignment(sys.argv[1], [[1.0]], ['a'], ['b'])"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "a.html"], check=True)
    assert (tmp_path / "a.html").exists()


def test_each_word_has_the_same_room_however_many_they_are(tmp_path):
    for words in (7, 40):
        draw_alignment(tmp_path / f"{words}.png", np.eye(words), ["w"] * words, ["w"] * words)
    small, large = (image.imread(tmp_path / f"{words}.png").shape[0] for words in (7, 40))
    assert large - small == pytest.approx(33 * CELL * DPI, abs=2)


def test_large_pictures_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(alignment_matrix, "MAX_PIXELS", 40_000)
    draw_alignment(tmp_path / "a.png", np.eye(11), ["w"] * 11, ["w"] * 11)
    height, width = image.imread(tmp_path / "a.png").shape[:2]
    assert 39_000 < height * width <= 40_800
    many = np.eye(29), ["w"] * 29, ["w"] * 29
    with pytest.raises(InputError, match=r"b\.png: 29 × 29 words are too many for a PNG; use"):
        draw_alignment(tmp_path / "b.png", *many)
    draw_alignment(tmp_path / "b.svg", *many)
    assert not (tmp_path / "b.png").exists()


def test_very_long_words_and_controls_are_shortened_and_replaced(tmp_path):
    draw_alignment(tmp_path / "a.svg", np.eye(2), ["x" * 41, "y" * 40], ["a\x01b", "c"])
    assert svg_texts(tmp_path / "a.svg") == ["x" * 39 + "…", "y" * 40, "a\ufffdb", "c"]


def test_other_shapes_are_refused(tmp_path):
    for ending in ("png", "svg", "pdf", "html"):
        with pytest.raises(ValueError, match="but there are"):
            draw_alignment(tmp_path / f"a.{ending}", ALPHA.T, SOURCE, TARGET)
    assert list(tmp_path.iterdir()) == []


def test_a_font_that_has_a_letter_draws_it(own_fonts, tmp_path):
    install_font(tmp_path / "1.ttf", "Made Sans", FIRST)
    picture = paint_alignment(np.ones((1, 1)), ["a"], [FIRST])
    # The letter is a filled square of 10 points to the left of the only cell.
    cell, margin = round(CELL * DPI), round(MARGIN * DPI)
    beside = picture[-margin - cell : -margin, : -margin - cell - 1, 0]
    ink = (255 - beside.astype(float)).sum() / (255 - int(INK[1:3], 16))
    assert ink == pytest.approx((10 / 72 * DPI) ** 2, rel=0.1)
