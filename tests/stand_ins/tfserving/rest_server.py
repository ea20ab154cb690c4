"""The REST side: TensorFlow Serving's http_server.cc and http_rest_api_handler.cc."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from google.protobuf import json_format
from google.protobuf.message import Message
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.model_pb2 import ModelSpec

from tfserving import json_request
from tfserving.json_response import error_body, predict_body
from tfserving.server_core import DEFAULT_SIGNATURE, ServerCore
from tfserving.status import Code, StatusError, invalid_argument
from tfserving.tls import Tls

_VERSION = r"(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
_MODEL = rf"/v1/models/(?P<name>[^/:]+){_VERSION}"
_PREDICT = re.compile(rf"{_MODEL}:predict", re.IGNORECASE | re.ASCII)
_DESCRIBE = re.compile(rf"{_MODEL}(?P<metadata>/metadata)?", re.IGNORECASE | re.ASCII)
_CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}

_HTTP_STATUS = {
    Code.OK: 200,
    Code.INVALID_ARGUMENT: 400,
    Code.FAILED_PRECONDITION: 400,
    Code.NOT_FOUND: 404,
    Code.UNAVAILABLE: 503,
}  # all others: 500


class Answer(NamedTuple):
    """A response to send."""

    code: Code
    body: bytes


def start_rest_server(
    core: ServerCore, port: int, tls: Tls | None, cors: bool
) -> "tuple[_Server, int]":
    """Serve; the second value is the port, one that was free when `port` is 0."""
    server = _Server(core, port, tls, cors)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def answer(core: ServerCore, method: str, path: str, body: bytes) -> Answer:
    """Answer a request for a path under /v1/."""
    try:
        if method == "POST" and (match := _PREDICT.fullmatch(path)):
            return Answer(Code.OK, _predict(core, match, body))
        if method == "GET" and (match := _DESCRIBE.fullmatch(path)):
            return Answer(Code.OK, _describe(core, match))
        raise invalid_argument(f"no request is like {method} {path}")
    except StatusError as error:
        return Answer(error.code, error_body(error))


def _predict(core: ServerCore, match: re.Match, body: bytes) -> bytes:
    spec = _model_spec(match)
    document = json_request.parse(body)
    name = json_request.signature_name(document) or DEFAULT_SIGNATURE
    with core.use(spec) as servable:
        signatures = servable.session.signatures
        if name not in signatures:
            raise invalid_argument(f"there is no signature {name!r}")
        form, inputs = json_request.read_inputs(document, signatures[name].inputs)
        return predict_body(form, servable.predict(name, inputs))


def _describe(core: ServerCore, match: re.Match) -> bytes:
    """Status or metadata."""
    spec = _model_spec(match)
    if not match["metadata"]:
        return _json(_as_json(core.status(spec)))
    response = core.metadata(spec)
    signatures = SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    return _json(
        {
            "model_spec": _as_json(response.model_spec, preserving_proto_field_name=True),
            "metadata": {"signature_def": _as_json(signatures, preserving_proto_field_name=True)},
        }
    )


def _model_spec(match: re.Match) -> ModelSpec:
    spec = ModelSpec(name=unquote(match["name"]))
    if match["version"]:
        spec.version.value = int(match["version"])
    if match["label"]:
        spec.version_label = unquote(match["label"])
    return spec


def _as_json(message: Message, **options: bool) -> Any:
    return json_format.MessageToDict(message, always_print_fields_with_no_presence=True, **options)


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, core: ServerCore, port: int, tls: Tls | None, cors: bool):
        super().__init__(("127.0.0.1", port), _Handler)
        self.core = core
        self.cors = cors
        self._tls = tls.context() if tls is not None else None
        self._idle = threading.Condition()
        self._requests = 0

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """While a request is being answered."""
        with self._idle:
            self._requests += 1
        try:
            yield
        finally:
            with self._idle:
                self._requests -= 1
                self._idle.notify_all()

    def stop(self) -> None:
        """Accept no more connections; returns when every request has its answer."""
        self.shutdown()
        with self._idle:
            self._idle.wait_for(lambda: not self._requests)
        self.socket.close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, in its own thread, so that a slow TLS handshake delays no other."""
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        with self._tls.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are sent separately
    server: _Server

    def do_GET(self) -> None:
        with self.server.busy():
            self._respond()

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def _respond(self) -> None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or "Transfer-Encoding" in self.headers:
            self.close_connection = True
            self.send_error(411)
            return
        body = self.rfile.read(int(length))
        path = urlsplit(self.path).path
        if not path.lower().startswith("/v1/"):
            self.send_error(404)
        elif self.command == "OPTIONS":
            self._send(self._preflight())
        else:
            self._send(answer(self.server.core, self.command, path, body))

    def _preflight(self) -> Answer:
        """Answer what a browser asks before it sends a request to another origin."""
        if re.search("https?://", self.headers.get("Origin", "")):
            return Answer(Code.OK, b"")
        error = StatusError(Code.FAILED_PRECONDITION, "a preflight request needs an Origin")
        return Answer(error.code, error_body(error))

    def _send(self, answer: Answer) -> None:
        self.send_response(_HTTP_STATUS.get(answer.code, 500))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body)))
        if self.server.cors:
            for name, value in _CORS_HEADERS.items():
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
