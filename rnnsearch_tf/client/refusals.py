"""From the status a server answers with to the error a user can act on."""

import re

from rnnsearch_tf.client import failures
from rnnsearch_tf.client.address import Address, ModelSpec
from rnnsearch_tf.client.errors import (
    AddressError,
    DeadlineError,
    NotFoundError,
    RequestError,
    ServerError,
    ServingError,
    SignatureError,
    UnavailableError,
)

_LONGEST_MESSAGE = 300
_REFUSED = ("INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "NOT_FOUND")
_NO_SIGNATURE = re.compile(r"signature.*not found", re.IGNORECASE)
_NO_LABEL = re.compile(r"version label", re.IGNORECASE)
_TOO_LARGE = re.compile(r"message larger than max", re.IGNORECASE)


def refusal(
    address: Address, spec: ModelSpec, signature: str | None, code: str, message: str
) -> ServingError:
    """The error for a status of TensorFlow Serving.

    Args:
        address: the server.
        spec: the model that was asked for.
        signature: the signature that was asked for, if any.
        code: the name of a gRPC code.
        message: the server's own words.
    """
    server = str(address)
    said = " ".join(message.split()) or code
    if len(said) > _LONGEST_MESSAGE:
        said = f"{said[:_LONGEST_MESSAGE]}…"
    if code == "UNAVAILABLE":
        return UnavailableError(server, f"is unavailable: {said}")
    if code == "DEADLINE_EXCEEDED":
        return DeadlineError(server, f"gave up for want of time: {said}")
    if code in _REFUSED and signature and _NO_SIGNATURE.search(said):
        return SignatureError(server, f"{spec} has no signature {signature}: {said}")
    if code == "NOT_FOUND" or (code in _REFUSED and _NO_LABEL.search(said)):
        return NotFoundError(server, f"does not serve {spec}: {said}")
    if code in _REFUSED:
        return RequestError(server, f"refuses the request: {said}")
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return RequestError(server, f"denies access: {said}")
    if code == "RESOURCE_EXHAUSTED" and _TOO_LARGE.search(said):
        return failures.too_large(address, said)
    if code == "UNIMPLEMENTED":
        return AddressError(server, f"is not TensorFlow Serving, or does not know the call: {said}")
    return ServerError(server, f"failed with {code}: {said}")
