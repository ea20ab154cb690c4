"""The status codes that TensorFlow, gRPC and TensorFlow Serving share."""

import enum


class Code(enum.IntEnum):
    """A status code; `Code(0)`, success, is never raised."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


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
