"""A client of a served model, over REST or gRPC."""

from rnnsearch_tf.client.address import Tls
from rnnsearch_tf.client.client import DEFAULT_SERVER, Client
from rnnsearch_tf.client.errors import (
    AddressError,
    AnswerError,
    DeadlineError,
    MessageSizeError,
    NotFoundError,
    RequestError,
    ServerError,
    ServingError,
    SignatureError,
    TlsError,
    UnavailableError,
)
from rnnsearch_tf.client.results import VersionStatus
from rnnsearch_tf.results import Hypothesis, Translation

__all__ = [
    "DEFAULT_SERVER", "AddressError", "AnswerError", "Client", "DeadlineError", "Hypothesis",
    "MessageSizeError", "NotFoundError", "RequestError", "ServerError", "ServingError",
    "SignatureError", "Tls", "TlsError", "Translation", "UnavailableError", "VersionStatus",
]  # fmt: skip
