"""The C library's memory, kept for the next update of a training run.

TensorFlow frees the tensors of an update and asks for the same memory in the next one. glibc
returns blocks above 32 MiB to the system at once, which clears each page before it gives it out
again.
"""

import ctypes
import os
import platform
import sys

# Parameters of mallopt(3).
_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8


def keep_freed_memory() -> None:
    """Make glibc keep freed memory and share it among threads; call before importing TensorFlow.

    It does nothing with another C library, or if the environment has settings of its own:
    `GLIBC_TUNABLES` or `MALLOC_…`.
    """
    is_set = any(name.startswith(("GLIBC_TUNABLES", "MALLOC_")) for name in os.environ)
    # Elsewhere `libc_ver` would search Python's own file for it.
    if is_set or sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_ARENA_MAX, 1)
    libc.mallopt(_MMAP_MAX, 0)
    libc.mallopt(_TRIM_THRESHOLD, -1)
