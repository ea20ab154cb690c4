"""The error that a user can fix."""


class InputError(Exception):
    """Bad input: the text says in one line what is wrong and where.

    The console scripts print that line and exit with status 1, without a traceback.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text that is not blank, or the name of its class.

    The line behind it is added where it ends in a colon.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    end = 2 if lines and lines[0].endswith(":") else 1
    return " ".join(lines[:end]) or type(error).__name__
