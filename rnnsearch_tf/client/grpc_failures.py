"""gRPC statuses as errors that a user can act on."""

import re

from rnnsearch_tf.client import failures
from rnnsearch_tf.client.address import Address, ModelSpec
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import AnswerError, ServingError, TlsError
from rnnsearch_tf.client.failures import refusal


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# The library has one code for all of these, and its words differ from version to version.
_NO_HOST = _pattern("dns resolution failed", "errors resolving", "address lookup failed")
_OTHER_PROTOCOL = _pattern("expected settings frame", "failed parsing http/2", "http1")
_NO_CONNECTION = _pattern("failed to connect to all addresses")
_OTHER_NAME = _pattern("hostname verification", "is not in peer certificate")
_NO_TLS = _pattern("wrong_version_number", "http_request")
_NOT_TRUSTED = _pattern("certificate_verify_failed(?:: ([^:;]*))?")
_TLS_FAILED = _pattern("(?:ssl|tls) handshake failed.*")
_CLOSED = _pattern("socket closed", "connection reset")
_BEFORE_REASON = _pattern(".*(?:remote host|last error): ")
_NOT_READABLE = _pattern("exception deserializing response")


def grpc_error(
    address: Address, spec: ModelSpec, signature: str | None, call: Call, code: str, details: str
) -> ServingError:
    """Make the error for a call that ended with a status other than OK."""
    if call.is_over():
        return failures.too_late(address, call)
    error = _unavailable(address, details) if code == "UNAVAILABLE" else None
    if code == "INTERNAL" and _NOT_READABLE.search(details):
        error = AnswerError(address, "the answer is no message of TensorFlow Serving")
    return error or refusal(address, spec, signature, code, details)


def _unavailable(address: Address, details: str) -> ServingError | None:
    """Tell apart the failures that the library calls UNAVAILABLE; None where the server said it."""
    if _NO_HOST.search(details):
        return failures.unknown_host(address, details)
    if _OTHER_PROTOCOL.search(details):
        return failures.other_protocol(address)
    if _NO_CONNECTION.search(details) and address.is_secure:
        error = _tls_error(address, details)
        if error is not None:
            return error
    if _CLOSED.search(details):
        return failures.closed(address)
    if _NO_CONNECTION.search(details):
        return failures.unreachable(address, _BEFORE_REASON.sub("", details))
    return None


def _tls_error(address: Address, details: str) -> TlsError | None:
    if _OTHER_NAME.search(details):
        return failures.other_name(address)
    if _NO_TLS.search(details):
        return failures.no_tls(address)
    if match := _NOT_TRUSTED.search(details):
        return failures.not_trusted(address, match[1] or "verification failed")
    if match := _TLS_FAILED.search(details):
        return failures.tls_failed(address, match[0])
    return None
