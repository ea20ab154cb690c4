"""Settings that make training faster, which the C library and TensorFlow read when they start."""

import ctypes
import os
import platform
import sys

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def prepare_for_training() -> None:
    """Make training on a CPU faster; to be called before TensorFlow is imported.

    glibc keeps freed memory and shares it among threads, unless the environment has settings of its
    own: `GLIBC_TUNABLES` or `MALLOC_…`. On x86, TensorFlow computes with oneDNN, which it does by
    default only on newer processors, unless `TF_ENABLE_ONEDNN_OPTS` is set.
    """
    keep_freed_memory()
    if platform.machine() == "x86_64":
        os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")


def keep_freed_memory() -> None:
    """Have glibc keep freed memory for the next update, and share it among threads.

    TensorFlow frees the tensors of an update and asks for the same memory in the next one. glibc
    returns blocks above 32 MiB to the system at once, which clears each page before it gives it out
    again.
    """
    is_set = any(name.startswith(("GLIBC_TUNABLES", "MALLOC_")) for name in os.environ)
    # Elsewhere `libc_ver` would search Python's own file for it.
    if is_set or sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_ARENA_MAX, 1)
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)
