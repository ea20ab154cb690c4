"""The error a user can mend."""


class InputError(Exception):
    """Bad input: its text says in one line what is wrong and where.

    The console scripts print it and exit with status 1, without a traceback.
    """
