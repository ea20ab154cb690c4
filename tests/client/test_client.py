"""The client of a served model: results, order, bounds, cancelling, arguments."""

import math
import random
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
from scripted_model import (
    LINES,
    SECONDS,
    Refusal,
    both,
    client_of,
    expected,
    obliging,
    over_http,
    translated,
)

from rnnsearch_tf.client import (
    Client,
    DeadlineError,
    Hypothesis,
    ServerError,
    Tls,
    Translation,
    VersionStatus,
)
from rnnsearch_tf.client.address import parse_address
from rnnsearch_tf.errors import InputError

pytestmark = pytest.mark.serving

LOWEST = -3.4028234663852886e38  # of float32


# Results.


@both
def test_translations_come_in_order(serve):
    lines = [*LINES, "", "   ", "Élodie's 1,000 words — «et plus» 😀", "\t", 'a"b\\c\0']
    with serve() as served, client_of(served) as client:
        results = list(client.translate(iter(lines)))
        assert list(client.translate([])) == []
    assert results == expected(lines)
    assert [(result.source, result.text) for result in results] == [
        (line, translated(line)) for line in lines
    ]
    sent = sorted(request.inputs["text"] for request in served.requests)
    assert sent == sorted(lines[i : i + 2] for i in range(0, len(lines), 2))
    assert {(r.model, r.signature) for r in served.requests} == {("rnnsearch", "serving_default")}


@both
def test_n_best_lists_have_no_empty_slots(serve):
    def behavior(request):
        assert request.signature == "nbest"
        texts = request.inputs["text"]
        return {
            "translations": [[text, text + "!", ""] for text in texts],
            "scores": [[-0.5, -1.5, LOWEST] for _ in texts],
            "normalized_scores": [[-0.25, -0.375, LOWEST] for _ in texts],
        }

    with serve(behavior) as served, client_of(served) as client:
        results = list(client.n_best(["a", "b", "c"]))
    hypotheses = Hypothesis("c", (), -0.5, -0.25), Hypothesis("c!", (), -1.5, -0.375)
    assert results[2] == Translation("c", (), hypotheses)
    assert [(result.text, result.normalized_score) for result in results] == [
        (text, -0.25) for text in "abc"
    ]


@both
def test_words_have_scores(serve):
    words = {"words": [["Un", "</s>", ""]], "word_scores": [[-0.5, LOWEST, 0.0]]}
    behavior = {
        "score": {"score": [-0.75], **words},
        "nbest": {
            "translations": [["Un", ""]], "scores": [[-0.75, LOWEST]],
            "normalized_scores": [[-0.75, LOWEST]],
            "words": [[["Un", "</s>"], ["", ""]]], "word_scores": [[[-0.5, -0.25], [0.0, 0.0]]],
        },
        "align": {
            "translation": ["Un"], "score": [-0.75], "source_tokens": [["One", "</s>"]],
            "target_tokens": [["Un", "</s>", ""]], "alignment": [[[1.0, 0.0]] * 3],
            "word_scores": [[-0.5, -0.25, 0.0]],
        },
    }  # fmt: skip
    with (
        serve(lambda request: behavior[request.signature]) as served,
        client_of(served) as client,
    ):
        [listed], [aligned] = client.n_best(["One"]), client.align(["One"])
        [given] = client.score_words([("One", "Un")])
    for result in (listed, aligned):
        assert (result.tokens, result.word_scores) == (("Un", "</s>"), (-0.5, -0.25))
    expected = Hypothesis("Un", ("Un", "</s>"), -0.75, None, word_scores=(-0.5, -math.inf))
    assert given == expected


@both
def test_an_older_export_gives_no_scores_of_words(serve):
    with (
        serve(lambda request: {"score": [-0.75]}) as served,
        client_of(served) as client,
    ):
        assert list(client.score_words([("One", "Un")])) == [Hypothesis("Un", (), -0.75, None)]


@both
def test_a_score_that_is_not_finite_is_minus_infinity(serve):
    behavior = {
        "nbest": {
            "translations": [["", ""]],
            "scores": [[LOWEST, LOWEST]],
            "normalized_scores": [[LOWEST, LOWEST]],
        },
        "align": {
            "translation": [""],
            "score": [LOWEST],
            "source_tokens": [["One", "</s>"]],
            "target_tokens": [["</s>"]],
            "alignment": [[[0.0, 0.0]]],
        },
        "score": {"score": [LOWEST]},
    }
    with (
        serve(lambda request: behavior[request.signature]) as served,
        client_of(served) as client,
    ):
        [listed], [aligned] = client.n_best(["One"]), client.align(["One"])
        assert list(client.score([("One", "Un")])) == [-math.inf]
    nothing = Hypothesis("", (), -math.inf, -math.inf)
    assert listed == Translation("One", (), (nothing,))
    assert (aligned.text, aligned.tokens, aligned.score) == ("", ("</s>",), -math.inf)
    assert np.isnan(aligned.alignment).all()


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"model_input": [["One", "[UNK]", "</s>"], ["</s>", "", ""]]},
        {"model_input": [["One", "ten", "</s>"], ["</s>", "", ""]]},
    ],
)
@both
def test_alignments_have_no_padding(serve, told):
    """Exports of version 0.1.0 do not tell which words they do not know."""

    def behavior(request):
        assert request.signature == "align"
        return {
            "translation": ["Un deux", ""],
            "score": [-1.0, 0.0],
            "source_tokens": [["One", "two", "</s>"], ["</s>", "", ""]],
            **told,
            "target_tokens": [["Un", "deux", "</s>", ""], ["</s>", "", "", ""]],
            "alignment": [
                [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
                [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
            ],
        }

    with serve(behavior) as served, client_of(served) as client:
        first, blank = client.align(["One two", ""])
    assert first.source_tokens == ("One", "two", "</s>")
    assert first.tokens == ("Un", "deux", "</s>")
    assert first.alignment.tolist() == [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert first.alignment.dtype == "float32"
    assert (first.source, first.text, first.score) == ("One two", "Un deux", -1.0)
    assert (blank.text, blank.score, blank.source_tokens) == ("", 0.0, ("</s>",))
    assert (blank.tokens, blank.alignment.tolist()) == (("</s>",), [[1.0]])
    assert (first.unknown, blank.unknown) == (((1,), ()) if told else (None, None))


def test_what_was_not_asked_for_is_missing_and_says_so():
    with over_http() as served, client_of(served) as client:
        [result] = client.translate(["a"])
    [hypothesis] = result.hypotheses
    assert (result.source_tokens, hypothesis.tokens) == ((), ())
    assert (hypothesis.normalized_score, hypothesis.alignment) == (None, None)
    with pytest.raises(ValueError, match=r"no tokens: .* Client\.align"):
        _ = result.tokens
    with pytest.raises(ValueError, match=r"no normalized score: .* Client\.n_best"):
        _ = result.normalized_score
    with pytest.raises(ValueError, match=r"no alignment: .* Client\.align"):
        _ = result.alignment


@both
def test_pairs_are_scored(serve):
    def behavior(request):
        assert request.signature == "score"
        pairs = zip(request.inputs["text"], request.inputs["translation"], strict=True)
        return {"score": [len(text) - len(translation) / 4 for text, translation in pairs]}

    with serve(behavior) as served, client_of(served) as client:
        assert list(client.score([("ab", "c"), ("", ""), ("abc", "de")])) == [1.75, 0.0, 2.5]


@both
def test_both_protocols_give_the_same_float32(serve):
    def behavior(request):
        return {"translation": ["x", "y"], "score": [-0.1, -123.456789]}

    with serve(behavior) as served, client_of(served) as client:
        scores = [result.score for result in client.translate(["a", "b"])]
    assert scores == [-0.10000000149011612, -123.45678710937500]


@both
def test_versions_and_labels_are_asked_for(serve):
    with serve() as served:
        for choice in ({"version": 3}, {"label": "stable"}, {}):
            with client_of(served, model="my-model", **choice) as client:
                list(client.translate(["a"]))
    asked = [request.model for request in served.requests]
    assert asked == ["my-model/versions/3", "my-model/labels/stable", "my-model"]


@both
def test_status(serve):
    failed = {"error_code": "NOT_FOUND", "error_message": "no such file"}
    statuses = [
        {"version": "7", "state": "END", "status": failed},
        {"version": "6", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}},
    ]
    with serve(statuses=statuses) as served, client_of(served) as client:
        assert client.status() == [
            VersionStatus(7, "END", "NOT_FOUND", "no such file"),
            VersionStatus(6, "AVAILABLE", "OK", ""),
        ]


# Order and bounds.


@pytest.mark.parametrize("concurrency", [1, 4])
@both
def test_order_and_bounds_under_random_delays(serve, concurrency):
    lines = [f"line {i}" for i in range(60)]
    lock = threading.Lock()
    at_work, maximum = [0], [0]
    delays = random.Random(concurrency)

    def behavior(request):
        with lock:
            at_work[0] += 1
            maximum[0] = max(maximum[0], at_work[0])
            delay = delays.random() / 50
        time.sleep(delay)
        with lock:
            at_work[0] -= 1
        return obliging(request)

    read = [0]

    def source():
        for line in lines:
            read[0] += 1
            yield line

    with serve(behavior) as served, client_of(served, concurrency=concurrency) as client:
        results = client.translate(source())
        assert read == [0]
        for number, (result, line) in enumerate(zip(results, lines, strict=True)):
            assert result.text == translated(line)
            assert read[0] - number <= concurrency * 2
    assert maximum[0] <= concurrency


@both
def test_calls_are_made_at_once(serve):
    meeting = threading.Barrier(3)

    def behavior(request):
        meeting.wait(SECONDS)  # fails unless three calls are there together
        return obliging(request)

    with serve(behavior) as served, client_of(served, concurrency=3) as client:
        assert list(client.translate(LINES[:6])) == expected(LINES[:6])


@both
def test_a_failed_batch_raises_in_its_turn_and_the_rest_are_cancelled(serve):
    left = threading.Event()
    waiting = threading.Event()

    def behavior(request):
        if LINES[4] in request.inputs["text"]:
            assert waiting.wait(SECONDS)
            raise Refusal("INTERNAL", "out of luck")
        if LINES[6] in request.inputs["text"]:
            waiting.set()
            if request.wait_until_left():
                left.set()
        return obliging(request)

    with serve(behavior) as served, client_of(served, concurrency=2) as client:
        results = []
        with pytest.raises(ServerError, match="out of luck"):
            for result in client.translate(LINES):
                results.append(result)
        assert results == expected(LINES[:4])
        assert left.wait(SECONDS)
        assert list(client.translate(LINES[:3])) == expected(LINES[:3])  # it is not spent
    assert not any(LINES[8] in request.inputs["text"] for request in served.requests)


@both
def test_a_caller_who_leaves_cancels(serve):
    left = threading.Event()
    waiting = threading.Event()

    def behavior(request):
        if LINES[0] in request.inputs["text"]:
            assert waiting.wait(SECONDS)
            return obliging(request)
        waiting.set()
        if request.wait_until_left():
            left.set()
        return obliging(request)

    with serve(behavior) as served:
        with client_of(served, concurrency=2) as client:
            results: Any = client.translate(LINES[:4])
            assert next(results) == expected(LINES)[0]
            results.close()
            assert left.wait(SECONDS)
            left.clear()
            waiting.clear()
            results = client.translate(LINES[:4])
            next(results)
        assert left.wait(SECONDS)  # closing the client does the same
        with pytest.raises(DeadlineError, match="the client was closed before the answer came"):
            list(results)
        with pytest.raises(ValueError, match="closed"):
            list(client.translate(LINES))


@both
def test_an_error_of_the_input_comes_after_the_results_before_it(serve):
    def source():
        yield from LINES[:5]
        raise RuntimeError("the input broke")

    with serve() as served, client_of(served) as client:
        results = []
        with pytest.raises(RuntimeError, match="the input broke"):
            for result in client.translate(source()):
                results.append(result)
        assert results == expected(LINES[:5])
        with pytest.raises(InputError, match="sentence 2 is not Unicode"):
            list(client.translate(["a", "\ud800"]))
        for wrong_texts in ("not a list", {"en": ["names", "of columns"]}):
            for split in (False, True):
                with pytest.raises(TypeError):  # at the call, before anything is asked for
                    client.translate(wrong_texts, split_sentences=split)
        wrong: list[Any] = ["ab", ("a",), ("a", "b", "c"), ("a", 3)]
        for pair in wrong:
            with pytest.raises(TypeError, match=r"(pair|sentence|translation) 1: expected a"):
                list(client.score([pair]))


# Arguments, and what they import.


def test_addresses():
    assert parse_address("http://localhost:8501") == ("http", "localhost", 8501)
    assert parse_address("GRPCS://Serving.Example.com.:443/").host == "serving.example.com."
    six = parse_address("grpc://[::1]:8500")
    assert (six.host, six.port, str(six)) == ("::1", 8500, "grpc://[::1]:8500")
    assert (six.is_rest, six.is_secure) == (False, False)
    assert parse_address("https://a:1").is_rest
    assert parse_address("https://a:1").is_secure


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("localhost:8501", "must begin with one of http, https, grpc, grpcs"),
        ("http://localhost", "has no port"),
        ("http://localhost:http", "could not be cast"),
        ("http://:8501", "'' is not a host name"),
        ("http://a b:8501", "'a b' is not a host name"),
        ("http://été:8501", "is not a host name"),
        ("http://" + "a" * 64 + ":8501", "is not a host name"),
        ("http://[::1:8501", "Invalid IPv6"),
        ("http://localhost:8501/v1/models", "is more than scheme, host and port"),
        ("http://me:secret@localhost:8501", "is more than scheme, host and port"),
    ],
)
def test_addresses_that_are_none(text, said):
    with pytest.raises(InputError, match=said):
        Client(text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"version": 1, "label": "stable"}, "only one of them"),
        ({"version": -1}, "version -1: must not be negative"),
        ({"label": ""}, "label: must not be empty"),
        ({"model": ""}, "model: must have a name"),
        ({"model": "a\udcff"}, "model is not Unicode"),
        ({"label": "a\udcff"}, "label is not Unicode"),
        ({"batch_size": 0}, "batch_size 0: must be at least 1"),
        ({"concurrency": 0}, "concurrency 0: must be at least 1"),
        ({"attempts": 0}, "attempts 0: must be at least 1"),
        ({"deadline": 0}, "deadline 0 s: must be above 0"),
        ({"deadline": float("nan")}, "deadline nan s: must be above 0"),
        ({"deadline": float("inf")}, "deadline inf s: must be above 0"),
        ({"tls": Tls(ca_certificate="ca.pem")}, "certificates are for https"),
    ],
)
def test_arguments_that_cannot_be_used(arguments, said):
    with pytest.raises(InputError, match=said):
        Client("http://localhost:8501", **arguments)


@both
def test_a_client_needs_no_tensorflow(serve, tmp_path):
    """It runs where only what docs/installation.md names for a client is installed."""
    code = """
import sys
for name in ("tensorflow", "keras", "h5py", "sacrebleu", "matplotlib", "tensorboard", "urllib3"):
    sys.modules[name] = None  # as if it were not installed
from rnnsearch_tf.scripts import client as script
for flag in (f"--input={sys.argv[2]}", "--status"):
    script.run([f"--server={sys.argv[1]}", flag])
print(sorted({"grpc", "numpy"} & set(sys.modules)))
"""
    (tmp_path / "in").write_text("a\nb\n")
    with serve() as served:
        command = [sys.executable, "-c", code, served.url, tmp_path / "in"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        libraries = ["grpc"] if served.url.startswith("grpc") else []
    *texts, loading, available, imported = done.stdout.splitlines()
    assert texts == [translated("a"), translated("b")]
    assert (loading, available) == ("version 2: LOADING", "version 1: AVAILABLE")
    assert (imported, done.stderr) == (str(libraries), "")


def test_a_client_tells_what_it_calls():
    assert repr(Client(label="stable")) == (
        "Client(http://localhost:8501, label stable of model rnnsearch)"
    )
