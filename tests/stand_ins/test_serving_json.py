"""The stand-in's REST bodies are TensorFlow Serving's: rows, columns, bytes, floats, errors."""

import json

import numpy as np
import pytest
from tfserving import dtypes
from tfserving.json_request import COLUMNAR, ROW, parse, read_inputs, signature_name
from tfserving.json_response import error_body, predict_body
from tfserving.status import Code, StatusError

TEXT, PAIR = ("text",), ("text", "translation")


def read(body: str | bytes, signature=TEXT):
    document = parse(body.encode() if isinstance(body, str) else body)
    form, inputs = read_inputs(document, signature)
    return form, {name: array.tolist() for name, array in inputs.items()}


@pytest.mark.parametrize(
    "body",
    [
        '{"instances": ["é", ""]}',
        '{"instances": [{"text": "\\u00e9"}, {"text": ""}]}',
        '{"instances": [{"b64": "w6k="}, {"b64": ""}]}',
        '{"instances": [{"text": {"b64": "w6k"}}, {"text": ""}]}',
    ],
)
def test_rows(body):
    assert read(body) == (ROW, {"text": ["é".encode(), b""]})


@pytest.mark.parametrize(
    "body",
    [
        '{"inputs": ["é", ""]}',
        '{"inputs": {"text": ["é", {"b64": ""}]}}',
        '{"inputs": {"text": ["é", ""], "more": 1}}',
    ],
)
def test_columns(body):
    assert read(body) == (COLUMNAR, {"text": ["é".encode(), b""]})


def test_several_inputs():
    row = '{"instances": [{"translation": "b", "text": "a"}]}'
    column = '{"inputs": {"text": ["a"], "translation": ["b", "c"]}}'
    assert read(row, PAIR)[1] == {"text": [b"a"], "translation": [b"b"]}
    assert read(column, PAIR)[1] == {"text": [b"a"], "translation": [b"b", b"c"]}


def test_text_passes_as_it_is():
    """Bytes that are not UTF-8 too, and characters outside the basic plane."""
    assert read(b'{"instances": ["a\xff"]}')[1]["text"] == [b"a\xff"]
    assert read('{"instances": ["\\ud83d\\ude00", "\\\\ud800"]}')[1]["text"] == [
        "😀".encode(),
        b"\\ud800",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "no JSON",
        "[]",
        '{"instances": ["a"]',
        '{"instances": ["\\ud83d"]}',
        '{"instances": ["\\ude00\\ud83d"]}',
        "{}",
        '{"instances": ["a"], "inputs": ["a"]}',
        '{"instances": "a"}',
        '{"instances": []}',
        '{"instances": [1]}',
        '{"instances": [null]}',
        '{"instances": ["a", ["b"]]}',
        '{"instances": ["a", {"text": "b"}]}',
        '{"instances": [{"text": "a"}, "b"]}',
        '{"instances": [{"text": "a", "more": "b"}]}',
        '{"instances": [{"more": "b"}]}',
        '{"instances": [{"b64": "%%%%"}]}',
        '{"instances": [{"b64": 1}]}',
        '{"inputs": {"more": ["a"]}}',
        '{"inputs": ["a", 1]}',
        '{"inputs": "a"}',
        '{"inputs": {"b64": "YQ=="}}',
    ],
)
def test_what_is_refused(body):
    with pytest.raises(StatusError) as caught:
        read(body)
    assert caught.value.code == Code.INVALID_ARGUMENT


@pytest.mark.parametrize("body", ['{"instances": ["a"]}', '{"inputs": ["a"]}'])
def test_several_inputs_need_names(body):
    with pytest.raises(StatusError, match="INVALID_ARGUMENT"):
        read(body, PAIR)


def test_the_signature_is_a_string():
    assert signature_name({"signature_name": "align"}) == "align"
    assert signature_name({}) == ""
    with pytest.raises(StatusError, match="INVALID_ARGUMENT"):
        signature_name({"signature_name": 1})


OUTPUTS = {"a": dtypes.strings([b"x", b"\xc3\xa9\n"]), "b": np.float32([[1, 0.2], [-3e-9, 0]])}


def test_answers_in_rows():
    assert json.loads(predict_body(ROW, OUTPUTS)) == {
        "predictions": [{"a": "x", "b": [1.0, 0.2]}, {"a": "é\n", "b": [-3e-9, 0.0]}]
    }
    assert json.loads(predict_body(ROW, {"b": OUTPUTS["b"]})) == {
        "predictions": [[1.0, 0.2], [-3e-9, 0.0]]
    }


def test_answers_in_columns():
    assert json.loads(predict_body(COLUMNAR, OUTPUTS)) == {
        "outputs": {"a": ["x", "é\n"], "b": [[1.0, 0.2], [-3e-9, 0.0]]}
    }
    assert json.loads(predict_body(COLUMNAR, {"a": OUTPUTS["a"]})) == {"outputs": ["x", "é\n"]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1.0"),
        (0.2, "0.2"),
        (1 / 3, "0.333333343"),
        (9e6, "9e+06"),
        (-3.4028235e38, "-3.40282347e+38"),
    ],
)
def test_floats(value, text):
    assert predict_body(COLUMNAR, {"x": np.float32([value])}) == f'{{"outputs": [{text}]}}'.encode()


def test_errors():
    body = error_body(StatusError(Code.NOT_FOUND, 'no "é"'))
    assert json.loads(body) == {"error": 'no "é"'}
