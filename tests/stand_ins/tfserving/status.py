"""The status codes that TensorFlow, gRPC and TensorFlow Serving share."""

from grpc import StatusCode as Code


class StatusError(Exception):
    """A status that is not OK.

    Args:
        code: the status code.
        message: what is wrong, for people.
    """

    def __init__(self, code: Code, message: str):
        super().__init__(f"{code.name}: {message}")
        self.code = code
        self.message = message


def invalid_argument(message: str) -> StatusError:
    """The error of a request that can never be answered."""
    return StatusError(Code.INVALID_ARGUMENT, message)
