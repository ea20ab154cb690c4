"""Flags that name outputs are checked before a command begins."""

import os
import re
import socket
import sys
from pathlib import Path

import pytest

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.files import is_url
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.scripts import (
    align,
    client,
    demo,
    evaluate,
    export,
    plot,
    reproduce,
    score,
    select,
    translate,
)
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import (
    OUTPUT_FILE,
    OUTPUT_FOLDER,
    OUTPUT_LINES,
    REMOTE_PATH,
    check_path,
)

OUTPUTS = {
    align: ("output", "figures"),
    client: ("output",),
    demo: ("output",),
    evaluate: ("translations", "json", "sample_html"),
    export: ("export_dir",),
    plot: ("output",),
    reproduce: ("output",),
    score: ("output",),
    select: ("output_source", "output_target", "scores"),
    translate: ("output", "figures"),
}
EACH = [(script, name) for script, names in OUTPUTS.items() for name in names]


@pytest.mark.parametrize(
    ("script", "name"), EACH, ids=lambda value: getattr(value, "__name__", value)
)
def test_every_output_is_checked(capsys, script, name):
    assert script.run([f"--{name}={__file__}/x"]) == 1
    assert capsys.readouterr().err.startswith(f"{script.COMMAND.name}: --{name} {__file__}/x: ")


@pytest.fixture
def run(capsys):
    """Run a command with three outputs; return whether it began, and what it says."""
    command = Command("writer", "writes.")
    command.define("file", OUTPUT_FILE, "a file")
    command.define("lines", OUTPUT_LINES, "lines", "-")
    command.define("folder", OUTPUT_FOLDER, "a folder")

    def run(flag: str) -> tuple[bool, str]:
        began: list[bool] = []
        status = command.run(lambda: began.append(True), [flag])
        assert status == (0 if began else 2 if flag.endswith("=") else 1)
        return bool(began), capsys.readouterr().err.removeprefix("writer: ")

    return run


def test_what_can_be_written(run, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none")
    (tmp_path / "old").touch()
    values = ["--lines=-", f"--folder={tmp_path}", f"--folder={tmp_path / 'a' / 'b'}"]
    values += [
        f"--{name}={tmp_path / file}" for name in ("file", "lines") for file in ("new", "old")
    ]
    values += [f"--file={tmp_path / 'link'}"]
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "fifo")
        values += [f"--lines={tmp_path / 'fifo'}", "--lines=/dev/stdout", "--lines=/dev/null"]
    before = sorted(tmp_path.rglob("*"))
    assert [run(value) for value in values] == [(True, "")] * len(values)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")
def test_what_cannot(run, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere/new")
    with socket.socket(socket.AF_UNIX) as served:
        monkeypatch.chdir(tmp_path)
        served.bind("socket")
    said = {
        "--lines=": "--lines is empty",
        "--file=-": "--file -: this output needs a file name, not -",
        "--file=.": "--file .: Is a directory",
        "--file=new/": "--file new/: Is a directory",
        "--file=out.gz": "--file out.gz: would not be compressed: choose a name without .gz",
        "--file=socket": "--file socket: is a socket",
        "--lines=none/new": "--lines none/new: none: no such folder",
        "--lines=file/new": "--lines file/new: file: no such folder",
        "--lines=link": f"--lines link: {tmp_path / 'nowhere'}: no such folder",
        "--folder=file": f"--folder file: {tmp_path / 'file'}: Not a directory",
        "--folder=file/new": f"--folder file/new: {tmp_path / 'file'}: Not a directory",
        "--folder=link": f"--folder link: {tmp_path / 'link'}: Not a directory",
    }
    assert {flag: run(flag) for flag in said} == {f: (False, f"{s}\n") for f, s in said.items()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "socket"]
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # which root is never told
    assert run("--lines=/dev/null") == (False, "--lines /dev/null: Permission denied\n")
    unwritable = ("--file=/proc/new", "--file=/proc/version", "--folder=/proc/new")
    for flag in unwritable if Path("/proc").exists() else ():  # where root is told that it may
        began, line = run(flag)
        assert not began and ": /proc: cannot be written: " in line


def test_a_url_makes_no_folder_of_its_name():
    for path in ("gs://bucket/model", "s3:/bucket", "hdfs://host:9000/x"):
        said = re.escape(f"--model_dir {path}: a URL, not a path on this machine")
        with pytest.raises(UsageError, match=said):
            check_path("model_dir", OUTPUT_FOLDER, path)
        check_path("input", REMOTE_PATH, path)
        with pytest.raises(InputError, match=f"^{Path(path)}: a URL, not a path on this machine$"):
            ModelDirectory(Path(path))
    for path in ("C:/models", "gs:", "./gs:/x", "a b:/c"):
        assert not is_url(path)


def test_a_home_that_the_shell_has_not_written_out():
    for path in ("~/model", "~", "~\\model"):
        said = re.escape(f"--model_dir {path}: the shell does not expand ~ here")
        with pytest.raises(UsageError, match=said):
            check_path("model_dir", OUTPUT_FOLDER, path)
