"""gRPC statuses as errors that a user can act on."""

import re

from rnnsearch_tf.client.address import Address, ModelSpec
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import AnswerError, ServingError
from rnnsearch_tf.client.failures import Failure, refusal, too_late


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# The library has one code for all of these, and its words differ from version to version.
_NO_HOST = _pattern("dns resolution failed", "errors resolving", "address lookup failed")
_OTHER_PROTOCOL = _pattern("expected settings frame", "failed parsing http/2", "http1")
_NO_CONNECTION = _pattern("failed to connect to all addresses")
_CLOSED = _pattern("socket closed", "connection reset")
_BEFORE_REASON = _pattern(".*(?:remote host|last error): ")
_NOT_READABLE = _pattern("exception deserializing response")
_OF_TLS = {
    Failure.OTHER_NAME: _pattern("hostname verification", "is not in peer certificate"),
    Failure.NO_TLS: _pattern("wrong_version_number", "http_request"),
    Failure.NOT_TRUSTED: _pattern("certificate_verify_failed(?:: (?P<said>[^:;]*))?"),
    Failure.TLS_FAILED: _pattern("(?P<said>(?:ssl|tls) handshake failed.*)"),
}


def grpc_error(
    address: Address, spec: ModelSpec, signature: str | None, call: Call, code: str, details: str
) -> ServingError:
    """Make the error for a call that ended with a status other than OK."""
    if call.is_over():
        return too_late(address, call)
    error = _unavailable(address, details) if code == "UNAVAILABLE" else None
    if code == "INTERNAL" and _NOT_READABLE.search(details):
        error = AnswerError(address, "the answer is no message of TensorFlow Serving")
    return error or refusal(address, spec, signature, code, details)


def _unavailable(address: Address, details: str) -> ServingError | None:
    """Tell apart the failures that the library calls UNAVAILABLE; None where the server said it."""
    if _NO_HOST.search(details):
        return Failure.UNKNOWN_HOST.of(address, details)
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
