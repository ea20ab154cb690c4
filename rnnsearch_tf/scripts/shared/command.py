"""The frame of every console script: flags, help, one-line errors."""

import contextlib
import dataclasses
import errno
import functools
import itertools
import platform
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from absl import flags

import rnnsearch_tf
from rnnsearch_tf import interrupts
from rnnsearch_tf.config import RENAMED_FIELDS, RENAMED_VALUES, Config, check_choice, choices
from rnnsearch_tf.errors import InputError, UsageError, did_you_mean, first_line
from rnnsearch_tf.limits import Limits
from rnnsearch_tf.progress import close_bars, fresh_line
from rnnsearch_tf.scripts.shared.file_flags import FileType, check_path, identity
from rnnsearch_tf.scripts.shared.help_text import Requirement, help_text
from rnnsearch_tf.scripts.shared.text_output import drop_unwritten, open_closed_streams
from rnnsearch_tf.terminal import printable

_DEFINERS: dict[Any, Callable[..., Any]] = {
    bool: flags.DEFINE_boolean,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
}
_WANTED = {bool: "true or false", int: "a whole number", float: "a number"}
_SIGPIPE = 13  # `signal.SIGPIPE`, which Windows lacks
BUG = 70  # the exit status of EX_SOFTWARE in sysexits.h
_HELP = ("--help", "-h", "-help")
# What earlier versions called flags.
_RENAMED_FLAGS = {**RENAMED_FIELDS, "train_links": "train_alignments", "compare": "system"}


@dataclasses.dataclass(frozen=True)
class _Spec:
    """Conditions for the values of a flag."""

    flag_type: Any
    limits: Limits | None
    repeated: bool  # whether it may be given several times

    @property
    def is_input_once(self) -> bool:
        """Whether it names what is read, and may be given only once."""
        is_input = isinstance(self.flag_type, FileType) and self.flag_type.is_input
        return is_input and not self.repeated

    @property
    def placeholder(self) -> str:
        """Text that `--help` shows after the name of the flag."""
        if isinstance(self.flag_type, FileType):
            return self.flag_type.placeholder
        names = {int: "N", float: "X", str: "TEXT"}
        return "|".join(choices(self.flag_type)) or names.get(self.flag_type, "")

    def check(self, name: str, value: Any) -> None:
        """Raise a UsageError for a value that is empty, renamed, no choice, or out of range."""
        if value == "":
            raise UsageError(f"--{name} is empty")
        if isinstance(value, str) and "\0" in value:
            raise UsageError(f"--{name} {value!r}: must not contain a NUL")
        if (name, value) in RENAMED_VALUES:
            raise UsageError(f"--{name}={value} is now {RENAMED_VALUES[name, value]}")
        if allowed := choices(self.flag_type):
            check_choice(f"--{name}", value, allowed, UsageError)
        if self.limits:
            self.limits.check(f"--{name}", value, UsageError)


class Command:
    """A console script, whose `flags` have values while it runs.

    If the flag `alone` is given, no other is required. With `passes_on`, unknown flags are not
    errors: they are for a library, and are in `passed_on` while the script runs.
    """

    def __init__(
        self,
        name: str,
        description: str,
        example: str = "",
        alone: str | None = None,
        passes_on: bool = False,
    ):
        self.name = name
        self.passed_on: list[str] = []
        self.passes_on = passes_on
        self.flags = flags.FlagValues()  # its own, so that scripts can be imported side by side
        self._texts = description, example
        self._alone = alone
        self._group = "Flags"
        self._specs: dict[str, _Spec] = {}
        self._requirements: list[Requirement] = []
        self._shown_defaults: Callable[[], dict[str, Any]] = dict

    def group(self, title: str) -> None:
        """Put the flags that are added from now on under a title of `--help`."""
        self._group = title

    def define(
        self,
        name: str,
        flag_type: Any,
        description: str,
        default: Any = None,
        limits: Limits | None = None,
        required: bool = False,
        repeated: bool = False,
    ) -> None:
        """Add the flag `--name`.

        Its type is bool, int, float, str, a `Literal` of str, whose values are the choices, or a
        type of file (see `file_flags`), which is checked before `main` begins. A number needs
        limits. A flag that may be repeated has a list for its value, or None.
        """
        if flag_type in (int, float) and limits is None:
            raise TypeError(f"--{name} needs limits")
        self._specs[name] = _Spec(flag_type, limits, repeated)
        definer = _DEFINERS.get(flag_type, flags.DEFINE_string)
        if repeated:
            definer = flags.DEFINE_multi_string
        definer(name, default, description, flag_values=self.flags, module_name=self._group)
        if repeated:  # absl adds words of its own
            self.flags[name].help = f"{description}; may be repeated"
        if required:
            self.one_of((name,))

    def one_of(self, *alternatives: tuple[str, ...], required: bool = True) -> None:
        """Require one of several sets of flags, as a whole; if not `required`, at most one."""
        self._requirements.append(Requirement(alternatives, required))

    def define_settings(
        self, config_class: Any, skip: Collection[str] = (), only: Collection[str] = ()
    ) -> None:
        """Add a flag without a default for each field of a config dataclass (see `settings`)."""
        for field in dataclasses.fields(config_class):
            if field.name not in skip and (not only or field.name in only):
                about = field.metadata
                self.define(field.name, field.type, about["help"], limits=about["limits"])

    def show_defaults(self, defaults: Callable[[], dict[str, Any]]) -> None:
        """Let `--help` show the values that `defaults` returns for flags without a default."""
        self._shown_defaults = defaults

    def settings(self, config: Any) -> Any:
        """Return a config, or a part of one, with the values of the flags that were given."""
        parts = [config, *filter(dataclasses.is_dataclass, vars(config).values())]
        names = {field.name for part in parts for field in dataclasses.fields(part)}
        values = {name: self.flags[name].value for name in names if name in self.flags}
        given = {name: value for name, value in values.items() if value is not None}
        try:
            if isinstance(config, Config):
                return config.with_settings(**given)
            return dataclasses.replace(config, **given)
        except ValueError as error:
            raise UsageError(f"--{error}") from error

    def entry(self, main: Callable[[], int | None]) -> Callable[..., int]:
        """Make the function of the console script, which takes the arguments of `run`.

        Running the script's own module with `python -m` ends with a hint.
        """
        if main.__module__ == "__main__":
            name = self.name.removeprefix("rnnsearch-")
            sys.exit(self._fail(f"use python -m rnnsearch_tf {name}, or {self.name}", 2))

        @functools.wraps(main)  # as a function it can be pickled, by its name
        def run(arguments: list[str] | None = None) -> int:
            return self.run(main, arguments)

        return run

    def run(self, main: Callable[[], int | None], arguments: list[str] | None = None) -> int:
        """Parse the flags, run `main`, and turn errors into one line and an exit status.

        The line of an unforeseen error, a bug, follows its traceback.

        Returns:
            The status of `main`, whose None is 0; 1 for bad input, or too little memory or disk; 2
            for bad usage; 70 for a bug; 75 for what a later try may not have; 128 + the signal's
            number when stopped by one.
        """
        open_closed_streams()
        if arguments is None:
            with interrupts.forced(self._interrupted):
                status = self.run(main, sys.argv[1:])
                interrupts.end(status)
                return status
        try:
            status = self._run(main, arguments)
            sys.stdout.flush()
            return status
        except flags.Error as error:
            return self._fail(f"{error} (see --help)", 2)
        except InputError as error:
            return self._fail(str(error), error.status)
        except BrokenPipeError:
            return 128 + _SIGPIPE
        except KeyboardInterrupt as error:
            return self._interrupted(error.args[0] if error.args else signal.SIGINT)
        except OSError as error:
            return self._fail(_described(error), 1)
        except Exception as error:
            if _is_exhaustion(error):
                return self._fail(f"not enough memory or disk space: {first_line(error)}", 1)
            if isinstance(error, ModuleNotFoundError) and "rnnsearch_tf" not in str(error):
                return self._fail(f"{first_line(error)}: see docs/installation.md", 1)
            close_bars()
            with contextlib.suppress(OSError):  # standard error may be on a full disk
                traceback.print_exc()
            return self._fail(_report_of(error), BUG)
        finally:
            close_bars()
            drop_unwritten()

    def _run(self, main: Callable[[], int | None], arguments: list[str]) -> int:
        others = [argument for argument in arguments if argument not in _HELP]
        if others != arguments:
            print(self.help(others))
            return 0
        # Where a command has a flag --version, it has a value: the version of a model.
        if "--version" in arguments and ("version" not in self.flags or len(arguments) == 1):
            print(f"{self.name} {rnnsearch_tf.__version__}")
            return 0
        self.passed_on = self._parse(arguments)
        for argument in self.passed_on:
            if not (self.passes_on and argument.startswith("--")):
                raise flags.Error(f"unexpected argument {argument!r}; flags begin with --")
        self._check_values()
        with interrupts.raised():
            return main() or 0

    def _check_given_once(self, arguments: list[str]) -> None:
        """Raise a UsageError for an input given twice: absl would take only the last one."""
        flag_names = (a.lstrip("-").partition("=")[0] for a in arguments if a.startswith("-"))
        for name, count in Counter(flag_names).items():
            spec = self._specs.get(name)
            if count > 1 and spec and spec.is_input_once:
                has_several = spec.flag_type.has_several
                advice = "separate files with commas" if has_several else "it takes one"
                raise UsageError(f"--{name} is given {count} times: {advice}")

    def _check_have_values(self, arguments: list[str]) -> None:
        """Raise a UsageError for a flag without a value: absl would use the next flag as one."""
        for argument, following in itertools.pairwise(arguments):
            spec = self._specs.get(argument.lstrip("-")) if argument.startswith("-") else None
            if spec and spec.flag_type is not bool and following.startswith("--"):
                raise UsageError(f"{argument} has no value: {following} follows it (see --help)")

    def _parse(self, arguments: list[str]) -> list[str]:
        """Set the flags, and return the arguments that are not flags."""
        self.flags.unparse_flags()
        try:
            self._check_given_once(arguments)  # the command line overrides a file, but not itself
            arguments = self._with_flag_files(arguments)
            self._check_have_values(arguments)
            return self.flags([self.name, *arguments], known_only=self.passes_on)[1:]
        except flags.UnrecognizedFlagError as error:
            name = f"--{error.flagname}"
            new_name = _RENAMED_FLAGS.get(error.flagname)
            if new_name is not None and new_name in self.flags:
                raise UsageError(f"{name} is now --{new_name}") from error
            negated = [f"no{name}" for name, spec in self._specs.items() if spec.flag_type is bool]
            similar = did_you_mean(error.flagname, [*self.flags, *negated], "--")
            raise UsageError(f"unknown flag {name}{similar or ' (see --help)'}") from error
        except flags.IllegalFlagValueError as error:  # in Python's words
            name, _, rest = str(error).removeprefix("flag --").partition("=")
            if name not in self._specs:  # --flagfile without a value
                raise
            value, wanted = rest.partition(": ")[0], _WANTED[self._specs[name].flag_type]
            raise UsageError(f"--{name} {value!r}: must be {wanted}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"--flagfile: not UTF-8: {error}") from error
        except ValueError as error:  # --noNAME=VALUE
            raise UsageError(str(error)) from error

    def _with_flag_files(self, arguments: list[str]) -> list[str]:
        """Put the lines of flag files in place of `--flagfile`: each is read and checked once."""
        read: list[str] = []
        rest = iter(arguments)
        for argument in rest:
            name, equals, value = argument.lstrip("-").partition("=")
            if not argument.startswith("-") or name != "flagfile":
                read.append(argument)
                continue
            if equals and not value:
                raise UsageError("--flagfile is empty")
            file = [argument] if equals else [argument, *itertools.islice(rest, 1)]
            lines = self.flags.read_flags_from_files(file, force_gnu=False)
            lines = [line.removeprefix("\ufeff") for line in lines]
            self._check_given_once(lines)
            read += lines
        return read

    def help(self, arguments: Sequence[str] = ()) -> str:
        """Return the text that `--help` prints when it is given with these arguments."""
        with contextlib.suppress(flags.Error, InputError):
            self._parse(list(arguments))
        self.flags.mark_as_parsed()
        placeholders = {name: spec.placeholder for name, spec in self._specs.items()}
        needs, defaults = self._requirements, self._shown_defaults()
        return help_text(self.name, *self._texts, self.flags, placeholders, needs, defaults)

    def _check_values(self) -> None:
        """Check values, then whether files can be read or written, then what is missing."""
        given = list(self._given())
        for name, spec, value in given:
            spec.check(name, value)
        for name, spec, value in given:
            if isinstance(spec.flag_type, FileType):
                check_path(name, spec.flag_type, value)
        names = {name for name, _, _ in given}
        missing = [one for one in self._requirements if one.is_missing(names)]
        is_alone = self._alone is not None and self.flags[self._alone].value
        if missing and not is_alone:
            raise UsageError(f"required: {'; '.join(map(str, missing))} (see --help)")

    def _given(self) -> Iterator[tuple[str, _Spec, Any]]:
        """Yield each value of each flag, with its name and conditions."""
        for name, spec in self._specs.items():
            value = self.flags[name].value
            for one in value if isinstance(value, list) else [value]:
                if one is not None:
                    yield name, spec, one

    def check_read_twice(self, *inputs: str) -> None:
        """Raise a UsageError if a file that is read more than once is a pipe."""
        for name, path in self._files(inputs):
            if path.is_fifo():
                raise UsageError(f"--{name} {path}: is read more than once, so it cannot be a pipe")

    def check_distinct(
        self, inputs: Collection[str], outputs: Collection[str], others: Iterable[str] = ()
    ) -> None:
        """Raise a UsageError if a flag of an output names a file that another flag names.

        `others` are paths of inputs that are a part of a flag's value.
        """
        taken = {identity(path) for _, path in self._files(inputs)}
        taken |= {identity(Path(path)) for paths in others for path in paths.split(",")}
        for name, path in self._files(outputs):
            if identity(path) in taken:
                raise UsageError(f"--{name} {path}: another flag names this file too")
            taken.add(identity(path))

    def _files(self, names: Collection[str]) -> Iterator[tuple[str, Path]]:
        for name, spec, value in self._given():
            if name in names:
                yield from ((name, Path(path)) for path in spec.flag_type.paths(value))

    def refuse(self, names: Iterable[str], reason: str) -> None:
        """Raise a UsageError if one of these flags is given, other than False or its default."""
        for flag in (self.flags[name] for name in names if name in self.flags):
            if flag.value is not False and flag.value != flag.default:
                raise UsageError(f"--{flag.name} {reason}")

    def warn(self, message: str) -> None:
        """Write one line to standard error."""
        with contextlib.suppress(OSError):  # it may be on a full disk
            fresh_line()
            print(printable(f"{self.name}: {' '.join(message.split())}"), file=sys.stderr)

    def _interrupted(self, number: int) -> int:
        name = signal.Signals(number).name
        return self._fail("interrupted" if name == "SIGINT" else f"ended by {name}", 128 + number)

    def _fail(self, message: str, status: int) -> int:
        close_bars()
        self.warn(message)
        return status


def _described(error: OSError) -> str:
    if error.errno == errno.EBADF and not error.filename:
        return "standard input or output is closed"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _report_of(bug: Exception) -> str:
    versions = f"rnnsearch_tf {rnnsearch_tf.__version__}, Python {platform.python_version()}"
    said = f"{type(bug).__name__}: {first_line(bug)[:200]}"
    return f"this is a bug ({said}); please report it with the lines above ({versions})"


def _is_exhaustion(error: Exception) -> bool:
    """Whether memory is full, or the disk, for which TensorFlow has the same error."""
    tensorflow = sys.modules.get("tensorflow")  # its errors occur only once it is imported
    return isinstance(error, MemoryError) or (
        tensorflow is not None and isinstance(error, tensorflow.errors.ResourceExhaustedError)
    )
