"""TensorFlow Serving's REST interface."""

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf.client.address import Address, ModelSpec, Tls
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.contract import SIGNATURES, Columns
from rnnsearch_tf.client.errors import AddressError, AnswerError, ServingError
from rnnsearch_tf.client.failures import Failure, refusal
from rnnsearch_tf.client.http_exchange import HttpExchange
from rnnsearch_tf.client.results import VersionStatus

_MAX_PARTS = 1_000_000  # lists and objects, or keys, each some 50 times as large as its text
_MAX_VALUES = 1 << 24  # an answer of 256 MiB has fewer weights
# HTTP statuses and the gRPC codes that TensorFlow Serving makes them from. 502 is a gateway's while
# the server behind it restarts.
_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class RestTransport:
    """Calls over HTTP."""

    def __init__(self, address: Address, spec: ModelSpec, tls: Tls, max_message_bytes: int):
        self._address = address
        self._spec = spec
        self._path = _path(spec)
        self._exchange = HttpExchange(address, tls, max_message_bytes)

    def predict(self, call: Call, signature: str, inputs: Mapping[str, Sequence[str]]) -> Columns:
        """Return columns of outputs, not yet checked, for columns of inputs."""
        request = {"signature_name": signature, "inputs": inputs}
        body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
        outputs = self._content(call, f"{self._path}:predict", body, signature).get("outputs")
        names = [name for name, output in SIGNATURES[signature].outputs.items() if not output.since]
        if isinstance(outputs, list):  # a single output is sent without name
            return {names[0]: outputs}
        if not isinstance(outputs, dict):
            raise AnswerError(self._address, "the answer has no 'outputs'")
        return outputs

    def status(self, call: Call) -> list[VersionStatus]:
        """Return the versions of the model, or the one that the client names."""
        content = self._content(call, self._path)
        try:
            return [_version_status(entry) for entry in content["model_version_status"]]
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise AnswerError(self._address, "the answer is not the status of a model") from error

    def version(self, call: Call) -> int:
        """Return the version that answers."""
        content = self._content(call, f"{self._path}/metadata")
        try:
            return int(content["model_spec"]["version"])
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise AnswerError(self._address, "the answer does not name a version") from error

    def close(self) -> None:
        """Do nothing: each connection is closed at the end of its call."""

    def _content(
        self, call: Call, path: str, body: bytes | None = None, signature: str | None = None
    ) -> dict[str, Any]:
        """Send a request; return the JSON object of a good answer, or raise a `ServingError`."""
        status, answer = self._exchange.send(call, path, body)
        content = _parsed(answer)
        call.check()
        begin = repr(answer[:60].decode("utf-8", "replace"))
        if status != 200:
            raise self._refusal(status, content, begin, signature)
        if not isinstance(content, dict):
            raise AnswerError(self._address, f"the answer is not a JSON object: {begin}")
        return content

    def _refusal(
        self, status: int, content: Any, begin: str, signature: str | None
    ) -> ServingError:
        said = content.get("error") if isinstance(content, dict) else None
        code = _CODES.get(status)
        if isinstance(said, str) and code:
            return refusal(self._address, self._spec, signature, code, said)
        plain = f"HTTP {status} {begin}"
        if status == 413:
            return Failure.TOO_LARGE.of(self._address, plain)
        if status == 404 or code is None:
            return AddressError(
                self._address, f"this is not what TensorFlow Serving's REST port answers: {plain}"
            )
        return refusal(self._address, self._spec, signature, code, plain)


def _parsed(body: bytes) -> Any:
    """Parse JSON; None if it cannot be read, or its objects would fill the memory."""
    lists, keys = body.count(b"[") + body.count(b"{"), body.count(b":")
    if max(lists, keys) > _MAX_PARTS or body.count(b",") > _MAX_VALUES:
        return None
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError):
        return None


def _path(spec: ModelSpec) -> str:
    path = f"/v1/models/{urllib.parse.quote(spec.name, safe='')}"
    if spec.version is not None:
        path += f"/versions/{spec.version}"
    if spec.label is not None:
        path += f"/labels/{urllib.parse.quote(spec.label, safe='')}"
    return path


def _version_status(entry: dict[str, Any]) -> VersionStatus:
    status = entry.get("status") or {}
    return VersionStatus(
        int(entry["version"]),
        str(entry["state"]),
        str(status.get("error_code", "OK")),
        str(status.get("error_message", "")),
    )
