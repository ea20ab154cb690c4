"""What made a result: the fingerprint of the code, its commit, and the processor."""

import os
import shutil
from pathlib import Path

import pytest

from rnnsearch_tf import provenance
from rnnsearch_tf.provenance import code_fingerprint


@pytest.fixture
def package(tmp_path: Path) -> Path:
    path = tmp_path / "package"
    (path / "room").mkdir(parents=True)
    (path / "__init__.py").write_text("x = 1\n")
    (path / "room" / "module.py").write_text("y = 2\n")
    return path


def test_equal_sources_have_the_same_fingerprint_wherever_they_are(package, tmp_path):
    shutil.copytree(package, tmp_path / "other")
    assert code_fingerprint(package) == code_fingerprint(tmp_path / "other")
    (package / "room" / "module.pyc").write_bytes(b"compiled")
    (package / "page.css").write_text("p {}")
    assert code_fingerprint(package) == code_fingerprint(tmp_path / "other")


def test_it_changes_with_any_source(package):
    fingerprints = [code_fingerprint(package)]
    (package / "room" / "module.py").write_text("y = 3\n")
    fingerprints.append(code_fingerprint(package))
    (package / "room" / "module.py").rename(package / "module.py")
    fingerprints.append(code_fingerprint(package))
    (package / "empty.py").touch()
    fingerprints.append(code_fingerprint(package))
    (package / "room" / "words.txt").write_text("word")
    fingerprints.append(code_fingerprint(package))
    assert len(set(fingerprints)) == 5


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_what_git_says_of_a_folder_in_another_encoding_is_no_error(tmp_path, monkeypatch):
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nprintf 'fatal: dubious ownership in /jos\\351' >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance.commit() is None


@pytest.mark.parametrize(
    ("lines", "gpus", "expected"),
    [
        ("flags\t: fma avx2\n", [], True),
        ("flags\t: avx2 avx512_bf16\n\nflags\t: avx2\n", [], False),
        ("flags\t: avx512f amx_bf16\n", [], False),
        ("Features\t: asimd bf16\n", [], False),
        ("Features\t: asimd\n", [], True),
        ("flags\t: fma avx2\n", ["GPU:0"], False),
        ("", [], False),  # unknown
    ],
)
def test_processors_without_bfloat16(monkeypatch, lines, gpus, expected):
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: lines)
    monkeypatch.setattr(provenance.tf.config, "get_visible_devices", lambda kind: gpus)
    assert provenance.lacks_bfloat16() == expected
