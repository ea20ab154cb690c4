"""Trying again while a server is unavailable."""

import random
from collections.abc import Callable
from typing import TypeVar

from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.errors import ServingError, UnavailableError

_Result = TypeVar("_Result")
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0


def with_retries(call: Call, attempt: Callable[[], _Result], attempts: int) -> _Result:
    """Try until something else than `UnavailableError` comes of it.

    The pauses double, each shortened at random by up to a half, so that clients which failed
    together do not come back together.

    Args:
        call: its deadline holds for all attempts; none is begun that it leaves no time for.
        attempt: one try.
        attempts: at most so many.

    Raises:
        ServingError: that of the last attempt, with the number of attempts.
    """
    pause = _FIRST_PAUSE_SECONDS
    while True:
        call.attempts += 1
        try:
            return attempt()
        except ServingError as error:
            error.attempts = call.attempts
            wait = pause * random.uniform(0.5, 1.0)
            is_last = call.attempts >= attempts or wait >= call.remaining()
            if is_last or not isinstance(error, UnavailableError):
                raise
        call.pause(wait)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
