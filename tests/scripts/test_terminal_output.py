"""What the scripts write: harmless on a terminal, unchanged elsewhere, one line for each result."""

import contextlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from scripted_model import STATUSES, Refusal, client_of, over_http

from rnnsearch_tf.client import ServingError
from rnnsearch_tf.scripts import client, score
from rnnsearch_tf.scripts.shared.command import Command

pytestmark = pytest.mark.serving

HOSTILE = "\x1b]0;title\x07\x9b31m\u202eevil\u2069"
TAME = r"\x1b]0;title\x07\x9b31m\u202eevil\u2069"
BOTH = pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, TAME), (False, HOSTILE)], ids=["terminal", "pipe"]
)


def printed(is_terminal: bool, run: Callable[[], Any]) -> str:
    """What is written to standard output meanwhile."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    stream.isatty = lambda: is_terminal  # type: ignore[method-assign]
    with contextlib.redirect_stdout(stream):
        run()
    stream.flush()
    return stream.buffer.getvalue().decode()


def translate(tmp_path, text, *flags):
    """Run the client against a server whose every translation is `text`."""
    columns = {
        "serving_default": {"translation": [text], "score": [0.0]},
        "nbest": {"translations": [[text]], "scores": [[0.0]], "normalized_scores": [[0.0]]},
    }
    (tmp_path / "in").write_text("One.\n")
    with over_http(lambda request: columns[request.signature]) as served:
        server, source = f"--server={served.url}", f"--input={tmp_path / 'in'}"
        assert client.run([server, source, "--deadline=300", *flags]) == 0


@BOTH
def test_translations(tmp_path, is_terminal, shown):
    text = f"{HOSTILE}\r\ntwo\nthree\rfour"
    output = printed(is_terminal, lambda: translate(tmp_path, text))
    assert output == f"{shown} two three four\n"


@BOTH
def test_lists_as_json(tmp_path, is_terminal, shown):
    text = f"{HOSTILE}\r\ntwo"
    output = printed(is_terminal, lambda: translate(tmp_path, text, "--signature=nbest"))
    (line,) = output.removesuffix("\n").split("\n")
    if is_terminal:
        assert not {"\x1b", "\x9b", "\u202e"} & set(line)
    else:
        assert json.loads(line)["hypotheses"][0]["translation"] == text


def test_a_file_gets_the_text_unchanged(tmp_path):
    translate(tmp_path, f"{HOSTILE}\ttwo\nthree", f"--output={tmp_path / 'out'}")
    assert (tmp_path / "out").read_bytes().decode() == f"{HOSTILE}\ttwo three\n"


@BOTH
def test_states_of_versions(is_terminal, shown):
    status = {"error_code": "UNKNOWN", "error_message": HOSTILE}
    statuses = [STATUSES[1], {"version": "2", "state": "END", "status": status}]
    with over_http(statuses=statuses) as served:
        flags = [f"--server={served.url}", "--status"]
        output = printed(is_terminal, lambda: client.run(flags))
    assert f"version 2: END (UNKNOWN: {shown})\n" in output


def refusing(request):
    raise Refusal("INTERNAL", HOSTILE)


def test_error_lines(capsys, tmp_path):
    (tmp_path / "in").write_text("One.\n")
    with over_http(refusing) as served:
        client.run([f"--server={served.url}", f"--input={tmp_path / 'in'}"])
    client.run([f"--input={HOSTILE}\n2"])
    score.run([f"--{HOSTILE}"])
    Command("paint", "paint.").warn(f"{HOSTILE}\n2")
    lines = capsys.readouterr().err.split("\n")
    assert lines.pop() == ""
    assert len(lines) == 4
    assert [line for line in lines if TAME not in line] == []


def test_errors_of_the_client_in_a_traceback():
    with (
        over_http(refusing) as served,
        client_of(served) as called,
        pytest.raises(ServingError) as caught,
    ):
        list(called.translate(["One."]))
    assert TAME in str(caught.value)
