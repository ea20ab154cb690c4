"""A training run in a process that lacks what Windows lacks; for a `ForkedProcess`."""

import errno
import importlib
import os
import pkgutil
import signal
import stat
import sys
from typing import Any

# Those of the first line are not on macOS either.
_FUNCTIONS = """
    posix_fallocate posix_fadvise sched_getaffinity memfd_create O_DIRECT fdatasync
    O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fork getuid geteuid getpgid killpg mkfifo
    openpty setsid sync uname getloadavg nice sysconf ttyname wait4
"""
_SIGNALS = "SIGPIPE SIGHUP SIGALRM SIGKILL SIGUSR1 SIGQUIT SIGCHLD alarm"
_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
_LIBRARIES = ("matplotlib.figure", "nltk.lm", "portalocker", "sacrebleu", "grpc")

_open, _fsync, _read_only = os.open, os.fsync, set[int]()
_get_blocking = os.get_blocking


def train_on_windows(flags: list[str]) -> int:
    """Import every module of the package, and run `rnnsearch-train`, without what Windows lacks.

    Libraries are imported before, as on this system: what they miss is not this package's matter.

    Args:
        flags: of the training.

    Returns:
        The exit status.
    """
    for name in (*_LIBRARIES, "rnnsearch_tf"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.startswith("rnnsearch_tf.")]:
        del sys.modules[name]
    _take_away()
    for module in pkgutil.walk_packages(sys.modules["rnnsearch_tf"].__path__, "rnnsearch_tf."):
        if not module.name.startswith("rnnsearch_tf.pipelines."):  # they need Apache Beam
            importlib.import_module(module.name)
    return importlib.import_module("rnnsearch_tf.scripts.train").run(flags)


def _take_away() -> None:
    sys.platform = "win32"
    for module, names in ((os, _FUNCTIONS), (signal, _SIGNALS)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    os.open, os.fsync = _open_on_windows, _fsync_on_windows  # type: ignore[assignment]
    os.get_blocking = _get_blocking_on_windows


def _open_on_windows(path: Any, flags: int, *rest: Any, **named: Any) -> int:
    """Open a file; a folder cannot be opened."""
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    descriptor = _open(path, flags, *rest, **named)
    _read_only.discard(descriptor)
    if not flags & (os.O_RDWR | os.O_WRONLY):
        _read_only.add(descriptor)
    return descriptor


def _fsync_on_windows(descriptor: int) -> None:
    """Synchronize a file that is open for writing."""
    if descriptor in _read_only:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    _fsync(descriptor)


def _get_blocking_on_windows(descriptor: int) -> bool:
    """Tell whether a pipe waits; of nothing else."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return _get_blocking(descriptor)
