"""Lines of output: what is done when a command breaks off is kept, and resumed."""

import contextlib
import errno
import gzip
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
import tensorflow as tf
from scripted_aligner import installed
from scripted_engine import ScriptedEngine, answer, engine, made_model

from rnnsearch_tf import progress, threads
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference import side_by_side
from rnnsearch_tf.scripts import align, score, translate
from rnnsearch_tf.scripts.shared import resumable_file
from rnnsearch_tf.scripts.shared.chosen_models import ChosenModels
from rnnsearch_tf.scripts.shared.line_stream import LineStream

LINES = [f"line {i}" for i in range(1, 601)]
ANSWERS = "".join(f"{answer(line)}\n" for line in LINES)

__all__ = ["engine"]  # a fixture


@pytest.fixture
def flags(engine, tmp_path) -> list[str]:
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in LINES))
    model = made_model(tmp_path / "model")
    return [model, f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'out'}"]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"in", "in.gz", "model"}


def fails(capsys, *arguments: str, script=translate, status: int = 1) -> list[str]:
    """Run a script that must fail, of several inputs with the last; return what it says."""
    capsys.readouterr()
    others = [flag for flag in arguments if flag.startswith("--input=")][:-1]
    assert script.run([flag for flag in arguments if flag not in others]) == status
    said = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f"{script.COMMAND.name}: ") for line in said)
    return [line.removeprefix(f"{script.COMMAND.name}: ") for line in said]


@pytest.fixture
def broken_off(capsys, flags, tmp_path) -> list[str]:
    """The flags of a run whose input broke off after 400 lines."""
    content = "".join(f"{line}\n" for line in LINES[:400])
    (tmp_path / "in.gz").write_bytes(gzip.compress(content.encode()) + b"garbage")
    (tmp_path / "out").write_text("old\n")
    said = fails(capsys, *flags, f"--input={tmp_path / 'in.gz'}")
    assert said[0] == (
        f"{tmp_path / 'out.partial'} has the first 400 lines' results: --resume continues there"
    )
    assert "in.gz: not a complete gzip file" in said[1] and len(said) == 2
    assert (tmp_path / "out").read_text() == "old\n"
    assert (tmp_path / "out.partial").read_text() == "".join(ANSWERS.splitlines(True)[:400])
    return flags


def test_what_was_read_before_the_input_broke_off_is_kept_and_resumed(
    capsys, engine, broken_off, tmp_path
):
    assert [len(window) for window in engine.windows] == [256, 144]
    assert translate.run([*broken_off, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == ANSWERS
    assert names(tmp_path) == {"out"}
    assert engine.windows[2] == LINES[400:]
    assert capsys.readouterr().err == ""


def test_a_line_that_was_cut_off_is_written_again(engine, broken_off, tmp_path):
    content = (tmp_path / "out.partial").read_bytes()
    (tmp_path / "out.partial").write_bytes(content[:-3])
    assert translate.run([*broken_off, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == ANSWERS
    assert engine.windows[2] == LINES[399:]


def interrupt_at(engine: ScriptedEngine, search: int, act: Callable[[], object]) -> None:
    """Begin to count searches anew, and act before one of them."""
    engine.windows.clear()

    def before(number: int) -> None:
        if number == search:
            act()

    engine.before = before


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_the_last_n_best_list_is_written_again(capsys, engine, flags, tmp_path):
    flags.append("--n_best=2")
    assert translate.run(flags) == 0
    whole = (tmp_path / "out").read_bytes()
    interrupt_at(engine, 1, ctrl_c)
    said = fails(capsys, *flags, status=128 + signal.SIGINT)
    assert "first 256 lines' results" in said[0] and said[1] == "interrupted"
    partial = (tmp_path / "out.partial").read_bytes()
    assert partial.count(b"\n") == 2 * 256
    (tmp_path / "out.partial").write_bytes(partial[: partial.rindex(b"255 |||")])
    interrupt_at(engine, -1, ctrl_c)
    assert translate.run([*flags, "--resume"]) == 0
    assert engine.windows[0][0] == LINES[255]
    assert (tmp_path / "out").read_bytes() == whole


def test_ctrl_c_while_threads_work(capsys, engine, flags, tmp_path, monkeypatch):
    monkeypatch.setattr(side_by_side, "_PART", 64)
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: 1)
    interrupt_at(engine, 6, ctrl_c)  # four searches are a window
    said = fails(capsys, *flags, status=128 + signal.SIGINT)
    assert "first 256 lines' results" in said[0] and said[1:] == ["interrupted"]
    interrupt_at(engine, -1, ctrl_c)
    assert translate.run([*flags, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == ANSWERS
    # A search that the first run had begun may still have ended: it was not of the first 256 lines.
    assert set().union(*engine.windows) == set(LINES[256:])


def test_sigterm_ends_in_order(capsys, engine, flags, tmp_path):
    interrupt_at(engine, 1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    said = fails(capsys, *flags, status=128 + signal.SIGTERM)
    assert "first 256 lines' results" in said[0] and said[1:] == ["ended by SIGTERM"]
    assert names(tmp_path) == {"out.partial", "out.partial.jsonl"}
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("file", ["figures/257.png", None])
def test_a_full_disk_is_told_by_the_file_that_is_on_it(capsys, engine, flags, tmp_path, file):
    def act() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", file)

    interrupt_at(engine, 1, act)
    said = fails(capsys, *flags)
    assert said[1] == f"{file or tmp_path / 'out.partial'}: No space left on device"


def test_an_input_is_not_replaced(capsys, engine, flags, tmp_path):
    text = (tmp_path / "in").read_text()
    (tmp_path / "link").symlink_to("in")
    for name in ("in", "link"):
        [said] = fails(capsys, *flags, f"--output={tmp_path / name}", status=2)
        assert said == f"--output {tmp_path / name}: another flag names this file too"
    assert (tmp_path / "in").read_text() == text
    (tmp_path / "link").unlink()
    assert names(tmp_path) == set()


def test_an_output_may_have_a_comma_after_the_name_of_an_input(engine, flags, tmp_path):
    assert translate.run([*flags, f"--output={tmp_path / 'in,fr'}"]) == 0
    assert (tmp_path / "in,fr").read_text() == ANSWERS


def test_a_link_stays_and_its_file_keeps_its_mode(engine, flags, tmp_path):
    file = tmp_path / "file"
    file.write_text("old\n")
    file.chmod(0o640)
    (tmp_path / "out").symlink_to("file")
    assert translate.run(flags) == 0
    assert (tmp_path / "out").is_symlink() and file.read_text() == ANSWERS
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_private_file_is_private_while_it_is_written(broken_off, capsys, flags, tmp_path):
    (tmp_path / "out").chmod(0o600)
    (tmp_path / "out.partial").unlink()
    (tmp_path / "out.partial.jsonl").unlink()
    fails(capsys, *flags, f"--input={tmp_path / 'in.gz'}")
    assert stat.S_IMODE((tmp_path / "out.partial").stat().st_mode) == 0o600


def test_nothing_is_left_where_nothing_is_done(capsys, engine, flags, tmp_path):
    interrupt_at(engine, 0, ctrl_c)
    assert fails(capsys, *flags, status=130) == ["interrupted"]
    assert names(tmp_path) == set()
    missing = tmp_path / "none"
    said = fails(capsys, *flags, f"--input={missing}")
    assert said == [f"--input {missing}: No such file or directory"]
    assert names(tmp_path) == set()


def test_what_is_done_is_not_overwritten_or_mixed(capsys, broken_off, tmp_path):
    def refused(*changed: str) -> str:
        names = ("out.partial", "out.partial.jsonl")
        kept = [(tmp_path / name).read_bytes() for name in names]
        status = 2 if "--output=-" in changed else 1
        given = {flag.partition("=")[0] for flag in changed}
        others = [flag for flag in broken_off if flag.partition("=")[0] not in given]
        *earlier, line = fails(capsys, *others, *changed, status=status)
        assert not any("--resume continues" in said for said in earlier)
        assert [(tmp_path / name).read_bytes() for name in names] == kept
        return line.replace(str(tmp_path / "out.partial"), "PARTIAL")

    assert "PARTIAL has the lines of an interrupted run: --resume continues" in refused()
    assert refused("--resume", "--score") == "PARTIAL: --score was False, now True"
    assert refused("--resume", "--beam_size=3") == "PARTIAL: --beam_size was not given, now 3"
    other = made_model(tmp_path / "other")
    assert "by another command or another model" in refused("--resume", other)
    (tmp_path / "2").write_text("".join(f"{line}\n" for line in ["a", *LINES]))
    another = refused("--resume", f"--input={tmp_path / '2'}")
    assert another == "PARTIAL was made from another input; delete it to start over"
    (tmp_path / "2").write_text("".join(f"{line}\n" for line in [*LINES[:399], "a", *LINES[399:]]))
    another = refused("--resume", f"--input={tmp_path / '2'}")
    assert another == "PARTIAL was made from another input; delete it to start over"
    (tmp_path / "2").write_text("".join(f"{line}\n" for line in LINES[:300]))
    shorter = refused("--resume", f"--input={tmp_path / '2'}")
    assert shorter == "PARTIAL was made from an input with more lines; delete it to start over"
    assert refused("--resume", "--output=-") == "--resume needs --output, with the name of a file"
    shutil.copytree(tmp_path, tmp_path / "copy")
    right = [broken_off[0], f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'copy' / 'out'}"]
    assert translate.run([*right, "--resume"]) == 0
    assert (tmp_path / "copy" / "out").read_text() == ANSWERS
    good = (tmp_path / "out.partial.jsonl").read_text()
    bad_lines = (
        "5\n",
        "[1, 2]\n",
        "[-1, 2, false]\n",
        '[1, "2", false]\n',
        f"[{2**64}, 2, false]\n",
        "[1, 2.5, false]\n",
        "[1, -5, false]\n",
    )
    for content in (
        "", "5", "[" * 100_000, json.dumps({"command": "a", "flags": 1, "models": 1}),
        *(good.partition("\n")[0] + "\n" + line for line in bad_lines),
    ):  # fmt: skip
        (tmp_path / "out.partial.jsonl").write_text(content)
        assert "missing or damaged; delete PARTIAL to start over" in refused("--resume")


@pytest.mark.parametrize(
    ("system", "said"),
    [("win32", "another process is writing it"), ("linux", "missing or damaged")],
)
def test_a_journal_that_windows_keeps_readers_from_is_being_written(
    capsys, broken_off, monkeypatch, system, said
):
    def refuse(_: bytes) -> None:
        monkeypatch.setattr(sys, "platform", system)
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(resumable_file, "parse_json", refuse)
    (line,) = fails(capsys, *broken_off, "--resume")
    assert said in line


def pairs_to_resume(folder: Path) -> list[str]:
    """The flags of 300 pairs, and of a file for their results."""
    lines = "".join(f"w{i} x\n" for i in range(300))
    for side in ("en", "fr"):
        (folder / side).write_text(lines)
    flags = {"source": folder / "en", "target": folder / "fr", "output": folder / "out"}
    return [made_model(folder / "model"), *(f"--{name}={path}" for name, path in flags.items())]


def test_links_are_resumed(capsys, monkeypatch, tmp_path):
    flags = pairs_to_resume(tmp_path)
    models = installed(monkeypatch)
    models[str(tmp_path / "model")] = models["en-fr"]
    whole = (tmp_path / "fr").read_bytes()
    (tmp_path / "fr").write_bytes(whole.replace(b"w280", b"\xff"))
    said = fails(capsys, *flags, script=align)
    assert "first 280 lines' results" in said[0] and "line 281 is not UTF-8" in said[1]
    (tmp_path / "fr").write_bytes(whole)
    assert align.run([*flags, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == "0-0 1-1\n" * 300


def test_scores_are_resumed(capsys, engine, tmp_path):
    flags = pairs_to_resume(tmp_path)
    interrupt_at(engine, 1, ctrl_c)
    assert "first 256 lines' results" in fails(capsys, *flags, script=score, status=130)[0]
    interrupt_at(engine, -1, ctrl_c)
    assert score.run([*flags, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == "-1.0000\n" * 300
    assert "300 pairs: 0.3333 nats per token" in capsys.readouterr().err
    assert sum(map(len, engine.windows)) == 300 - 256

    flags[-1] = f"--output={tmp_path / 'words'}"
    interrupt_at(engine, 1, ctrl_c)
    fails(capsys, *flags, "--word_scores", script=score, status=130)
    interrupt_at(engine, -1, ctrl_c)
    assert score.run([*flags, "--word_scores", "--resume"]) == 0
    lines = (tmp_path / "words").read_text().splitlines()
    assert lines[-1] == "-1.0000 ||| w299:-0.2500 x:-0.2500 </s>:-0.5000" and len(lines) == 300
    assert "300 pairs: 0.3333 nats per token" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--resume"], []])
def test_two_processes_do_not_write_the_same_lines(capsys, engine, flags, more):
    interrupt_at(engine, 1, lambda: said.extend(fails(capsys, *flags, *more)))
    said: list[str] = []
    assert translate.run(flags) == 0
    assert said and "out.partial: another process is writing it" in said[-1]


def test_the_lines_of_another_process_are_not_taken_for_ours(capsys, engine, flags, tmp_path):
    def replaced() -> None:
        (tmp_path / "out.partial").unlink()
        (tmp_path / "out.partial").write_text("theirs\n")

    interrupt_at(engine, 1, replaced)
    assert "out.partial: another process is writing it" in fails(capsys, *flags)[-1]
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "out.partial").read_text() == "theirs\n"


def test_a_line_without_a_result_is_told_by_the_status_of_the_resumed_run(
    capsys, engine, flags, monkeypatch, tmp_path
):
    check = resumable_file.ResumableFile.check
    monkeypatch.setattr(
        resumable_file.ResumableFile,
        "check",
        lambda self, number, _, problem: check(self, number, number != 10, problem),
    )
    records: list[list[Any]] = []

    def look_and_interrupt() -> None:
        *_, last = (tmp_path / "out.partial.jsonl").read_text().splitlines()
        records.append(json.loads(last))
        ctrl_c()

    interrupt_at(engine, 2, look_and_interrupt)
    assert "line 10: no translation" in fails(capsys, *flags, status=130)[0]
    [[_, _, has_failed]] = records
    assert has_failed is True  # also where the run is killed there
    interrupt_at(engine, -1, ctrl_c)
    assert translate.run([*flags, "--resume"]) == 1
    assert (tmp_path / "out").read_text() == ANSWERS


def test_lines_of_a_run_that_began_meanwhile_stay(capsys, flags, tmp_path, monkeypatch):
    lock = resumable_file.file_lock

    def late(path: Path, busy: InputError) -> Any:
        path.write_text("theirs\n")
        return lock(path, busy)

    monkeypatch.setattr(resumable_file, "file_lock", late)
    assert "another process is writing it" in fails(capsys, *flags)[-1]
    assert (tmp_path / "out.partial").read_text() == "theirs\n"


# --- streams --------------------------------------------------------------------------------------


@contextlib.contextmanager
def answering(monkeypatch: pytest.MonkeyPatch, model: str, stdin: IO[Any]) -> Iterator[IO[bytes]]:
    """The output of a run in a thread, which ends, with status 0, when its input does."""
    read_out, write_out = os.pipe()
    monkeypatch.setattr(sys, "stdin", stdin)
    status: list[int] = []

    def run() -> None:
        try:
            status.append(translate.run([model, f"--output=/dev/fd/{write_out}"]))
        finally:
            os.close(write_out)

    thread = threading.Thread(target=run)
    thread.start()
    with os.fdopen(read_out, "rb") as answers:
        yield answers
        thread.join()
    assert status == [0]


@pytest.fixture
def co_process(engine, flags, monkeypatch):
    """Standard input of a run, and its output."""
    read_in, write_in = os.pipe()
    with (
        os.fdopen(read_in, "rb") as stdin,
        answering(monkeypatch, flags[0], stdin) as answers,
        os.fdopen(write_in, "wb") as questions,
    ):
        yield questions, answers


def test_at_a_terminal_each_line_is_answered(engine, flags, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    leader, follower = os.openpty()
    with os.fdopen(follower) as stdin, answering(monkeypatch, flags[0], stdin) as answers:
        for line in (b"one\n", b"\n"):
            os.write(leader, line)
            assert answers.readline() == line.upper()
        os.write(leader, b"\x04")
    os.close(leader)
    assert engine.windows == [["one"], [""]]
    assert os.environ["KERAS_BACKEND"] == "tensorflow"  # a command is not told by it


def test_a_pipe_is_answered_when_it_waits_and_read_in_full_windows(engine, co_process):
    questions, answers = co_process
    for line in ("\N{BYTE ORDER MARK}one", "two\r", ""):
        questions.write(f"{line}\n".encode())
        questions.flush()
        assert answers.readline().decode() == answer(line.strip("\N{BYTE ORDER MARK}\r")) + "\n"
    assert engine.windows == [["one"], ["two"], [""]]
    written = threading.Event()
    engine.before = lambda number: written.wait() if number == 3 else None
    questions.write("".join(f"{line}\n" for line in LINES).encode() + b"last")
    questions.close()
    written.set()
    assert answers.read().decode() == ANSWERS + "LAST\n"
    sizes = [len(window) for window in engine.windows[3:]]
    assert sizes[1] == 256 and sum(sizes) == len(LINES) + 1


@pytest.mark.parametrize(
    ("path", "is_terminal", "shown"), [("-", True, ""), ("-", False, "line"), ("x", True, "line")]
)
def test_progress_is_shown_where_the_terminal_does_not_show_the_lines(
    monkeypatch, capsys, path, is_terminal, shown
):
    monkeypatch.setattr(progress, "_LOG_SECONDS", 0)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    assert list(LineStream(path, print).counted("ab", "line")) == ["a", "b"]
    assert capsys.readouterr().err[:4] == shown


def test_a_killed_run_knows_the_input_that_it_had_read(
    capsys, engine, flags, tmp_path, monkeypatch
):
    """What it wrote last is not in the journal: it is written again."""
    monkeypatch.setattr(resumable_file.ResumableFile, "_report_partial", lambda output: None)
    interrupt_at(engine, 2, ctrl_c)
    fails(capsys, *flags, status=130)
    with open(tmp_path / "out.partial", "a") as file:
        file.write("the next line, or a part of i")
    with open(tmp_path / "out.partial.jsonl", "a") as file:
        file.write("[1234, ")
    lines = LINES.copy()
    lines[300] = "corrected meanwhile"  # in the second window
    (tmp_path / "other").write_text("".join(f"{line}\n" for line in lines))
    [said] = fails(capsys, *flags, f"--input={tmp_path / 'other'}", "--resume")
    assert (
        said == f"{tmp_path / 'out.partial'} was made from another input; delete it to start over"
    )
    interrupt_at(engine, -1, ctrl_c)
    assert translate.run([*flags, "--resume"]) == 0
    assert engine.windows == [LINES[512:]]
    assert (tmp_path / "out").read_text() == ANSWERS


def test_a_model_that_changes_while_it_is_loaded(capsys, engine, flags, tmp_path, monkeypatch):
    digests = iter([["before"], ["after"]])
    monkeypatch.setattr(ChosenModels, "digests", lambda models: next(digests))
    assert fails(capsys, *flags) == ["the model has just changed; start again"]
    assert names(tmp_path) == set()


def test_models_that_are_not_known_are_not_compared(broken_off, tmp_path, monkeypatch):
    journal = tmp_path / "out.partial.jsonl"
    made_by, *done = journal.read_text().splitlines(keepends=True)
    unknown = json.dumps({**json.loads(made_by), "models": None})
    journal.write_text("".join([unknown + "\n", *done]))
    assert translate.run([*broken_off, "--resume"]) == 0
    assert (tmp_path / "out").read_text() == ANSWERS


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_named_pipe_is_opened_once(engine, flags, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert translate.run([*flags[:2], f"--output={pipe}"]) == 0
        assert reader.communicate()[0] == ANSWERS
