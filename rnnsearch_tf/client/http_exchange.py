"""HTTP requests, each over its own connection and within the deadline of its call."""

import contextlib
import http.client
import socket
import ssl

import rnnsearch_tf
from rnnsearch_tf.client.address import Address, Tls
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import AddressError, ServingError, UnavailableError
from rnnsearch_tf.client.failures import Failure

_CONNECT_SECONDS = 10.0  # then the name's next address is tried, or the call again
_PIECE_BYTES = 1 << 16  # allocated for each call, of which most answers are smaller
_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": f"rnnsearch_tf/{rnnsearch_tf.__version__}",  # as gRPC sends its own
}
_CLOSED = (BrokenPipeError, ConnectionAbortedError, ConnectionResetError, ssl.SSLEOFError)
_OTHER_NAME = (62, 64)  # OpenSSL's codes for a certificate of another host, of another IP address
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST")
_HTTP2_FRAME = "\0\0"  # a gRPC server begins with its settings, a frame of less than 256 bytes
_TLS_ALERT = "\x15\x03"


class HttpExchange:
    """Requests to one server.

    No proxy is used and no redirection followed. Bodies of requests and answers have at most
    `max_message_bytes`.
    """

    def __init__(self, address: Address, tls: Tls, max_message_bytes: int):
        self._address = address
        self._limit = max_message_bytes
        self._context = tls.context() if address.is_secure else None

    def send(self, call: Call, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Send a GET request, or a POST request of JSON; return status and body of the answer.

        `ServingError` without a complete answer.
        """
        self._check_size(len(body or b""))
        response: http.client.HTTPResponse | None = None
        try:
            with (
                contextlib.closing(self._connection(call)) as connection,
                call.broken_off_by(lambda: _break_off(connection)),
            ):
                call.check()
                with contextlib.suppress(BrokenPipeError):  # it may have answered already
                    method = "GET" if body is None else "POST"
                    connection.request(method, path, body, _HEADERS)
                response = connection.getresponse()
                content = self._read(response, call)
            call.check()
        except (OSError, http.client.HTTPException) as error:
            call.check()
            if response is None:
                raise _no_answer(self._address, call, error) from error
            raise UnavailableError(self._address, f"the answer ended early: {error}") from error
        return response.status, content

    def _connection(self, call: Call) -> http.client.HTTPConnection:
        _, host, port = self._address
        name = host.removesuffix(".")  # certificates are for names without the dot
        connected = socket.create_connection((host, port), min(call.remaining(), _CONNECT_SECONDS))
        connected.settimeout(call.remaining())
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = http.client.HTTPConnection(name, port)
        if self._context is not None:
            connected = self._context.wrap_socket(connected, server_hostname=name)
            connection = http.client.HTTPSConnection(name, port, context=self._context)
        connection.sock = connected
        return connection

    def _read(self, response: http.client.HTTPResponse, call: Call) -> bytes:
        pieces = []
        size = 0
        buffer = memoryview(bytearray(_PIECE_BYTES))
        # `read` would read all that comes after a chunk of a negative size.
        while length := response.readinto(buffer):
            pieces.append(bytes(buffer[:length]))
            size += length
            self._check_size(size)
            call.check()
        content = b"".join(pieces)
        if response.length:
            raise http.client.IncompleteRead(content, response.length)
        return content

    def _check_size(self, size: int) -> None:
        if size > self._limit:
            raise Failure.TOO_LARGE.of(self._address, f"more than {self._limit:,} bytes")


def _break_off(connection: http.client.HTTPConnection) -> None:
    """End the wait of another thread at the connection."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            # Not the TLS socket's own method, which a second thread must not call.
            socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)


def _no_answer(address: Address, call: Call, error: Exception) -> ServingError:
    """Make the error for an exchange that failed before the first line of an answer."""
    if isinstance(error, socket.gaierror):
        is_temporary = error.errno == socket.EAI_AGAIN
        failure = Failure.NO_ADDRESS_NOW if is_temporary else Failure.UNKNOWN_HOST
        return failure.of(address, error.strerror or str(error))
    if isinstance(error, TimeoutError) and call.remaining() <= 1:  # or it is the system's own limit
        return call.late()
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        return _tls_error(address, error)
    line = str(error.args[0]) if isinstance(error, http.client.BadStatusLine) else ""
    if line.startswith(_HTTP2_FRAME):
        return Failure.OTHER_PROTOCOL.of(address)
    if isinstance(error, _CLOSED) or line.startswith(_TLS_ALERT):
        return Failure.CLOSED.of(address)
    if isinstance(error, OSError):
        return Failure.UNREACHABLE.of(address, error.strerror or str(error))
    return AddressError(address, f"does not answer in HTTP ({error!r:.60})")


def _tls_error(address: Address, error: ssl.SSLError) -> ServingError:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in _OTHER_NAME:
            return Failure.OTHER_NAME.of(address)
        return Failure.NOT_TRUSTED.of(address, error.verify_message)
    if error.reason in _NO_TLS:
        return Failure.NO_TLS.of(address)
    return Failure.TLS_FAILED.of(address, error.reason or str(error))
