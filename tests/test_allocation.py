"""Memory that is freed and allocated again is the same, which the system has cleared before."""

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from rnnsearch_tf.allocation import keep_freed_memory

keep_freed_memory()
before = None
for _ in range(5):
    block = bytes([1]) * (64 << 20)
    del block
    before = before or resource.getrusage(resource.RUSAGE_SELF).ru_minflt
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 4 * (64 << 20) // 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
@pytest.mark.parametrize(("settings", "is_kept"), [({}, True), ({"MALLOC_ARENA_MAX": "2"}, False)])
def test_freed_memory_is_kept(settings, is_kept):
    others = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**others, **settings}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (int(finished.stdout) < PAGES // 10) == is_kept


@pytest.mark.parametrize(("system", "library"), [("linux", ""), ("darwin", "glibc")])
def test_another_c_library_is_left_alone(monkeypatch, system, library):
    from rnnsearch_tf import allocation

    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "libc_ver", lambda: (library, ""))
    monkeypatch.setattr(allocation.ctypes, "CDLL", lambda name: pytest.fail("it was called"))
    allocation.keep_freed_memory()
