"""The wording of failed calls, for both protocols."""

import re

from rnnsearch_tf.client import errors
from rnnsearch_tf.client.address import Address, ModelSpec
from rnnsearch_tf.client.call import Call


def unknown_host(address: Address, said: str) -> errors.AddressError:
    """The host's name cannot be resolved."""
    return errors.AddressError(address, f"no address is known for the host {address.host}: {said}")


def unreachable(address: Address, said: str) -> errors.UnavailableError:
    """No connection."""
    return errors.UnavailableError(address, f"cannot be reached: {said}")


def closed(address: Address) -> errors.UnavailableError:
    """The server ended the connection in place of an answer."""
    if address.is_secure:
        hint = "it may not speak TLS, or want a client certificate"
    else:
        hint = f"if it wants TLS, use {address.scheme}s://"
    return errors.UnavailableError(address, f"closed the connection without an answer; {hint}")


def other_protocol(address: Address) -> errors.AddressError:
    """A gRPC server was called over REST, or the reverse."""
    here, there = ("REST", "gRPC") if address.is_rest else ("gRPC", "REST")
    scheme = {"http": "grpc", "https": "grpcs", "grpc": "http", "grpcs": "https"}[address.scheme]
    return errors.AddressError(
        address,
        f"does not speak {here} at port {address.port}; if this is its {there} port, "
        f"use {scheme}://{address.authority}",
    )


def not_trusted(address: Address, said: str) -> errors.TlsError:
    """No trusted authority has signed the server's certificate."""
    return errors.TlsError(
        address,
        f"its certificate is not trusted ({said}); name the authority with ca_certificate",
    )


def other_name(address: Address) -> errors.TlsError:
    """The server's certificate is made out to another name."""
    return errors.TlsError(address, f"its certificate is not made out to {address.host}")


def no_tls(address: Address) -> errors.TlsError:
    """The server does not speak TLS."""
    return errors.TlsError(address, f"does not speak TLS; try {address.scheme[:-1]}://")


def tls_failed(address: Address, said: str) -> errors.TlsError:
    """No secure connection, for another reason."""
    return errors.TlsError(address, f"no secure connection: {said}")


def too_large(address: Address, said: str) -> errors.MessageSizeError:
    """A message is larger than one side takes."""
    return errors.MessageSizeError(
        address, f"request or answer too large, a smaller batch_size may help: {said}"
    )


def too_late(address: Address, call: Call) -> errors.DeadlineError:
    """A call has not ended by its deadline."""
    return errors.DeadlineError(
        address,
        f"no whole answer within {call.seconds:g} s; a longer deadline or a smaller batch_size "
        "may help",
        max(1, call.attempts),
    )


_MAX_MESSAGE = 300
_REFUSED = ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "NOT_FOUND")
_NO_SIGNATURE = re.compile(r"signature.*not found", re.IGNORECASE)
_NO_LABEL = re.compile(r"version label", re.IGNORECASE)
_TOO_LARGE = re.compile(r"message larger than max", re.IGNORECASE)


def refusal(
    address: Address, spec: ModelSpec, signature: str | None, code: str, message: str
) -> errors.ServingError:
    """Make the error for a status of TensorFlow Serving; `code` is the name of a gRPC code."""
    said = " ".join(message.split()) or code
    if len(said) > _MAX_MESSAGE:
        said = f"{said[:_MAX_MESSAGE]}…"
    if code == "UNAVAILABLE":
        return errors.UnavailableError(address, f"is unavailable: {said}")
    if code == "DEADLINE_EXCEEDED":
        return errors.DeadlineError(address, f"gave up for want of time: {said}")
    if code in _REFUSED and signature and _NO_SIGNATURE.search(said):
        return errors.SignatureError(address, f"{spec} has no signature {signature}: {said}")
    if code == "NOT_FOUND" or (code in _REFUSED and _NO_LABEL.search(said)):
        return errors.NotFoundError(address, f"does not serve {spec}: {said}")
    if code in _REFUSED:
        return errors.RequestError(address, f"refuses the request: {said}")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return errors.RequestError(address, f"denies access: {said}")
    if code == "RESOURCE_EXHAUSTED" and _TOO_LARGE.search(said):
        return too_large(address, said)
    if code == "UNIMPLEMENTED":
        return errors.AddressError(
            address, f"is not TensorFlow Serving, or does not know the call: {said}"
        )
    return errors.ServerError(address, f"failed with {code}: {said}")
