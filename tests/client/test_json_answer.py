"""JSON in pieces: what Python's parser reads, with pauses."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch_tf.client import json_answer
from rnnsearch_tf.client.json_answer import parse_in_pieces

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module", autouse=True)
def small_pieces():
    """Pieces of four characters, so that lists of a few items are long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_answer, "_PIECE_CHARACTERS", 4)
        yield


def parsed(parse, body: bytes):
    try:
        return repr(parse(body))
    except ValueError:
        return "no JSON"


def both_parse(body: bytes) -> None:
    in_pieces = parsed(lambda body: parse_in_pieces(body, lambda: None), body)
    assert in_pieces == parsed(lambda body: json.loads(body.decode()), body)


@settings(deadline=None)
@given(VALUES, st.sampled_from([None, 1]), st.data())
def test_it_reads_and_refuses_what_pythons_parser_does(value, indent, data):
    body = json.dumps(value, ensure_ascii=False, indent=indent).encode()
    both_parse(body)
    place = data.draw(st.integers(0, len(body)))
    byte = data.draw(
        st.sampled_from([b"", b",", b"]", b"}", b'"', b":", b" ", b"[", b"1", b"\xff"])
    )
    both_parse(body[:place])
    both_parse(body[:place] + byte + body[place:])
    both_parse(body[:place] + byte + body[place + 1 :])


def test_answers_that_would_fill_the_memory_are_refused():
    for item, count in ((b"[],", 1_000_000), (b"1,", 1 << 24)):
        with pytest.raises(ValueError, match="more than 1,000,000 lists"):
            parse_in_pieces(b"[" + item * count + b"1,1]", lambda: None)


class Late(Exception):
    pass


@pytest.mark.parametrize("item", ["[]", "0", '"a"', "{}", '{"a": []}', "[[[]]]"])
@pytest.mark.parametrize("form", ["[%s]", '{"outputs": {"text": [[%s]]}}'])
def test_a_long_answer_is_left_at_the_deadline(item, form):
    """What stands behind the place where time ran out is not looked at: it is no JSON."""
    pauses = 0

    def pause():
        nonlocal pauses
        pauses += 1
        if pauses == 500:
            raise Late

    body = (form % ",".join([item] * 1_000 + ["no JSON"])).encode()
    with pytest.raises(Late):
        parse_in_pieces(body, pause)
