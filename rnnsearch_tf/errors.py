"""The error that a user can fix."""


class InputError(Exception):
    """Bad input: the text says in one line what is wrong and where.

    The console scripts print that line and exit with status 1, without a traceback.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its class where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
