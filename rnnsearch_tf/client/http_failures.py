"""Failures before an HTTP answer as errors that a user can act on."""

import http.client
import ssl

from urllib3.connection import CertificateError
from urllib3.exceptions import LocationParseError, NameResolutionError, NewConnectionError
from urllib3.exceptions import TimeoutError as HttpTimeoutError

from rnnsearch_tf.client.address import Address
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import AddressError, ServingError
from rnnsearch_tf.client.failures import Failure, too_late

_OTHER_NAME = (62, 64)  # OpenSSL's codes for a certificate of another host, of another IP address
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
_HTTP2_FRAME = "\0\0"  # a gRPC server begins with its settings, a frame of less than 256 bytes
_TLS_ALERT = "\x15\x03"


def no_answer(address: Address, call: Call, error: Exception) -> ServingError:
    """Make the error for an exchange that failed before the first line of an answer."""
    if isinstance(error, NameResolutionError | LocationParseError):
        return Failure.UNKNOWN_HOST.of(address, _reason(error))
    if isinstance(error, NewConnectionError):
        return Failure.UNREACHABLE.of(address, _reason(error))
    if isinstance(error, TimeoutError | HttpTimeoutError):
        return too_late(address, call)
    if isinstance(error, CertificateError):
        return Failure.OTHER_NAME.of(address)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return _tls_error(address, error)
    line = str(error.args[0]) if isinstance(error, http.client.BadStatusLine) else ""
    if line.startswith(_HTTP2_FRAME):
        return Failure.OTHER_PROTOCOL.of(address)
    if isinstance(error, OSError) or line.startswith(_TLS_ALERT):
        return Failure.CLOSED.of(address)
    return AddressError(address, f"does not answer in HTTP ({error!r:.60})")


def _tls_error(address: Address, error: ssl.SSLError) -> ServingError:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return Failure.OTHER_NAME.of(address)
        return Failure.NOT_TRUSTED.of(address, error.verify_message)
    if error.reason in _NO_TLS:
        return Failure.NO_TLS.of(address)
    return Failure.TLS_FAILED.of(address, error.reason or str(error))


def _reason(error: Exception) -> str:
    """Return the operating system's message."""
    cause = error.__cause__
    return (isinstance(cause, OSError) and cause.strerror) or str(cause or error)
