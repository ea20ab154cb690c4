"""Files of links, good and bad."""

from pathlib import Path

import pytest

from rnnsearch_tf.alignment.error_rate import GoldLinks
from rnnsearch_tf.alignment.formats import pharaoh, read_gold
from rnnsearch_tf.errors import InputError

LENGTHS = [(3, 5), (2, 2), (7, 11)]  # words, (source, target)
GOLD = [
    GoldLinks({(0, 0), (2, 4)}, {(1, 2), (1, 3)}),
    GoldLinks(set(), set()),
    GoldLinks({(6, 10)}, {(0, 3)}),
]
PHARAOH = "0-0 2-4 1p2 1p3\n\n0p3 6-10\n"
NAACL = "0001 1 1 S\n0001 3 5 S\n0001 2 3 P\n0001 2 4 P\n0003 1 4 P\n0003 7 11 S\n"


def gold_of(tmp_path: Path, content: str, **options) -> list[GoldLinks]:
    (tmp_path / "gold").write_text(content, "utf-8")
    return read_gold(tmp_path / "gold", LENGTHS, **options)


@pytest.mark.parametrize("content", [PHARAOH, NAACL])
def test_both_formats_are_known_by_their_content(tmp_path, content):
    assert gold_of(tmp_path, content) == GOLD


def test_blank_lines_may_come_first(tmp_path):
    assert gold_of(tmp_path, "\n \n0p3 6-10\n") == [GoldLinks(set(), set())] * 2 + GOLD[2:]


def test_naacl_links_are_sure_unless_they_are_possible(tmp_path):
    lines = "1 1 1\n1 2 3 P 0.25\n1 2 4 P\n1 3 5 0.5\n\n3 7 11 S 1\n3 1 4 P\n"
    assert gold_of(tmp_path, lines) == GOLD


def test_naacl_has_a_place_for_the_empty_word(tmp_path):
    lines = "1 0 2 S\n" + NAACL + "3 4 0 P\n"
    assert gold_of(tmp_path, lines) == GOLD


def test_columns_may_be_apart_by_tabs(tmp_path):
    assert gold_of(tmp_path, NAACL.replace(" ", "\t")) == GOLD
    assert gold_of(tmp_path, PHARAOH.replace(" ", "\t")) == GOLD


@pytest.mark.parametrize("content", [PHARAOH, NAACL])
def test_links_of_the_other_direction_are_flipped(tmp_path, content):
    (tmp_path / "gold").write_text(content, "utf-8")
    turned = [(target, source) for source, target in LENGTHS]
    gold = read_gold(tmp_path / "gold", turned, flip=True)
    assert gold[0] == GoldLinks({(0, 0), (4, 2)}, {(2, 1), (3, 1)})
    assert gold[2] == GoldLinks({(10, 6)}, {(3, 0)})
    with pytest.raises(InputError, match="of 3 and 5 words"):  # as the file has them
        (tmp_path / "gold").write_text("4-2\n\n\n", "utf-8")
        read_gold(tmp_path / "gold", turned, flip=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "contains no links"),
        ("\n\n\n", "contains no links"),
        ("\nHello\n\n", "line 2: 'Hello' is neither i-j nor ipj"),
        ("1 2\n\n\n", "line 1: '1' is neither i-j nor ipj"),
        ("0-0\n\n1-\n", "line 3: '1-' is neither i-j nor ipj"),
        ("0-0 1q1\n\n\n", "line 1: '1q1' is neither"),
        ("0-0 1-" + "1" * 5000 + "\n\n\n", "1' is neither i-j nor ipj"),
        ("0-0 -1-1\n\n\n", "line 1: '-1-1' is neither"),
        ("0-0\n\n3-9 7-0\n", "line 3: 7-0 is outside a sentence pair of 7 and 11 words"),
        ("0-5\n\n\n", "line 1: 0-5 is outside a sentence pair of 3 and 5 words"),
        ("0-0\n1-1\n", "2 lines for 3 sentence pairs"),
        ("0-0\n\n\n\n", "4 lines for 3 sentence pairs"),
        ("1 1 1\n1 1\n", "line 2: '1 1' is not: sentence source target [S|P]"),
        ("1 1 1 S\n1 1 2 Q\n", "line 2: '1 1 2 Q' is not"),
        ("1 1 1\n2 3 1\n", "line 2: 3 1 is outside a sentence pair of 2 and 2 words"),
        ("1 1 6 P\n", "line 1: 1 6 is outside a sentence pair of 3 and 5 words"),
        ("2 1 1\n1 1 1\n", "line 2: sentence 1 after sentence 2"),
        ("0 1 1\n", "line 1: sentence 0 after sentence 1"),
        ("1 1 1\n4 1 1\n", "line 2: sentence 4, but the text has 3"),
        ("1 1 1\n2 1 1\n", "ends at sentence 2 of 3"),
    ],
)
def test_bad_files(tmp_path, content, said):
    with pytest.raises(InputError) as caught:
        gold_of(tmp_path, content)
    assert str(caught.value).startswith(f"{tmp_path / 'gold'}: ")
    assert said in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_gold(tmp_path / "gold", LENGTHS)


def test_pharaoh_lines_go_by_target_place():
    assert pharaoh({(10, 2), (2, 10), (9, 2), (0, 0)}) == "0-0 9-2 10-2 2-10"
    assert pharaoh(set()) == ""


def test_written_links_are_read_again(tmp_path):
    content = "".join(pharaoh(set(links)) + "\n" for links, _ in GOLD)
    assert gold_of(tmp_path, content) == [GoldLinks(links, set()) for links, _ in GOLD]


def test_real_gold_in_both_formats(real_text):
    folder = real_text / "hansards"
    if not folder.exists():
        pytest.skip("no hansards there")
    sides = [(folder / f"dev37.{side}").read_text("utf-8").splitlines() for side in ("en", "fr")]
    lengths = [(len(en.split()), len(fr.split())) for en, fr in zip(*sides, strict=True)]
    gold = read_gold(folder / "dev37.gold.pharaoh", lengths)
    assert gold == read_gold(folder / "dev37.gold.naacl", lengths)
    assert len(gold) == 37
    assert {(0, 0), (3, 5)} <= set(gold[0].sure) and (1, 1) in gold[0].possible
