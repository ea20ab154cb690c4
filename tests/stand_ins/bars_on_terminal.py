"""Work that shows bars, for a process on a terminal: `python bars_on_terminal.py NAME`."""

import itertools
import logging
import sys
import time
import warnings

from absl import logging as absl_logging

from rnnsearch_tf import progress
from rnnsearch_tf.progress import Bar, counted, say
from rnnsearch_tf.scripts.shared.command import Command

NOTES = "3.421 nats/token", "12,345 tok/s", "perplexity 30.6", "\x1b[31mhostile"
LONG = "evaluation of " + "many words " * 12
MARKUP = "\x1b[31mhostile [bold]x[/] :smile: 3"


def train() -> int:
    """Make 30,000 updates and an evaluation, with much to say meanwhile."""
    absl_logging.use_absl_handler()
    absl_logging.get_absl_handler().setFormatter(logging.Formatter("%(message)s"))
    bar = Bar("update", 30_000, begins_at=12_000)
    for done in range(12_001, 12_006):
        bar.update(done, *NOTES)
    say("one")
    for sentence in counted(range(40), "validation", 1040):
        if sentence == 20:
            absl_logging.warning("of absl")
            logging.getLogger("other").warning("of logging")
            warnings.warn("careful", stacklevel=1)
            say(LONG)
            print("printed")
    bar.update(29_999, *NOTES)
    say(MARKUP)
    bar.close()
    absl_logging.warning("of absl, later")
    return 0


def never_end() -> int:
    """Show two bars until a signal comes."""
    Bar("update", 30_000, begins_at=12_000)
    for _ in counted(itertools.count(), "line"):
        time.sleep(0.01)
    return 0


if __name__ == "__main__":
    progress._TERMINAL_SECONDS = progress._LOG_SECONDS = 0
    commands = {"train": train, "never_end": never_end}
    sys.exit(Command("paint", "paint a wall.").run(commands[sys.argv.pop()]))
