"""Report bad input to a script in one line, as the package's commands do."""

import sys
from collections.abc import Callable
from pathlib import Path

from rnnsearch_tf.errors import InputError


def run(main: Callable[[], int | None]) -> None:
    """Run a script; for an InputError, exit with its text and status, without a traceback."""
    try:
        status = main()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        status = error.status
    sys.exit(status)
