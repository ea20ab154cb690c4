"""Files written whole or not at all; locks, which end with their process."""

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import portalocker
import pytest

from rnnsearch_tf import digests, files, interrupts
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.files import (
    check_space,
    file_lock,
    make_once,
    new_folder,
    replacing,
    temporary_folder,
    write_atomically,
)
from rnnsearch_tf.inference.exported import new_version
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.models.model_directory import ModelDirectory, find_model
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.text.word_tokenizer import WhitespaceTokenizer
from rnnsearch_tf.visualization.alignment_page import write_page

# Holds the lock on the file that it is given until it is killed.
HOLDER = """
import sys, time
from rnnsearch_tf.files import file_lock
with file_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock")], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_lock_that_another_process_holds_is_refused(tmp_path, holder):
    busy = InputError("busy")
    with pytest.raises(InputError, match="busy"), file_lock(tmp_path / "lock", busy):
        pass


def test_a_lock_is_waited_for(tmp_path, holder):
    said = []

    def waits() -> None:
        said.append("waits")
        holder.kill()

    with file_lock(tmp_path / "lock", before_waiting=waits):
        assert holder.wait() != 0
    with file_lock(tmp_path / "lock", before_waiting=waits):
        assert said == ["waits"]


def test_a_lock_in_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError), file_lock(tmp_path / "none" / "lock"):
        pass


def test_a_folder_is_made_once_by_threads_that_want_it_at_the_same_time(tmp_path):
    made = []

    def make(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.2)
        (folder / "file").write_text("whole")

    threads = [
        threading.Thread(target=make_once, args=(tmp_path / "folder", Path.exists, make))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert (tmp_path / "folder" / "file").read_text() == "whole"


def test_what_a_dead_process_left_is_made_again(tmp_path):
    (tmp_path / ".folder-12345678").mkdir()
    (tmp_path / ".folder-12345678" / "half").touch()
    make_once(tmp_path / "folder", Path.exists, lambda folder: (folder / "file").touch())
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".folder.lock", "folder"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be written: "):
        make_once(tmp_path / "file" / "folder", Path.exists, Path.touch)


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    write_atomically(tmp_path / "file", b"old")
    with pytest.raises(TypeError):
        write_atomically(tmp_path / "file", "no bytes")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_forced_end_leaves_no_folder_behind(tmp_path):
    with new_folder(tmp_path / "version") as made:
        (made / "file").write_bytes(b"part")
        for last_word in interrupts._last_words:
            last_word()
        assert list(tmp_path.iterdir()) == []
        made.mkdir()
    assert interrupts._last_words == []


def test_a_forced_end_leaves_no_file_behind(tmp_path):
    with (
        temporary_folder() as folder,
        pytest.raises(FileNotFoundError),
        replacing(tmp_path / "file") as temporary,
    ):
        temporary.write_bytes(b"part")
        assert temporary.parent == tmp_path
        for last_word in interrupts._last_words:
            last_word()
        assert list(tmp_path.iterdir()) == [] and not folder.exists()
    assert interrupts._last_words == []


@pytest.mark.parametrize("platform", [sys.platform, "darwin"])
def test_a_file_larger_than_the_disk_is_refused(tmp_path, monkeypatch, platform):
    if platform == "darwin":
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    check_space(tmp_path / "file", 1000)
    with pytest.raises(OSError):
        check_space(tmp_path / "file", 2**62)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_bytes(b"before")
    check_space(tmp_path / "file", 1000)
    assert (tmp_path / "file").read_bytes() == b""


posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX")


@posix
def test_a_link_stays_and_the_file_behind_it_keeps_its_mode_and_owner(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(Path("folder") / "file")
    write_atomically(tmp_path / "link", b"new")  # there is no such file yet
    mask = os.umask(0o022)
    os.umask(mask)
    file = tmp_path / "folder" / "file"
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 1234, 5678)
    owner = file.stat().st_uid, file.stat().st_gid
    write_atomically(tmp_path / "link", b"newer")
    assert (tmp_path / "link").is_symlink() and file.read_bytes() == b"newer"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert (file.stat().st_uid, file.stat().st_gid) == owner
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["file"]


@posix
def test_a_private_file_is_private_while_it_is_replaced(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as temporary:
        temporary.write_bytes(b"new")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("make", [os.symlink, os.link])
def test_what_is_put_in_the_place_of_a_finished_file_keeps_mode_and_owner(tmp_path, make):
    """As by the folder's owner, while root writes in it."""
    path, secret = tmp_path / "file", tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o666)
    secret.write_bytes(b"secret")
    secret.chmod(0o600)
    with replacing(path) as temporary:
        temporary.unlink()
        make(secret, temporary)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600


@posix
def test_a_link_or_a_pipe_is_no_lock(tmp_path):
    (tmp_path / "link").symlink_to("other")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo"):
        with pytest.raises(OSError), file_lock(tmp_path / name):
            pass
    assert not (tmp_path / "other").exists()


@posix
def test_pipes_devices_and_open_files_are_written_into(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "fifo").read_bytes()))
    reader.start()
    write_atomically(tmp_path / "fifo", b"text")
    reader.join()
    assert read == [b"text"] and (tmp_path / "fifo").is_fifo()

    leader, follower = os.openpty()
    write_atomically(os.ttyname(follower), b"text\n")
    assert os.read(leader, 100) == b"text\r\n"
    assert Path(os.ttyname(follower)).is_char_device()

    with open(tmp_path / "log", "wb") as log:
        log.write(b"before\n")
        log.flush()
        write_atomically(f"/dev/fd/{log.fileno()}", b"text\n")
        log.write(b"after\n")
    assert (tmp_path / "log").read_text() == "before\ntext\nafter\n"
    assert {path.name for path in tmp_path.iterdir()} == {"fifo", "log"}


@pytest.mark.parametrize(
    ("call", "code", "is_left"),
    [
        ("fsync", errno.EINVAL, True),
        ("fsync", errno.ENOTSUP, True),
        ("open", errno.EACCES, True),
        ("fsync", errno.EIO, False),
    ],
)
def test_a_folder_that_cannot_be_synced_is_left(tmp_path, monkeypatch, call, code, is_left):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    (tmp_path / "file").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, refuse)
        with contextlib.nullcontext() if is_left else pytest.raises(OSError):
            files.synchronize(tmp_path)
        with pytest.raises(OSError, match=os.strerror(code)):
            files.synchronize(tmp_path / "file")


@pytest.mark.parametrize("has_call", [True, False])
def test_a_mac_empties_the_memory_of_its_disk(tmp_path, monkeypatch, has_call):
    fcntl = pytest.importorskip("fcntl")
    called: list[int | str] = []

    def full_sync(descriptor: int, command: int) -> None:
        called.append(command)
        if not has_call:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", full_sync)
    monkeypatch.setattr(os, "fsync", lambda _: called.append("fsync"))
    files.synchronize(tmp_path)
    assert called == ([51] if has_call else [51, "fsync"])


@pytest.mark.parametrize("rename", ["replace", "rename"])
def test_windows_waits_until_a_file_is_not_open_elsewhere(tmp_path, monkeypatch, rename):
    refusals = [PermissionError(errno.EACCES, "open elsewhere")] * 2
    real = getattr(os, rename)

    def refuse_at_first(old: Path, new: Path) -> None:
        if refusals:
            raise refusals.pop()
        real(old, new)

    def write() -> None:
        if rename == "replace":
            write_atomically(tmp_path / "new", b"text")
        else:
            with new_folder(tmp_path / "new"):
                pass

    monkeypatch.setattr(files, "_RETRY_SECONDS", 0)
    monkeypatch.setattr(files, "synchronize", lambda _: None)
    monkeypatch.setattr(os, rename, refuse_at_first)
    with pytest.raises(PermissionError):
        write()
    monkeypatch.setattr(sys, "platform", "win32")
    write()
    assert not refusals and [path.name for path in tmp_path.iterdir()] == ["new"]
    monkeypatch.setattr(files, "_PATIENCE", 0)
    refusals += [PermissionError(errno.EACCES, "open elsewhere")]
    (tmp_path / "new").unlink() if rename == "replace" else (tmp_path / "new").rmdir()
    with pytest.raises(PermissionError):
        write()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_on_the_disk_after_a_file_got_its_name(tmp_path, monkeypatch):
    on_disk: list[tuple[Path, bool]] = []
    named = tmp_path / "named"
    monkeypatch.setattr(files, "synchronize", lambda path: on_disk.append((path, named.exists())))
    write_atomically(named, b"")
    assert on_disk[-1] == (tmp_path, True) and not on_disk[0][1]


def test_a_new_folder_is_on_the_disk_first(tmp_path, monkeypatch):
    path, synced = tmp_path / "1", []
    monkeypatch.setattr(files, "synchronize", lambda p: synced.append((Path(p), path.exists())))
    with files.new_folder(path) as made:
        (made / "data").write_bytes(b"x")
    assert synced == [(made / "data", False), (made, False), (tmp_path, True)]


def test_who_may_read_a_new_folder_is_for_the_umask_to_say(tmp_path):
    before = os.umask(0o002)
    try:
        with files.new_folder(tmp_path / "1"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "1").stat().st_mode) == 0o775


def test_python_takes_the_home_that_a_shell_would_write_out(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert ModelDirectory("~/model").path == find_model("~/model") == tmp_path / "model"
    assert new_version("~/exports") == tmp_path / "exports/1"
    write_page("~/page.html", "")
    assert (tmp_path / "page.html").exists()
    text = ParallelText(["a"], ["b"])
    tokenizers = WhitespaceTokenizer("en"), WhitespaceTokenizer("fr")
    assert len(prepare(text, *tokenizers, "~/cache").source.vocabulary(9)) == 4
    assert (tmp_path / "cache").is_dir()


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "file", tmp_path / "folder"):
        with pytest.raises(OSError) as caught:
            write_atomically(path, b"")
        assert caught.value.filename == str(path)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told_by_the_file(tmp_path, code):
    with pytest.raises(OSError) as caught, files.replacing(tmp_path / "new"):
        raise OSError(code, os.strerror(code))
    assert caught.value.filename == str(tmp_path / "new")
    with pytest.raises(OSError) as caught, files.replacing(tmp_path / "new"):
        raise OSError(code, os.strerror(code), "other")
    assert caught.value.filename == "other"


def test_what_cannot_be_read_is_not_taken_for_damaged(tmp_path, monkeypatch):
    (tmp_path / "part").write_text("x")
    digests.write_digests(tmp_path)
    assert digests.is_intact(tmp_path)

    def refuse(path: Path) -> str:
        with input_errors(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(digests, "file_digest", refuse)
    with pytest.raises(InputError, match="part: Permission denied"):
        digests.is_intact(tmp_path)
    (tmp_path / "part").unlink()
    assert not digests.is_intact(tmp_path)


def test_a_disk_without_locks_is_named(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise portalocker.LockException("ENOLCK")

    monkeypatch.setattr(portalocker, "lock", refuse)
    with (
        pytest.raises(OSError, match=r"lock: cannot be locked: ENOLCK"),
        files.file_lock(tmp_path / "lock"),
    ):
        pass


@posix
@pytest.mark.parametrize("name", ["config.json", "source.vocab", "best.weights.h5", "lexicon.tsv"])
def test_a_pipe_in_a_model_directory_is_not_waited_for(tmp_path, name):
    model = shutil.copytree(find_model("europarl-en-fr"), tmp_path / "model")
    (model / name).unlink(missing_ok=True)
    os.mkfifo(model / name)
    with pytest.raises(InputError, match=f"{name}: not a regular file"):
        load_text_model(model)


@posix
def test_a_link_is_not_exported(tmp_path):
    """It may lead to any file of this machine."""
    model = shutil.copytree(find_model("europarl-en-fr"), tmp_path / "model")
    (model / "lexicon.tsv").symlink_to(tmp_path / "own")
    with pytest.raises(InputError, match=r"lexicon\.tsv: a symbolic link"):
        export(model, tmp_path / "export")
    assert not (tmp_path / "export").exists()


@posix
def test_the_packages_own_files_may_be_links(tmp_path, monkeypatch):
    """As of an installer that keeps them elsewhere."""
    (tmp_path / "file").symlink_to("other")
    monkeypatch.setattr(files, "_PACKAGE", tmp_path)
    files.check_no_link(tmp_path / "file", "export")
