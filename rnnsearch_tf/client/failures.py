"""Error messages of failed calls, for both protocols."""

import enum
import re

from rnnsearch_tf.client import errors
from rnnsearch_tf.client.address import Address, ModelSpec

_OTHER_SCHEMES = {"http": "grpc", "https": "grpcs", "grpc": "http", "grpcs": "https"}


class Failure(enum.Enum):
    """Failures that both protocols have: the error, and its reason, which says what may help."""

    UNKNOWN_HOST = errors.AddressError, "no address is known for the host {host}: {said}"
    NO_ADDRESS_NOW = errors.UnavailableError, "no address is known for the host {host}: {said}"
    UNREACHABLE = errors.UnavailableError, "cannot be reached: {said}"
    CLOSED = errors.UnavailableError, "closed the connection without an answer; {of_closed}"
    OTHER_PROTOCOL = (  # a gRPC server was called over REST, or the reverse
        errors.AddressError,
        "does not speak {here} at port {port}; if this is its {there} port, use {other}",
    )
    NOT_TRUSTED = (
        errors.TlsError,
        "its certificate is not trusted ({said}); name the authority with ca_certificate",
    )
    OTHER_NAME = errors.TlsError, "its certificate is not valid for {host}"
    NO_TLS = errors.TlsError, "does not speak TLS; try {plain}://"
    TLS_FAILED = errors.TlsError, "no secure connection: {said}"
    TOO_LARGE = (
        errors.MessageSizeError,
        "request or answer too large, a smaller batch_size may help: {said}",
    )

    def of(self, address: Address, said: str = "") -> errors.ServingError:
        """Make the error for a server; `said` is the message of the library or the system."""
        error, reason = self.value
        here, there = ("REST", "gRPC") if address.is_rest else ("gRPC", "REST")
        of_closed = f"if it requires TLS, use {address.scheme}s://"
        if address.is_secure:
            of_closed = "it may not support TLS, or may require a client certificate"
        return error(
            address,
            reason.format(
                host=address.host,
                port=address.port,
                said=said,
                of_closed=of_closed,
                here=here,
                there=there,
                other=f"{_OTHER_SCHEMES[address.scheme]}://{address.authority}",
                plain=address.scheme.removesuffix("s"),
            ),
        )


_MAX_MESSAGE = 300
_REFUSED = ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "NOT_FOUND")
_NO_SIGNATURE = re.compile(r"signature.*not found", re.IGNORECASE)
_NO_LABEL = re.compile(r"version label", re.IGNORECASE)
_NO_MEMORY = re.compile(r"\bOOM\b|out of memory", re.IGNORECASE)
_TOO_LARGE = re.compile(r"message larger than max", re.IGNORECASE)


def refusal(
    address: Address, spec: ModelSpec, signature: str | None, code: str, message: str
) -> errors.ServingError:
    """Make the error for a status of TensorFlow Serving; `code` is the name of a gRPC code."""
    said = " ".join(message.split()) or code
    if len(said) > _MAX_MESSAGE:
        said = f"{said[:_MAX_MESSAGE]}…"
    if code == "RESOURCE_EXHAUSTED" and _TOO_LARGE.search(said):
        return Failure.TOO_LARGE.of(address, said)
    asked_too_often = code == "RESOURCE_EXHAUSTED" and not _NO_MEMORY.search(said)
    if code == "UNAVAILABLE" or asked_too_often:
        return errors.UnavailableError(address, f"is unavailable: {said}")
    if code == "DEADLINE_EXCEEDED":
        return errors.DeadlineError(
            address, f"gave up on the request (a smaller batch_size may help): {said}"
        )
    if code in _REFUSED and signature and _NO_SIGNATURE.search(said):
        return errors.SignatureError(address, f"{spec} has no signature {signature}: {said}")
    if code == "NOT_FOUND" or (code in _REFUSED and _NO_LABEL.search(said)):
        return errors.NotFoundError(address, f"does not serve {spec}: {said}")
    if code in _REFUSED:
        return errors.RequestError(address, f"refuses the request: {said}")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return errors.RequestError(address, f"denies access: {said}")
    if code == "UNIMPLEMENTED":
        return errors.AddressError(
            address, f"is not TensorFlow Serving, or does not know the call: {said}"
        )
    return errors.ServerError(address, f"failed with {code}: {said}")
