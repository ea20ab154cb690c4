"""The stand-in for TensorFlow Serving over sockets: what a client, a page or an operator meets."""

import contextlib
import http.client
import json
import shutil
import signal
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import certificates
import grpc
import numpy as np
import pytest
import tensorflow as tf
from examples import for_each
from hostile_strings import LONG_LINES, Company, Translations, hostile_batches
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)
from tfserving import Server, dtypes, running
from tfserving.batching_parameters import read_batching_parameters
from tfserving.model_config import read_model_config
from tfserving.tensor_proto import to_array
from tfserving.tls import write_ssl_config

from rnnsearch_tf.tf_functions import graph_function

pytestmark = pytest.mark.serving

SECONDS = 600  # a safety net
MODEL = "rnnsearch"
TEXTS = ["The man will eat.", "", "She has seen the old cat in Paris, and he has not — «é»."]
INPUTS = {
    "serving_default": {"text": TEXTS},
    "align": {"text": TEXTS},
    "nbest": {"text": TEXTS},
    "describe": {"text": TEXTS},
    "score": {"text": TEXTS, "translation": ["L'homme mangera.", "", "Il fait froid."]},
}
DESCRIBE = {"signature_name": "describe", "instances": ["a"]}  # the graph that is ready soonest


# --- Calls ---


class Reply(NamedTuple):
    status: int
    body: Any
    headers: Any


def rest(
    server: Server,
    path: str = "",
    body: Any = None,
    method: str | None = None,
    headers: dict[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> Reply:
    """Call REST; `path` is what follows /v1/models/rnnsearch, or a path with a slash before it."""
    path = path if path.startswith("//") else f"/v1/models/{MODEL}{path}"
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    url = server.rest + path.replace("//", "/")
    request = urllib.request.Request(url, data, headers or {}, method=method)
    try:
        reply = urllib.request.urlopen(request, timeout=SECONDS, context=context)
    except urllib.error.HTTPError as error:
        reply = error
    with reply:
        content = reply.read()
    is_json = reply.headers["Content-Type"] == "application/json" and content
    return Reply(reply.status, json.loads(content) if is_json else content, reply.headers)


@contextlib.contextmanager
def channel(server: Server, credentials: grpc.ChannelCredentials | None = None) -> Iterator[Any]:
    if credentials is None:
        made = grpc.insecure_channel(server.grpc)
    else:
        made = grpc.secure_channel(server.grpc, credentials)
    with made:
        yield made


def predict_request(signature: str = "", version: Any = None, **inputs: Any) -> Any:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = MODEL
    request.model_spec.signature_name = signature
    if isinstance(version, str):
        request.model_spec.version_label = version
    elif version is not None:
        request.model_spec.version.value = version
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    return request


def predict(connection: grpc.Channel, request: Any) -> Any:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(connection)
    return stub.Predict(request, timeout=SECONDS)


def arrays(response: Any) -> dict[str, np.ndarray]:
    return {name: to_array(proto) for name, proto in response.outputs.items()}


def encoded(texts: list[str] | list[bytes]) -> list[bytes]:
    return [text if isinstance(text, bytes) else text.encode() for text in texts]


def code_of(call: Callable[..., Any], *arguments: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments)
    assert caught.value.details()
    return caught.value.code()


def as_json(array: np.ndarray) -> Any:
    """What the REST interface shows."""
    if array.dtype != object:
        return array.tolist()
    return np.vectorize(bytes.decode, otypes=[object])(array).tolist() if array.size else []


def assert_same(found: Any, expected: np.ndarray) -> None:
    """JSON or an array, against an array."""
    if isinstance(found, np.ndarray) and found.dtype == object:
        assert found.tolist() == expected.tolist()
    elif expected.dtype == object:
        assert found == as_json(expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-5)


# --- Servers ---


CONFIG = """
model_config_list {{
  config {{
    name: "rnnsearch"
    base_path: "{}"
    model_platform: "tensorflow"
    model_version_policy {{ specific {{ versions: 1 versions: 3 }} }}
    version_labels {{ key: "stable" value: 1 }}
    version_labels {{ key: "canary" value: 3 }}
  }}
}}
"""
BATCHING = """
max_batch_size { value: 4 }
batch_timeout_micros { value: 600000000 }
max_enqueued_batches { value: 1 }
num_batch_threads { value: 2 }
"""


SHIPPED = Path(__file__).parents[2] / "export" / "batching_parameters.txt"


def batched_as(file: Path) -> tuple[str, str]:
    """Flags for the batching parameters of a file."""
    return "--enable_batching", f"--batching_parameters_file={file}"


def add_version(source: Path, target: Path) -> None:
    """Copy a version; it appears whole."""
    temporary = target.parent / f".{target.name}"
    shutil.copytree(source, temporary)
    temporary.rename(target)


class Quick(tf.Module):
    """What is loaded in no time: an export's graphs take seconds."""

    @graph_function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def describe(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The languages, of which there are two."""
        return {f"{side}_language": tf.fill(tf.shape(text), side) for side in ("source", "target")}

    @graph_function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The text itself, after about a second."""
        turns = tf.while_loop(lambda i: i < 100_000, lambda i: [i + tf.size(text)], [0])
        with tf.control_dependencies(turns):
            return {"translation": tf.identity(text)}


@pytest.fixture(scope="module")
def quick_dir(tmp_path_factory) -> Path:
    """A folder with version 1 of `Quick`."""
    folder, model = tmp_path_factory.mktemp("quick"), Quick()
    signatures = {"describe": model.describe, "serving_default": model.serving_default}
    tf.saved_model.save(model, str(folder / "1"), signatures)
    return folder


@pytest.fixture(scope="module")
def labeled(export_dir, quick_dir, tmp_path_factory) -> Iterator[Server]:
    """Versions 1 and 3 of 1, 2 and 3, `stable` and `canary`, with the batching that we ship."""
    folder = tmp_path_factory.mktemp("served")
    for version in "12":
        add_version(quick_dir / "1", folder / version)
    add_version(export_dir / "1", folder / "3")
    config = folder / "models.config"
    config.write_text(CONFIG.format(folder))
    flags = (f"--model_config_file={config}", "--allow_version_labels_for_unavailable_models")
    with running(None, *flags, *batched_as(SHIPPED)) as server:
        yield server


@pytest.fixture(scope="module")
def batching(export_dir, tmp_path_factory) -> Iterator[Server]:
    """Batches are run when they are full, and only then; CORS is on."""
    file = tmp_path_factory.mktemp("batching") / "parameters.txt"
    file.write_text(BATCHING)
    with running(export_dir, *batched_as(file), "--rest_api_enable_cors_support=true") as server:
        yield server


@pytest.fixture(scope="module")
def alone(c_session) -> Callable[..., dict[str, np.ndarray]]:
    """Answers without a server."""

    def run(signature: str, **inputs: list[str] | list[bytes]) -> dict[str, np.ndarray]:
        return c_session.run(signature, {name: encoded(texts) for name, texts in inputs.items()})

    return run


# --- Every signature ---


@pytest.mark.parametrize("signature", INPUTS)
def test_grpc(labeled, alone, signature):
    expected = alone(signature, **INPUTS[signature])
    with channel(labeled) as connection:
        response = predict(connection, predict_request(signature, **INPUTS[signature]))
    found = arrays(response)
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert_same(found[name], array)
    assert response.model_spec.name == MODEL
    assert response.model_spec.version.value == 3
    assert response.model_spec.signature_name == signature


@pytest.mark.parametrize("signature", INPUTS)
def test_rest_in_rows(labeled, alone, signature):
    expected = alone(signature, **INPUTS[signature])
    rows = [
        dict(zip(INPUTS[signature], row, strict=True))
        for row in zip(*INPUTS[signature].values(), strict=True)
    ]
    body = {"signature_name": signature, "instances": rows}
    reply = rest(labeled, ":predict", body)
    assert reply.status == 200, reply.body
    found = reply.body["predictions"]
    assert len(found) == len(TEXTS)
    for name, array in expected.items():
        column = found if len(expected) == 1 else [row[name] for row in found]
        assert_same(column, array)
    if len(INPUTS[signature]) == 1:
        plain = rest(labeled, ":predict", {**body, "instances": TEXTS})
        assert plain.body == reply.body


@pytest.mark.parametrize("signature", INPUTS)
def test_rest_in_columns(labeled, alone, signature):
    expected = alone(signature, **INPUTS[signature])
    body = {"signature_name": signature, "inputs": INPUTS[signature]}
    reply = rest(labeled, ":predict", body)
    assert reply.status == 200, reply.body
    found = reply.body["outputs"]
    for name, array in expected.items():
        assert_same(found if len(expected) == 1 else found[name], array)
    if len(INPUTS[signature]) == 1:
        plain = rest(labeled, ":predict", {**body, "inputs": TEXTS})
        assert plain.body == reply.body


def test_the_default_signature(labeled, alone):
    expected = alone("serving_default", text=["It is cold."])
    reply = rest(labeled, ":predict", {"instances": ["It is cold."]})
    assert reply.body["predictions"][0]["translation"].encode() == expected["translation"][0]
    with channel(labeled) as connection:
        response = predict(connection, predict_request(text=["It is cold."]))
    assert response.model_spec.signature_name == "serving_default"
    assert_same(arrays(response)["translation"], expected["translation"])


def test_bytes_that_are_not_utf_8(labeled, alone):
    expected = alone("align", text=["a caf\ufffd"])
    for body in (b'{"instances": ["a caf\xff"]', b'{"instances": [{"b64": "YSBjYWb/"}]'):
        reply = rest(labeled, ":predict", body + b', "signature_name": "align"}')
        assert reply.body["predictions"][0]["source_tokens"] == ["a", "caf", "\ufffd", "</s>"]
        assert reply.body["predictions"][0]["translation"].encode() == expected["translation"][0]


def test_neighbors_of_hostile_strings_do_not_change(labeled, alone):
    def read(outputs: dict[str, np.ndarray]) -> Translations:
        return Translations(outputs["translation"].tolist(), outputs["score"])

    def without_server(lines: list[bytes]) -> Translations:
        return read(alone("serving_default", text=lines))

    with channel(labeled) as connection:
        company = Company(
            lambda lines: read(arrays(predict(connection, predict_request(text=lines))))
        )
        for_each(hostile_batches(20), 1, lambda batch: company.check(batch, without_server))
        company.check(LONG_LINES[-1:], without_server)


# --- Errors ---


def test_grpc_errors(labeled):
    code = grpc.StatusCode
    elsewhere = predict_request(text=["a"])
    elsewhere.model_spec.name = "nowhere"
    nameless = predict_request(text=["a"])
    nameless.model_spec.name = ""
    lengths = {"text": ["a"], "translation": ["b", "c"]}
    with channel(labeled) as connection:
        for request, expected in (
            (elsewhere, code.NOT_FOUND),
            (nameless, code.INVALID_ARGUMENT),
            (predict_pb2.PredictRequest(), code.INVALID_ARGUMENT),
            (predict_request(version=2, text=["a"]), code.NOT_FOUND),
            (predict_request(version="old", text=["a"]), code.INVALID_ARGUMENT),
            (predict_request("translate", text=["a"]), code.FAILED_PRECONDITION),
            (predict_request(), code.INVALID_ARGUMENT),
            (predict_request(text=["a"], more=["b"]), code.INVALID_ARGUMENT),
            (predict_request(text=[1.0]), code.INVALID_ARGUMENT),
            (predict_request(text="a"), code.INVALID_ARGUMENT),
            (predict_request("score", **lengths), code.INVALID_ARGUMENT),
        ):
            assert code_of(predict, connection, request) == expected, request


@pytest.mark.parametrize(
    ("status", "path", "body"),
    [
        (404, "//v1/models/nowhere:predict", {"instances": ["a"]}),
        (404, "/versions/2:predict", {"instances": ["a"]}),
        (400, "/versions/99999999999999999999:predict", {"instances": ["a"]}),
        (400, "/labels/old:predict", {"instances": ["a"]}),
        (400, "/version/1:predict", {"instances": ["a"]}),
        (400, "/versions/1/labels/stable:predict", {"instances": ["a"]}),
        (400, ":predict", b"no JSON"),
        (400, ":predict", {"signature_name": "translate", "instances": ["a"]}),
        (400, ":predict", {"signature_name": "score", "instances": ["a"]}),
        (400, ":predict", {"signature_name": "score", "inputs": {"text": ["a"]}}),
        (400, ":classify", {"instances": ["a"]}),
        (404, "//v1/models/nowhere", None),
        (404, "/versions/2", None),
        (404, "/versions/2/metadata", None),
        (400, "//v1/models", None),
        (400, ":predict", None),
    ],
)
def test_rest_errors(labeled, status, path, body):
    reply = rest(labeled, path, body)
    assert reply.status == status
    assert list(reply.body) == ["error"]
    assert reply.body["error"]


def test_other_paths_and_methods(labeled):
    assert rest(labeled, "//index.html").status == 404
    assert rest(labeled, ":predict", {"instances": ["a"]}, method="PUT").status == 400
    assert rest(labeled, method="DELETE").status == 400


def test_a_connection_serves_many_requests(labeled):
    connection = http.client.HTTPConnection(labeled.rest.removeprefix("http://"), timeout=SECONDS)
    used = set()
    for body in (b"no JSON", b'{"instances": ["a"]}', b"{}"):
        connection.request("POST", f"/V1/models/{MODEL}:PREDICT", body)
        used.add(connection.sock.getsockname())
        connection.getresponse().read()
    assert len(used) == 1


# --- Versions, labels, status, metadata ---


@pytest.mark.parametrize(("version", "expected"), [(None, 3), (1, 1), ("stable", 1), ("canary", 3)])
def test_versions_and_labels(labeled, version, expected):
    with channel(labeled) as connection:
        response = predict(connection, predict_request("describe", version, text=["a"]))
        assert response.model_spec.version.value == expected
    part = f"/labels/{version}" if isinstance(version, str) else f"/versions/{version}"
    part = part if version is not None else ""
    assert rest(labeled, f"{part}:predict", DESCRIBE).status == 200
    metadata = rest(labeled, f"{part}/metadata").body
    assert metadata["model_spec"] == {
        "name": MODEL, "version": str(expected), "signature_name": "",
    }  # fmt: skip


def test_status(labeled):
    def state(version: int) -> dict[str, Any]:
        return {
            "version": str(version),
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }

    assert rest(labeled).body == {"model_version_status": [state(3), state(1)]}
    assert rest(labeled, "/versions/1").body == {"model_version_status": [state(1)]}
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = MODEL
    with channel(labeled) as connection:
        stub = model_service_pb2_grpc.ModelServiceStub(connection)
        found = stub.GetModelStatus(request, timeout=SECONDS).model_version_status
        assert [status.version for status in found] == [3, 1]
        assert {status.state for status in found} == {30}  # AVAILABLE
        request.model_spec.version.value = 2
        assert code_of(stub.GetModelStatus, request) == grpc.StatusCode.NOT_FOUND


def test_metadata(labeled, c_session):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = MODEL
    with channel(labeled) as connection:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(connection)
        assert code_of(stub.GetModelMetadata, request) == grpc.StatusCode.INVALID_ARGUMENT
        request.metadata_field.append("signature_def")
        response = stub.GetModelMetadata(request, timeout=SECONDS)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert dict(signatures.signature_def) == dict(c_session.signatures)
    shown = rest(labeled, "/metadata").body["metadata"]["signature_def"]["signature_def"]
    assert set(shown) == set(signatures.signature_def) >= set(INPUTS)
    text = shown["align"]["inputs"]["text"]
    assert text["dtype"] == "DT_STRING"
    assert text["tensor_shape"]["dim"] == [{"size": "-1", "name": ""}]


# --- CORS ---


CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


def cors_headers(reply: Reply) -> dict[str, str]:
    return {k: v for k, v in reply.headers.items() if k.startswith("Access-Control-")}


def test_cors(batching):
    origin = {"Origin": "https://example.org"}
    preflight = rest(batching, ":predict", method="OPTIONS", headers=origin)
    assert (preflight.status, preflight.body) == (200, b"")
    assert cors_headers(preflight) == CORS
    assert rest(batching, ":predict", method="OPTIONS").status == 400
    for reply in (rest(batching), rest(batching, ":predict", b"no JSON")):
        assert cors_headers(reply) == CORS


def test_no_cors_unless_asked_for(labeled):
    origin = {"Origin": "https://example.org"}
    for reply in (
        rest(labeled, headers=origin),
        rest(labeled, ":predict", {"instances": ["a"]}, headers=origin),
        rest(labeled, ":predict", method="OPTIONS", headers=origin),
    ):
        assert cors_headers(reply) == {}


# --- Batching ---


def test_joined_requests_are_answered_as_alone(batching, alone):
    """Two by gRPC and two by REST make a batch of four."""
    texts = [*TEXTS, "It is cold."]
    expected = [alone("align", text=[text]) for text in texts]
    with channel(batching) as connection, ThreadPoolExecutor(4) as pool:
        by_grpc = [
            pool.submit(predict, connection, predict_request("align", text=[text]))
            for text in texts[:2]
        ]
        by_rest = [
            pool.submit(
                rest, batching, ":predict", {"signature_name": "align", "instances": [text]}
            )
            for text in texts[2:]
        ]
        rows = [{k: v[0] for k, v in arrays(call.result()).items()} for call in by_grpc]
        for call in by_rest:
            (row,) = call.result().body["predictions"]
            rows.append({k: _row_of_json(v) for k, v in row.items()})
    assert "rnnsearch/1 align: 4 tasks, 4 rows\n" in batching.log
    assert_as_alone(rows, expected)


def assert_as_alone(rows: list[dict[str, Any]], expected: list[dict[str, np.ndarray]]) -> None:
    """Rows of `align`, padded as their batch is, against the sentences by themselves."""
    for row, one in zip(rows, expected, strict=True):
        assert row["translation"] == one["translation"][0]
        assert row["score"] == pytest.approx(one["score"][0], rel=1e-6, abs=1e-5)
        height, width = one["alignment"][0].shape
        for name in ("source_tokens", "target_tokens"):
            size = one[name].shape[1]
            assert row[name][:size].tolist() == one[name][0].tolist()
            assert not any(row[name][size:])
        np.testing.assert_allclose(
            row["alignment"][:height, :width], one["alignment"][0], atol=1e-5
        )
        assert not row["alignment"][height:].any()
        assert not row["alignment"][:, width:].any()
    widths = {len(row["source_tokens"]) for row in rows}
    assert widths == {max(one["source_tokens"].shape[1] for one in expected)}


def _row_of_json(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list) and isinstance(value[0], str):
        return dtypes.strings([text.encode() for text in value])
    return np.float32(value)


@pytest.mark.parametrize("count", [33, 128])
def test_a_request_of_many_sentences(labeled, alone, count):
    """As large as our batching parameters allow; one sentence more is refused."""
    texts = (TEXTS * count)[:count]
    expected = alone("serving_default", text=TEXTS)
    with channel(labeled) as connection:
        found = arrays(predict(connection, predict_request(text=texts)))
    assert found["translation"].tolist() == (expected["translation"].tolist() * count)[:count]
    np.testing.assert_allclose(found["score"], np.resize(expected["score"], count), atol=1e-5)
    if count == read_batching_parameters(SHIPPED).max_batch_size:
        reply = rest(labeled, ":predict", {"instances": [*texts, "a"]})
        assert (reply.status, f"size {count + 1} " in reply.body["error"]) == (400, True)


def test_an_alignment_of_many_sentences_of_mixed_lengths(labeled, alone):
    texts = [*TEXTS, "It is cold. " * 8, "a"]
    expected = [alone("align", text=[text]) for text in texts]
    with channel(labeled) as connection:
        found = arrays(predict(connection, predict_request("align", text=texts * 8)))
    rows = [{name: array[i] for name, array in found.items()} for i in range(len(texts) * 8)]
    assert_as_alone(rows, expected * 8)


# --- Versions that come and go; the end ---


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def states(server: Server) -> dict[str, tuple[str, str]]:
    return {
        status["version"]: (status["state"], status["status"]["error_code"])
        for status in rest(server).body["model_version_status"]
    }


def test_a_new_version_takes_over_without_a_gap(quick_dir, tmp_path):
    folder = tmp_path / "exports"
    shutil.copytree(quick_dir, folder)
    (folder / "not-a-version").mkdir()
    with running(folder) as server, channel(server) as connection:
        versions, stop = [], threading.Event()

        def call_all_the_time() -> None:
            while not stop.is_set():
                response = predict(connection, predict_request("describe", text=["It is cold."]))
                versions.append(response.model_spec.version.value)

        with ThreadPoolExecutor(1) as pool:
            caller = pool.submit(call_all_the_time)
            try:
                until(lambda: bool(versions))
                add_version(quick_dir / "1", folder / "2")
                until(lambda: states(server).get("1") == ("END", "OK"))
                (folder / "10").mkdir()  # no SavedModel
                until(lambda: "10" in states(server) and states(server)["10"][0] == "END")
            finally:
                stop.set()
            caller.result()
        assert set(versions) == {1, 2}
        assert versions[-1] == 2
        assert states(server)["2"] == ("AVAILABLE", "OK")
        assert states(server)["10"] == ("END", "NOT_FOUND")
        assert rest(server, "/versions/1:predict", {"instances": ["a"]}).status == 404
        folder.rename(tmp_path / "elsewhere")  # a disk that is gone for a while
        until(lambda: "No such file" in server.log)
        assert rest(server, "/versions/2:predict", DESCRIBE).status == 200


def test_sigterm_ends_it_when_calls_are_answered(quick_dir):
    with running(quick_dir, "--enable_batching") as server, channel(server) as connection:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(connection)
        call = stub.Predict.future(predict_request(text=["a"]), SECONDS)
        until(lambda: "rnnsearch/1 serving_default" in server.log or call.done())
        server.process.send_signal(signal.SIGTERM)
        assert arrays(call.result())["translation"].tolist() == [b"a"]
        assert server.process.wait(SECONDS) == 0
        with pytest.raises(urllib.error.URLError):
            rest(server)


# --- TLS ---


def test_tls(quick_dir, tmp_path):
    authority = certificates.Authority(tmp_path)
    certificate, key = authority.issue("server", "DNS:localhost,IP:127.0.0.1")
    config = write_ssl_config(tmp_path / "ssl.config", key, certificate)
    root = authority.certificate.read_bytes()
    with running(quick_dir, f"--ssl_config_file={config}") as server:
        assert server.rest.startswith("https://")
        with channel(server, grpc.ssl_channel_credentials(root)) as connection:
            answer = arrays(predict(connection, predict_request("describe", text=["a"])))
            assert answer["source_language"].tolist() == [b"source"]
        with channel(server) as connection:
            request = predict_request("describe", text=["a"])
            assert code_of(predict, connection, request) == grpc.StatusCode.UNAVAILABLE
        context = ssl.create_default_context(cadata=root.decode())
        assert rest(server, context=context).status == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            rest(server, context=ssl.create_default_context())


# --- What it will not start with ---


def test_what_cannot_be_served_ends_it(tmp_path):
    (tmp_path / "1").mkdir()
    with pytest.raises(RuntimeError, match="does not load"), running(tmp_path):
        pass


def config_file(folder: Path, text: str) -> str:
    file = folder / "models.config"
    file.write_text(text)
    return str(file)


def test_the_model_config_file(tmp_path):
    (config,) = read_model_config(config_file(tmp_path, CONFIG.format("/exports")), True)
    assert (config.name, config.base_path) == ("rnnsearch", "/exports")
    assert dict(config.version_labels) == {"stable": 1, "canary": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CONFIG.format("/exports"), "allow_version_labels_for_unavailable_models"),
        (CONFIG.format("exports"), "not absolute"),
        ("model_config_list { config { name: 'a' base_path: '/a' } }", "model_platform"),
        ("model_config { }", "models.config"),
        (
            "model_config_list { config { name: 'a' base_path: '/a' model_platform: 'tensorflow' }"
            " config { name: 'a' base_path: '/b' model_platform: 'tensorflow' } }",
            "twice",
        ),
    ],
)
def test_configurations_that_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_model_config(config_file(tmp_path, text), False)
