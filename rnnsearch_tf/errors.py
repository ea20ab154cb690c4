"""The error a user can mend."""


class InputError(Exception):
    """Bad input: its text says in one line what is wrong and where.

    The console scripts print it and exit with status 1, without a traceback.
    """


def first_line(error: BaseException) -> str:
    """The first line of an error's text, or its kind where it has none."""
    return (str(error).splitlines() or [type(error).__name__])[0]
