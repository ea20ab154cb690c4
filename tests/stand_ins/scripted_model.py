"""A served model for tests of the client: a Python function behind HTTP or gRPC.

Its every fault is the test's own.
"""

import contextlib
import http.server
import json
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # the failures here are meant

from rnnsearch_tf.client import Client, Hypothesis, ServingError, Translation

SECONDS = 300  # a safety net, where a server waits for its client or the reverse
LINES = [f"Sentence {i}" for i in range(1, 12)]


class Refusal(Exception):
    """Raised by a behavior: the name of a gRPC code, and a text."""


class Request(NamedTuple):
    """What a behavior is given."""

    model: str  # "rnnsearch", "rnnsearch/versions/3", "rnnsearch/labels/stable"
    signature: str
    inputs: dict[str, list[str]]
    wait_until_left: Callable[[], bool]  # waits until the client has gone; whether it has


Columns = dict[str, list[Any]]
Behavior = Callable[[Request], Columns]
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "RESOURCE_EXHAUSTED": 429, "INTERNAL": 500,
    "UNIMPLEMENTED": 501, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}  # fmt: skip


def translated(text: str) -> str:
    return text.upper()


def score_of(text: str) -> float:
    return -len(text) / 8  # a float32 has it exactly


def obliging(request: Request) -> Columns:
    """Answers `serving_default` and `describe` as it should be."""
    texts = request.inputs["text"]
    if request.signature == "describe":
        return {f"{side}_language": ["en"] * len(texts) for side in ("source", "target")}
    return {"translation": list(map(translated, texts)), "score": list(map(score_of, texts))}


class Unlucky:
    """Answers as `obliging`, but fails at a sentence until it `is_lucky`."""

    def __init__(self, sentence: str):
        self.is_lucky = False
        self._sentence = sentence

    def __call__(self, request: Request) -> Columns:
        if self._sentence in request.inputs["text"] and not self.is_lucky:
            raise Refusal("INTERNAL", "out of luck")
        return obliging(request)


class Served(NamedTuple):
    url: str
    requests: list[Request]


class HttpHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behavior: Behavior
    statuses: Any
    served: Served

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path.startswith("/v1/models/")
        model = self.path.removeprefix("/v1/models/").removesuffix(":predict")
        inputs = body["inputs"]
        request = Request(model, body["signature_name"], inputs, self.wait_until_left)
        self.served.requests.append(request)
        self.answer(lambda: {"outputs": unnamed_if_single(self.behavior(request))})

    def do_GET(self) -> None:
        is_metadata = self.path.endswith("/metadata")
        self.answer(self.metadata if is_metadata else self.status)

    def metadata(self) -> Any:
        return {"model_spec": {"version": answering_version(self.path, self.statuses)}}

    def status(self) -> Any:
        return {"model_version_status": self.statuses}

    def answer(self, find: Callable[[], Any]) -> None:
        try:
            self.reply(200, find())
        except Refusal as refusal:
            code, text = refusal.args
            self.reply(HTTP_STATUS[code], {"error": text})

    def reply(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def wait_until_left(self) -> bool:
        self.connection.settimeout(SECONDS)
        self.close_connection = True
        try:
            return self.connection.recv(1) == b""
        except ConnectionError:
            return True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def unnamed_if_single(columns: Columns) -> Any:
    """As TensorFlow Serving writes them in JSON."""
    return next(iter(columns.values())) if len(columns) == 1 else columns


class HttpServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave are expected."""


STATUSES = [
    {"version": "2", "state": "LOADING", "status": {"error_code": "OK", "error_message": ""}},
    {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}},
]


def answering_version(model: str, statuses: Any) -> str:
    """Return the version of which the metadata are: the highest, or that of a label, the lowest."""
    available = [entry["version"] for entry in statuses if entry["state"] == "AVAILABLE"]
    if not available:
        raise Refusal("NOT_FOUND", "no version is available")
    return (min if "/labels/" in model else max)(available)


@contextlib.contextmanager
def over_http(
    behavior: Behavior = obliging,
    statuses: Any = STATUSES,
    context: ssl.SSLContext | None = None,
    handler: type[HttpHandler] = HttpHandler,
    port: int = 0,
) -> Iterator[Served]:
    """Serve over REST, with TLS where a context is given."""
    members = {"behavior": staticmethod(behavior), "statuses": statuses}
    bound_handler: Any = type("Handler", (handler,), members)
    server = HttpServer(("127.0.0.1", port), bound_handler)
    scheme = "http"
    if context is not None:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        scheme = "https"
    served = Served(f"{scheme}://127.0.0.1:{server.server_port}", [])
    bound_handler.served = served
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def over_grpc(
    behavior: Behavior = obliging,
    statuses: Any = STATUSES,
    credentials: Any = None,
    options: Any = None,
    port: int = 0,
) -> Iterator[Served]:
    """Serve over gRPC, with TLS where credentials are given."""
    import grpc
    import tensorflow as tf
    from tensorflow.core.protobuf import error_codes_pb2
    from tensorflow_serving.apis import (
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )

    served: Served

    class Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
        def Predict(self, message: Any, context: Any) -> Any:
            left = threading.Event()
            context.add_callback(left.set)
            request = Request(
                model_of(message.model_spec),
                message.model_spec.signature_name,
                {
                    name: [text.decode() for text in tf.make_ndarray(tensor)]
                    for name, tensor in message.inputs.items()
                },
                lambda: left.wait(SECONDS),
            )
            served.requests.append(request)
            try:
                columns = behavior(request)
            except Refusal as refusal:
                context.abort(grpc.StatusCode[refusal.args[0]], refusal.args[1])
            answer = predict_pb2.PredictResponse()
            for name, column in columns.items():
                answer.outputs[name].CopyFrom(tensor_proto(column))
            return answer

        def GetModelMetadata(self, message: Any, context: Any) -> Any:
            answer = get_model_metadata_pb2.GetModelMetadataResponse()
            answer.model_spec.version.value = int(
                answering_version(model_of(message.model_spec), statuses)
            )
            return answer

    class Model(model_service_pb2_grpc.ModelServiceServicer):
        def GetModelStatus(self, message: Any, context: Any) -> Any:
            answer = get_model_status_pb2.GetModelStatusResponse()
            for entry in statuses:
                version = answer.model_version_status.add(version=int(entry["version"]))
                version.state = version.State.Value(entry["state"])
                code = entry["status"]["error_code"]
                version.status.error_code = error_codes_pb2.Code.Value(code)
                version.status.error_message = entry["status"]["error_message"]
            return answer

    def tensor_proto(column: Any) -> Any:
        dtype = tf.string if holds_text(column) else tf.float32
        return tf.make_tensor_proto(column, dtype)

    server = grpc.server(ThreadPoolExecutor(16), options=options)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Prediction(), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(Model(), server)
    if credentials is None:
        scheme, bound = "grpc", server.add_insecure_port(f"127.0.0.1:{port}")
    else:
        scheme, bound = "grpcs", server.add_secure_port(f"127.0.0.1:{port}", credentials)
    served = Served(f"{scheme}://127.0.0.1:{bound}", [])
    server.start()
    try:
        yield served
    finally:
        server.stop(None).wait()


def model_of(spec: Any) -> str:
    """A gRPC model spec, written as in the paths of REST."""
    if spec.HasField("version"):
        return f"{spec.name}/versions/{spec.version.value}"
    return f"{spec.name}/labels/{spec.version_label}" if spec.version_label else spec.name


def holds_text(value: Any) -> bool:
    return any(map(holds_text, value)) if isinstance(value, list) else isinstance(value, str)


SERVERS = {"http": over_http, "grpc": over_grpc}
both = pytest.mark.parametrize("serve", SERVERS.values(), ids=SERVERS)


def client_of(served: Served, **options: Any) -> Client:
    """A client with batches of 2 that is in no hurry."""
    return Client(served.url, **{"deadline": SECONDS, "batch_size": 2, **options})


def expected(lines: list[str]) -> list[Translation]:
    """Return the results of the obliging model for lines."""
    return [
        Translation(line, (), (Hypothesis(translated(line), (), score_of(line), None),))
        for line in lines
    ]


def failure(error: type[ServingError], url: str, **options: Any) -> str:
    """Return the message of the error that the translation of a line must raise."""
    with (
        Client(url, **{"deadline": SECONDS, **options}) as client,
        pytest.raises(error) as caught,
    ):
        list(client.translate(["One."]))
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{url}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)
