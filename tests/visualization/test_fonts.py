"""Fonts for letters that Matplotlib's own has not, made for the test."""

import warnings

import pytest
from made_font import FIRST, SECOND, THIRD, install_font

from rnnsearch_tf.visualization import fonts
from rnnsearch_tf.visualization.fonts import (
    DEFAULT,
    NO_FONT,
    NOT_SHAPED,
    figure_fonts,
    font_families,
)


def test_matplotlibs_own_font_does_for_what_it_has():
    assert font_families(["déjà", "</s>", "Ελλάδα", "Привет", "a\u200db"]) == [DEFAULT]


def test_fonts_that_have_the_missing_letters_follow_in_the_order_of_the_search(own_fonts, tmp_path):
    install_font(tmp_path / "1.ttf", "A Made Serif", FIRST + SECOND)
    install_font(tmp_path / "2.ttf", "Made Sans", FIRST)
    install_font(tmp_path / "3.ttf", "Made Sans Not Wanted", "a")
    assert font_families([f"a{FIRST}"]) == [DEFAULT, "Made Sans"]
    assert font_families(["a", SECOND]) == [DEFAULT, "A Made Serif"]
    assert font_families([FIRST, SECOND]) == [DEFAULT, "Made Sans", "A Made Serif"]


def test_letters_that_no_font_has_are_told_of_once(own_fonts, tmp_path):
    install_font(tmp_path / "1.ttf", "Made Sans", FIRST)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for letter in (SECOND, THIRD, SECOND):
            with figure_fonts([FIRST + letter]) as families:
                assert families == [DEFAULT, "Made Sans"]
        assert font_families(["a"]) == [DEFAULT]
    assert [str(warning.message) for warning in caught] == [NO_FONT]


def test_a_font_that_is_gone_is_passed_over(own_fonts, tmp_path):
    install_font(tmp_path / "1.ttf", "Made Sans", FIRST)
    install_font(tmp_path / "2.ttf", "Made Sans Too", FIRST)
    (tmp_path / "1.ttf").unlink()
    assert font_families([FIRST]) == [DEFAULT, "Made Sans Too"]


@pytest.mark.parametrize(
    ("text", "warns"), [("שלום", True), ("سلام", True), ("कि", True), ("é日", False)]
)
def test_an_older_matplotlib_does_not_arrange_letters(monkeypatch, text, warns):
    for version in ((3, 10, 8), (3, 11, 0)):
        monkeypatch.setattr("matplotlib.__version_info__", version)
        fonts._warn_once.cache_clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            font_families([text])
        expected = warns and version < (3, 11)
        assert (NOT_SHAPED in [str(warning.message) for warning in caught]) == expected
