"""The frame of every console script: flags, help, one-line errors, a quiet start."""

import contextlib
import dataclasses
import os
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from absl import flags

from rnnsearch_tf.config import RENAMED_FIELDS, RENAMED_VALUES, check_choice, choices
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.shared import interrupts
from rnnsearch_tf.scripts.shared.outputs import CHECKS, check_output

_DEFINERS: dict[Any, Callable[..., Any]] = {
    bool: flags.DEFINE_boolean,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    str: flags.DEFINE_string,
}
_SIGPIPE = 13  # `signal.SIGPIPE`, which Windows lacks
# What version 0.1.0 called flags.
_RENAMED_FLAGS = {**RENAMED_FIELDS, "train_links": "train_alignments"}


class Command:
    """A console script.

    Args:
        name: what the user types.
        description: one paragraph, the head of `--help`.
    """

    def __init__(self, name: str, description: str):
        self.name = name
        self.flags = flags.FlagValues()  # its own, so that scripts can be imported side by side
        self._description = description
        self._choices: dict[str, tuple[str, ...]] = {}
        self._outputs: dict[str, type] = {}

    def define(self, name: str, flag_type: Any, description: str, default: Any = None) -> None:
        """Add the flag `--name`.

        Args:
            name: of the flag.
            flag_type: bool, int, float, str, a `Literal` of str, whose values are the choices, or a
                type of output (see `outputs`), which can be written when `main` begins.
            description: shown by `--help`.
            default: the flag's value where it is not given.
        """
        if allowed := choices(flag_type):
            self._choices[name] = allowed
            flag_type = str
        elif flag_type in CHECKS:
            self._outputs[name] = flag_type
            flag_type = str
        _DEFINERS[flag_type](name, default, description, flag_values=self.flags)

    def define_settings(self, config_class: Any, skip: tuple[str, ...] = ()) -> None:
        """Add a flag without a default for each field of a config dataclass (see `settings`)."""
        for field in dataclasses.fields(config_class):
            if field.name not in skip:
                self.define(field.name, field.type, field.metadata["help"])

    def settings(self, config: Any) -> Any:
        """Return the config with the values of the flags that were given.

        Raises:
            InputError: a value out of range.
        """
        given = {
            field.name: self.flags[field.name].value
            for field in dataclasses.fields(config)
            if field.name in self.flags and self.flags[field.name].value is not None
        }
        try:
            return dataclasses.replace(config, **given)
        except ValueError as error:
            raise InputError(f"--{error}") from error

    def require(self, *names: str) -> None:
        """Check that these flags were given.

        Raises:
            InputError: one is missing.
        """
        for name in names:
            if self.flags[name].value is None:
                raise InputError(f"--{name} is needed (see --help)")

    def run(self, main: Callable[[], int | None], arguments: list[str] | None = None) -> int:
        """Parse the flags, run `main`, and turn errors into one line and an exit status.

        Args:
            main: returns an exit status, or None for 0.
            arguments: instead of the command line's.

        Returns:
            0; 1 for bad input; 2 for bad usage; 128 + the signal's number when stopped by one.
        """
        if arguments is None:
            with interrupts.forced(self._interrupted):
                return self.run(main, sys.argv[1:])
        if any(argument in ("--help", "-h", "-help") for argument in arguments):
            print(self.help())
            return 0
        self.flags.unparse_flags()
        try:
            rest = self.flags([self.name, *arguments])[1:]
        except flags.UnrecognizedFlagError as error:
            return self._fail(self._unrecognized(error), 2)
        except flags.Error as error:
            return self._fail(f"{error} (see --help)", 2)
        if rest:
            return self._fail(
                f"unexpected argument {rest[0]!r}; flags begin with -- (see --help)", 2
            )
        try:
            self._check_choices()
            self._check_outputs()
            with interrupts.raised():
                return main() or 0
        except InputError as error:
            return self._fail(str(error), 1)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 128 + _SIGPIPE
        except KeyboardInterrupt as error:
            return self._interrupted(error.args[0] if error.args else signal.SIGINT)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return self._fail(f"{where}{error.strerror or error}", 1)

    def help(self) -> str:
        """Return the text that `--help` prints."""
        lines = [*textwrap.wrap(f"{self.name}: {self._description}", 90), ""]
        for name in self.flags:
            flag = self.flags[name]
            default = "" if flag.default in (None, "") else f" (default: {flag.default})"
            allowed = "|".join(self._choices.get(name, ())) or flag.flag_type().upper()
            lines.append(f"  --{name}" if flag.boolean else f"  --{name}={allowed}")
            lines += textwrap.wrap(
                f"{flag.help}{default}", 90, initial_indent=" " * 6, subsequent_indent=" " * 6
            )
        lines += ["", "  --flagfile=FILE", "      read flags from a file, one a line"]
        return "\n".join(lines)

    def _check_choices(self) -> None:
        """Check the flags of a `Literal` type.

        Raises:
            InputError: a value that is no choice; the text names the choices, or what a value of
                version 0.1.0 is called now.
        """
        for name, allowed in self._choices.items():
            value = self.flags[name].value
            if value is None:
                continue
            if (name, value) in RENAMED_VALUES:
                raise InputError(f"--{name}={value} is now {RENAMED_VALUES[name, value]}")
            check_choice(f"--{name}", value, allowed, InputError)

    def _check_outputs(self) -> None:
        """Check the flags that name outputs.

        Raises:
            InputError: one cannot be written.
        """
        for name, output_type in self._outputs.items():
            if (value := self.flags[name].value) is not None:
                check_output(name, output_type, value)

    def _unrecognized(self, error: flags.UnrecognizedFlagError) -> str:
        """Line for an unknown flag, which names the new flag where version 0.1.0 had another."""
        new_name = _RENAMED_FLAGS.get(error.flagname)
        is_renamed = new_name is not None and new_name in self.flags
        return f"--{error.flagname} is now --{new_name}" if is_renamed else f"{error} (see --help)"

    def _interrupted(self, number: int) -> int:
        name = signal.Signals(number).name
        return self._fail("interrupted" if name == "SIGINT" else f"ended by {name}", 128 + number)

    def _fail(self, message: str, status: int) -> int:
        print(f"{self.name}: {' '.join(message.split())}", file=sys.stderr)
        return status


@contextlib.contextmanager
def quiet_start() -> Iterator[None]:
    """Hide what TensorFlow's libraries write to standard error while they load.

    They write to the file descriptor, before any logging setting is read. When the block fails with
    anything but an `InputError` or a signal, what they wrote is shown after all.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as captured:
        os.dup2(captured.fileno(), 2)
        try:
            yield
        except (InputError, KeyboardInterrupt):
            raise
        except BaseException:
            sys.stderr.flush()
            captured.seek(0)
            os.write(kept, captured.read())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
