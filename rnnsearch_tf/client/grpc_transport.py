"""TensorFlow Serving's gRPC interface, and its statuses as errors that a user can act on."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import grpc

from rnnsearch_tf.client import serving_pb2
from rnnsearch_tf.client.address import Address, ModelSpec, Tls
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.contract import concerning
from rnnsearch_tf.client.errors import AnswerError, ServingError
from rnnsearch_tf.client.failures import Failure, refusal
from rnnsearch_tf.client.results import VersionStatus
from rnnsearch_tf.client.tensor_messages import nested_lists, string_vector

# TensorFlow's error codes are gRPC's.
_CODES = {code.value[0]: code.name for code in grpc.StatusCode}
_STATES = {number: name for name, number in serving_pb2.ModelVersionStatus.State.items()}
# Firewalls forget a connection that is quiet for minutes; calls on it would get no answer.
_IDLE_MS = 60_000


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# The library has one code for all of these, and its words differ from version to version.
_NO_ADDRESS = _pattern("dns resolution failed", "errors resolving", "address lookup failed")
_UNKNOWN_HOST = _pattern("domain name not found")
_OTHER_PROTOCOL = _pattern("expected settings frame", "failed parsing http/2", "http1")
_NO_CONNECTION = _pattern(
    "failed to connect to all addresses", "connections to all backends failing"
)
_CLOSED = _pattern("socket closed", "connection reset")
_BEFORE_REASON = _pattern(".*(?:remote host|last error): ")
_NOT_READABLE = _pattern("exception deserializing response")
_OF_TLS = {
    Failure.OTHER_NAME: _pattern("hostname verification", "is not in peer certificate"),
    Failure.NO_TLS: _pattern("wrong_version_number", "http_request"),
    Failure.NOT_TRUSTED: _pattern("certificate_verify_failed(?:: (?P<said>[^:;]*))?"),
    Failure.TLS_FAILED: _pattern("(?P<said>(?:ssl|tls) handshake failed.*)"),
}


class GrpcTransport:
    """Calls over gRPC, all on one channel."""

    def __init__(self, address: Address, spec: ModelSpec, tls: Tls, max_message_bytes: int):
        self._address = address
        self._spec = spec
        self._channel = _channel(address, tls, max_message_bytes)
        self._predict = self._method("PredictionService/Predict", "PredictResponse")
        self._status = self._method("ModelService/GetModelStatus", "GetModelStatusResponse")
        self._metadata = self._method(
            "PredictionService/GetModelMetadata", "GetModelMetadataResponse"
        )

    def predict(
        self, call: Call, signature: str, inputs: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Any]:
        """Return columns of outputs, not yet checked, for columns of inputs."""
        request = serving_pb2.PredictRequest(model_spec=self._model_spec())
        request.model_spec.signature_name = signature
        for name, texts in inputs.items():
            request.inputs[name].CopyFrom(string_vector(texts))
        answer = self._answer(call, self._predict, request, signature)
        columns = {}
        for name, tensor in answer.outputs.items():
            with concerning(name):
                columns[name] = nested_lists(tensor)
        return columns

    def status(self, call: Call) -> list[VersionStatus]:
        """Return the versions of the model, or the one that the client names."""
        request = serving_pb2.GetModelStatusRequest(model_spec=self._model_spec())
        answer = self._answer(call, self._status, request, None)
        return [_version_status(entry) for entry in answer.model_version_status]

    def version(self, call: Call) -> int:
        """Return the version that answers."""
        request = serving_pb2.GetModelMetadataRequest(
            model_spec=self._model_spec(), metadata_field=["signature_def"]
        )
        answer = self._answer(call, self._metadata, request, None)
        return int(answer.model_spec.version.value)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _method(self, name: str, answer: str) -> Any:
        return self._channel.unary_unary(
            f"/tensorflow.serving.{name}",
            lambda request: request.SerializeToString(),
            getattr(serving_pb2, answer).FromString,
        )

    def _model_spec(self) -> serving_pb2.ModelSpec:
        spec = serving_pb2.ModelSpec(name=self._spec.name)
        if self._spec.version is not None:
            spec.version.value = self._spec.version
        if self._spec.label is not None:
            spec.version_label = self._spec.label
        return spec

    def _answer(self, call: Call, method: Any, request: Any, signature: str | None) -> Any:
        try:
            future = method.future(request, timeout=call.remaining(), wait_for_ready=False)
        except ValueError:  # the channel is closed
            call.check()
            raise
        try:
            with call.broken_off_by(future.cancel):
                return future.result()
        except grpc.FutureCancelledError as error:
            raise call.late() from error
        except grpc.RpcError as error:
            call.check()
            code, details = future.code().name, future.details() or ""
            own = _of_library(self._address, code, details)
            raise own or refusal(self._address, self._spec, signature, code, details) from error


def _channel(address: Address, tls: Tls, max_message_bytes: int) -> grpc.Channel:
    options = [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.enable_http_proxy", 0),  # as over REST
        # Otherwise, an attempt would report the failure of the one before it.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        ("grpc.client_idle_timeout_ms", _IDLE_MS),
        # With it, the system gives up a connection after 20 s without a sign of the other end (on
        # Linux, otherwise 15 minutes). Servers refuse pings within 5 minutes.
        ("grpc.keepalive_time_ms", 600_000),
        # Calls alternate between all addresses of a name, such as those of the pods of a service.
        ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    ]
    target = f"dns:///{address.authority}"
    if not address.is_secure:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(*tls.contents()), options)


def _version_status(entry: serving_pb2.ModelVersionStatus) -> VersionStatus:
    code = entry.status.error_code
    return VersionStatus(
        entry.version,
        _STATES.get(entry.state, str(entry.state)),
        _CODES.get(code, str(code)),
        entry.status.error_message,
    )


def _of_library(address: Address, code: str, details: str) -> ServingError | None:
    """Make the error for a status that is the gRPC library's own; None if the server said it."""
    if code == "INTERNAL" and _NOT_READABLE.search(details):
        return AnswerError(address, "the answer is not a message of TensorFlow Serving")
    if code != "UNAVAILABLE":
        return None
    if _NO_ADDRESS.search(details):
        is_unknown = _UNKNOWN_HOST.search(details)
        failure = Failure.UNKNOWN_HOST if is_unknown else Failure.NO_ADDRESS_NOW
        return failure.of(address, details)
    if _OTHER_PROTOCOL.search(details):
        return Failure.OTHER_PROTOCOL.of(address)
    is_unconnected = _NO_CONNECTION.search(details)
    for failure, pattern in _OF_TLS.items() if is_unconnected and address.is_secure else ():
        if match := pattern.search(details):
            return failure.of(address, match.groupdict().get("said") or "verification failed")
    if _CLOSED.search(details):
        return Failure.CLOSED.of(address)
    if is_unconnected:
        return Failure.UNREACHABLE.of(address, _BEFORE_REASON.sub("", details))
    return None
