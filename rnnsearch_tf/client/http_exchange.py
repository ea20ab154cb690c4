"""HTTP requests over persistent connections, each within the deadline of its call."""

import contextlib
import http.client
import os
import socket
import ssl
import threading
import time
from typing import NamedTuple

from urllib3.connection import CertificateError, HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    HTTPError,
    LocationParseError,
    NameResolutionError,
    NewConnectionError,
)
from urllib3.exceptions import TimeoutError as HttpTimeoutError
from urllib3.response import HTTPResponse

from rnnsearch_tf.client.address import Address, Tls
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import AddressError, AnswerError, ServingError
from rnnsearch_tf.client.failures import Failure

_PIECE_BYTES = 1 << 20
_IDLE_SECONDS = 60.0  # a network may silently drop a connection that is idle for longer
_FAILURES = (OSError, http.client.HTTPException, HTTPError, CertificateError)
_OTHER_NAME = (62, 64)  # OpenSSL's codes for a certificate of another host, of another IP address
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
_HTTP2_FRAME = "\0\0"  # a gRPC server begins with its settings, a frame of less than 256 bytes
_TLS_ALERT = "\x15\x03"


class Response(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes


class HttpExchange:
    """A pool of connections to one server, one for each concurrent call.

    Connections are kept open and used again. No proxy is used and no redirection followed. Bodies
    of requests and answers have at most `max_message_bytes`.
    """

    def __init__(self, address: Address, tls: Tls, max_message_bytes: int):
        self._address = address
        self._limit = max_message_bytes
        self._context = tls.context() if address.is_secure else None
        self._lock = threading.Lock()
        self._idle: list[tuple[float, HTTPConnection]] = []  # each with the time of its last use
        self._process = os.getpid()
        self._is_closed = False

    def close(self) -> None:
        """Close the connections; those in use when their calls end."""
        with self._lock:
            self._is_closed = True
            self._close_idle()

    def _close_idle(self) -> None:
        for _, connection in self._idle:
            connection.close()
        self._idle.clear()

    def send(self, call: Call, path: str, body: bytes | None = None) -> Response:
        """Send a GET request, or a POST request of JSON; `ServingError` without a whole answer."""
        self._check_size(len(body or b""))
        connection = self._connection(call)
        response: HTTPResponse | None = None
        is_whole = False
        try:
            with call.broken_off_by(lambda: _break_off(connection)):
                if connection.is_closed:
                    connection.connect()
                call.check()
                with contextlib.suppress(BrokenPipeError):  # it may have answered already
                    headers = {"Content-Type": "application/json"}
                    connection.request(
                        "GET" if body is None else "POST",
                        path,
                        body,
                        headers,
                        preload_content=False,
                        decode_content=False,  # it could unpack to a thousand times more
                    )
                response = connection.getresponse()
                content = self._read(response, call)
            call.check()
            is_whole = True
        except _FAILURES as error:
            call.check()
            if response is None:
                raise _no_answer(self._address, call, error) from error
            raise AnswerError(self._address, f"the answer ended early: {error}") from error
        finally:
            with self._lock:
                if is_whole and not self._is_closed:
                    self._idle.append((time.monotonic(), connection))
                else:
                    connection.close()
        return Response(response.status, content)

    def _read(self, response: HTTPResponse, call: Call) -> bytes:
        pieces = []
        size = 0
        while piece := response.read(_PIECE_BYTES):
            pieces.append(piece)
            size += len(piece)
            self._check_size(size)
            call.check()
        return b"".join(pieces)

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise Failure.TOO_LARGE.of(self._address, f"more than {self._limit:,} bytes")

    def _connection(self, call: Call) -> HTTPConnection:
        """Take an idle connection, or a new one that has not connected yet."""
        _, host, port = self._address
        with self._lock:
            last_use = self._idle[-1][0] if self._idle else 0.0
            is_forked = self._process != os.getpid()  # the parent process uses them too
            if is_forked or time.monotonic() - last_use > _IDLE_SECONDS:
                self._process = os.getpid()
                self._close_idle()
            if self._idle:
                _, connection = self._idle.pop()
            elif self._context is None:
                connection = HTTPConnection(host, port)
            else:
                connection = HTTPSConnection(host, port, ssl_context=self._context)
        if not connection.is_connected:
            connection.close()  # the server has closed it, or sent data unasked
        connection.timeout = call.remaining()
        return connection


def _break_off(connection: HTTPConnection) -> None:
    """End the wait of another thread at the connection."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            # Not the TLS socket's own method, which a second thread must not call.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _no_answer(address: Address, call: Call, error: Exception) -> ServingError:
    """Make the error for an exchange that failed before the first line of an answer."""
    if isinstance(error, NameResolutionError | LocationParseError):
        is_temporary = getattr(error.__cause__, "errno", None) == socket.EAI_AGAIN
        failure = Failure.NO_ADDRESS_NOW if is_temporary else Failure.UNKNOWN_HOST
        return failure.of(address, _reason(error))
    if isinstance(error, NewConnectionError):
        return Failure.UNREACHABLE.of(address, _reason(error))
    if isinstance(error, TimeoutError | HttpTimeoutError):
        if call.remaining() > 1:  # the system's own limit
            return Failure.UNREACHABLE.of(address, _reason(error))
        return call.late()
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
