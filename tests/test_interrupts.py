"""Signals end a command in order, wait for the end of an update, or end the process at once."""

import concurrent.futures
import signal
import subprocess
import sys

import pytest

from rnnsearch_tf.interrupts import by_default, deferred, held, raised

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the mutex is Linux's")


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


# A mutex that is locked twice waits for ever outside Python, whose handlers do not run meanwhile.
MUTEX = """
import contextlib, ctypes, os, signal, sys, threading, time
from rnnsearch_tf.interrupts import deferred, last_word
from rnnsearch_tf.scripts.shared.command import Command
mutex, library = ctypes.create_string_buffer(64), ctypes.CDLL(None)
lock, unlock = library.pthread_mutex_lock, library.pthread_mutex_unlock
lock(mutex)
number = int(sys.argv.pop())
"""
STUCK = """
where = sys.argv.pop()
def main():
    with deferred() if where == "training" else contextlib.nullcontext():
        with contextlib.suppress(KeyboardInterrupt):
            if where != "anywhere":
                signal.raise_signal(number)
        with last_word(lambda: print("last word", file=sys.stderr)):
            threading.Timer(1, os.kill, (os.getpid(), number)).start()
            lock(mutex)
sys.exit(Command("sleeper", "sleeps.").run(main))
"""
IN_AN_UPDATE = """
def one_signal():
    os.kill(os.getpid(), number)
    time.sleep(1)
    unlock(mutex)
def main():
    with deferred() as received:
        threading.Timer(1, one_signal).start()
        lock(mutex)
    print(*received)
sys.exit(Command("sleeper", "sleeps.").run(main))
"""


@on_linux
@pytest.mark.parametrize(
    ("where", "number"),
    [
        ("anywhere", signal.SIGINT),
        ("anywhere", signal.SIGTERM),
        ("training", signal.SIGINT),
        ("cleaning up", signal.SIGTERM),
    ],
)
def test_a_signal_ends_a_command_that_is_not_in_python(where, number):
    """In training and after an interruption, this is the second signal."""
    done = run(MUTEX + STUCK, where, int(number))
    said = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert done.stderr == f"last word\nsleeper: {said}\n"


@on_linux
def test_the_first_signal_in_training_waits_for_the_end_of_an_update():
    done = run(MUTEX + IN_AN_UPDATE, int(signal.SIGINT))
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


LEFT_BEHIND = """
import os, signal, sys, time
from concurrent.futures import ThreadPoolExecutor
from rnnsearch_tf.interrupts import LEFT_BEHIND
from rnnsearch_tf.scripts.shared.command import Command
def main():
    ThreadPoolExecutor(1, LEFT_BEHIND).submit(time.sleep, 3600)
    os.kill(os.getpid(), signal.SIGTERM)
sys.exit(Command("sleeper", "sleeps.").run(main))
"""


def test_a_signal_does_not_wait_for_threads_that_search():
    done = run(LEFT_BEHIND)
    assert (done.returncode, done.stdout) == (128 + signal.SIGTERM, "")
    assert done.stderr == "sleeper: ended by SIGTERM\n"


# Python runs the handler at once, and other threads not before the main thread waits.
WATCHED_LATE = """
import os, signal, sys, time
from rnnsearch_tf import interrupts
sys.setswitchinterval(1000)
interrupts._GRACE = 0.2
with interrupts.raised(), interrupts.forced(lambda number: 128 + number):
    with interrupts.deferred() as received:
        os.kill(os.getpid(), signal.SIGINT)  # `raise_signal` would let other threads run
    time.sleep(0.5)
print(*received)
"""


def test_a_signal_that_training_has_received_forces_nothing():
    done = run(WATCHED_LATE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_signals_that_are_ignored_stay_so_and_a_closed_terminal_sends_two():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred() as received:
            signal.raise_signal(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with deferred() as twice:
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (received, twice) == ([], [signal.SIGHUP] * 2)


def test_handlers_of_a_program_around_python_stay(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        patch.setattr(signal, "getsignal", lambda number: None)
        with deferred() as received:
            pass
    assert received == [] and signal.getsignal(signal.SIGTERM) == before


BREAK = """
import signal
signal.SIGBREAK = getattr(signal, "SIGBREAK", None) or signal.SIGUSR1  # as Windows has it
from rnnsearch_tf.interrupts import deferred
with deferred() as received:
    signal.raise_signal(signal.SIGBREAK)
print(received == [signal.SIGBREAK])
"""


def test_training_waits_for_the_end_of_an_update_after_ctrl_break_too():
    assert run(BREAK).stdout == "True\n"


def test_another_thread_handles_no_signals():
    def received() -> list[int]:
        with deferred() as numbers:
            return numbers

    with concurrent.futures.ThreadPoolExecutor() as pool:
        assert pool.submit(received).result() == []


# What is imported may drop the error that a signal raises.
WHILE_IMPORTING = """
import os, signal, sys, time
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
def main():
    with quiet_start():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
        except BaseException:
            pass
    print("went on")
sys.exit(Command("importer", "imports.").run(main))
"""


def test_a_signal_while_tensorflow_is_imported_ends_a_command():
    done = run(WHILE_IMPORTING)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "importer: interrupted\n"


def test_an_error_of_a_library_does_not_take_the_place_of_a_signal():
    with pytest.raises(KeyboardInterrupt) as caught, raised():
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as error:
            raise RuntimeError("UnavailableError REPLACED BY KeyboardInterrupt: 15") from error
    assert caught.value.args == (signal.SIGTERM,)
    with pytest.raises(RuntimeError), raised():
        raise RuntimeError


def test_no_handler_is_left_for_native_code_and_no_signal_is_forgotten():
    with raised():
        handler = signal.getsignal(signal.SIGTERM)
        with by_default():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) == handler
        with pytest.raises(KeyboardInterrupt), held():
            signal.raise_signal(signal.SIGTERM)
            with by_default():
                raise AssertionError
