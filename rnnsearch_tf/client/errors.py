"""Errors between a client and a served model."""

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.terminal import printable


class ServingError(InputError):
    """A call failed; the message suggests a remedy if one is known."""

    def __init__(self, server: object, reason: str, attempts: int = 1):
        self.server = str(server)
        super().__init__(self.server, reason, attempts)
        self.reason = printable(" ".join(reason.split()))
        self.attempts = attempts

    def __str__(self) -> str:
        tried = f" ({self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{self.server}: {self.reason}{tried}"


class AddressError(ServingError):
    """No such host, or a server other than TensorFlow Serving at this address."""


class UnavailableError(ServingError):
    """The server cannot be reached, breaks off, or is unavailable; only this is retried."""


class TlsError(ServingError):
    """No secure connection: a certificate is not trusted, or one side does not speak TLS."""


class DeadlineError(ServingError):
    """No complete answer in time."""


class NotFoundError(ServingError):
    """The server does not serve this model, version or label."""


class SignatureError(ServingError):
    """The served model lacks the signature."""


class RequestError(ServingError):
    """The server refuses the request."""


class MessageSizeError(ServingError):
    """A request or an answer is larger than one side accepts."""


class ServerError(ServingError):
    """The server failed to answer a valid request."""


class AnswerError(ServingError):
    """The answer is not what the signature promises."""
