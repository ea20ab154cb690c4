"""The wording of what goes wrong on the way to a server, over either protocol."""

from rnnsearch_tf.client.address import Address
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import (
    AddressError,
    DeadlineError,
    MessageSizeError,
    TlsError,
    UnavailableError,
)


def unknown_host(address: Address, said: str) -> AddressError:
    """The host's name cannot be resolved."""
    return AddressError(str(address), f"no address is known for the host {address.host}: {said}")


def unreachable(address: Address, said: str) -> UnavailableError:
    """No connection."""
    return UnavailableError(str(address), f"cannot be reached: {said}")


def closed(address: Address) -> UnavailableError:
    """The server ended the connection in place of an answer."""
    if address.is_secure:
        hint = "it may not speak TLS, or want a client certificate"
    else:
        hint = f"if it wants TLS, use {address.scheme}s://"
    return UnavailableError(str(address), f"closed the connection without an answer; {hint}")


def other_protocol(address: Address) -> AddressError:
    """A gRPC server was spoken to over REST, or the reverse."""
    here, there = ("REST", "gRPC") if address.is_rest else ("gRPC", "REST")
    scheme = {"http": "grpc", "https": "grpcs", "grpc": "http", "grpcs": "https"}[address.scheme]
    return AddressError(
        str(address),
        f"does not speak {here} at port {address.port}; if this is its {there} port, "
        f"use {scheme}://{address.authority}",
    )


def not_trusted(address: Address, said: str) -> TlsError:
    """Nobody vouches for the server's certificate."""
    return TlsError(
        str(address),
        f"its certificate is not trusted ({said}); name the authority with ca_certificate",
    )


def other_name(address: Address) -> TlsError:
    """The server's certificate is made out to another name."""
    return TlsError(str(address), f"its certificate is not made out to {address.host}")


def no_tls(address: Address) -> TlsError:
    """The server does not speak TLS."""
    return TlsError(str(address), f"does not speak TLS; try {address.scheme[:-1]}://")


def tls_failed(address: Address, said: str) -> TlsError:
    """No secure connection, for another reason."""
    return TlsError(str(address), f"no secure connection: {said}")


def too_large(address: Address, said: str) -> MessageSizeError:
    """A message is larger than one side takes."""
    return MessageSizeError(
        str(address), f"request or answer too large, a smaller batch_size may help: {said}"
    )


def too_late(address: Address, call: Call) -> DeadlineError:
    """A call has not ended by its deadline."""
    return DeadlineError(
        str(address),
        f"no whole answer within {call.seconds:g} s; a longer deadline or a smaller batch_size "
        "may help",
        max(1, call.attempts),
    )
