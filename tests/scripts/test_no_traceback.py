"""One line, whatever a user or a disk does: numbers, JSON files, standard streams, and bugs."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import rnnsearch_tf
from rnnsearch_tf.scripts import plot, reproduce, select, train, translate
from rnnsearch_tf.scripts.shared.command import BUG, Command

SCRIPTS = [
    importlib.import_module(f"rnnsearch_tf.scripts.{path.stem}")
    for path in sorted(Path(train.__file__).parent.glob("*.py"))
    if path.stem != "__init__"
]
COMMANDS = [script.COMMAND for script in SCRIPTS]
NUMBERS = [
    (command, name)
    for command in COMMANDS
    for name in command.flags
    if command.flags[name].flag_type() in ("int", "float")
]
# Flags whose 0 stands for none.
NONE_AT_ZERO = {
    "max_updates", "evaluation_interval", "checkpoint_interval", "seed", "dropout",
    "label_smoothing", "r_drop", "weight_average", "subword_sampling",
    "letter_noise", "worker_index",
    "guided_alignment_weight", "length_penalty", "min_length_ratio", "candidate_words",
}  # fmt: skip
INT64 = {"version"}  # of a served model, which may be a time

BAD_JSON = {
    "number": b"5",
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "text": b'"x"',
    "deep_lists": b"[" * 100_000,
    "deep_objects": b'{"a":' * 100_000,
    "no_utf8": b'{"a": "\xff"}',
    "empty": b"",
    "zeros": bytes(50),
    "digits": b'{"updates": ' + b"9" * 5000 + b"}",
    "nested": b'{"decoding": ' * 300 + b"1" + b"}" * 300,
}


def one_line(capsys, script: types.ModuleType, *flags: str) -> str:
    """Run a script that fails; returns its line."""
    assert script.run(list(flags)) in (1, 2)
    *before, line = capsys.readouterr().err.splitlines()
    assert not any(text.startswith(("Traceback", script.COMMAND.name)) for text in before)
    assert line.startswith(f"{script.COMMAND.name}: ")
    assert len(line) < 600
    return line


# --- flags ----------------------------------------------------------------------------------------


def test_there_are_commands_and_numbers():
    assert len(COMMANDS) == 16
    assert len(NUMBERS) > 50


@pytest.mark.parametrize(("command", "name"), NUMBERS, ids=lambda x: getattr(x, "name", x))
def test_a_number_out_of_range_is_refused_before_anything_is_done(capsys, command, name):
    values = ["inf", "-inf", "nan", "-1", "x", "", "9" * 5000]
    values += [] if name in NONE_AT_ZERO else ["0"] if (command.name, name) != CLIENT else []
    values += [] if name in INT64 else [str(10**18)]
    if name in ("learning_rate", "clip_norm", "guided_alignment_weight"):
        values.remove(str(10**18))
    done = []
    for value in values:
        assert command.run(lambda: done.append(1), [f"--{name}={value}"]) in (1, 2), value
        (line,) = capsys.readouterr().err.splitlines()
        assert f"--{name}" in line, value
    assert not done


CLIENT = ("rnnsearch-client", "version")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_an_empty_text_is_refused(capsys, command):
    for name in command.flags:
        if not command.flags[name].boolean:
            assert command.run(lambda: None, [f"--{name}="]) in (1, 2)
            assert f"--{name}" in capsys.readouterr().err


def test_flags_that_no_file_can_have(capsys, tmp_path):
    assert "must not contain a NUL" in one_line(capsys, plot, "--output=a\0b")
    assert "an empty name" in one_line(capsys, translate, "--model_dir=a,")
    (tmp_path / "flags").write_bytes(b"--output=\xff\n")
    assert "not UTF-8" in one_line(capsys, plot, f"--flagfile={tmp_path / 'flags'}")
    assert "flagfile" in one_line(capsys, plot, f"--flagfile={tmp_path}")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such pipes")
def test_a_pipe_that_would_be_read_twice(capsys, tmp_path, train_flags):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    others = [flag for flag in train_flags if not flag.startswith("--train_source=")]
    flags = [*others, f"--train_source={pipe}", f"--model_dir={tmp_path / 'model'}"]
    said = one_line(capsys, train, *flags)
    assert said.endswith("is read more than once, so it cannot be a pipe")
    names = ("in_domain_source", "in_domain_target", "pool_source", "pool_target")
    files = [f"--{name}={pipe}" for name in (*names, "output_source", "output_target")]
    said = one_line(capsys, select, *files, "--keep=1")
    assert said.endswith("is read more than once, so it cannot be a pipe")


# --- files ----------------------------------------------------------------------------------------


@pytest.fixture
def copy(model_dir, tmp_path) -> Path:
    """A copy of the model directory, to be damaged."""
    return shutil.copytree(model_dir, tmp_path / "model")


@pytest.mark.parametrize("content", BAD_JSON.values(), ids=BAD_JSON)
def test_a_file_that_is_not_what_it_should_be(capsys, tmp_path, corpus, model_dir, content):
    def said(path: Path, script: types.ModuleType, *flags: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        assert str(path) in one_line(capsys, script, *flags)

    picture = f"--output={tmp_path / 'curves.svg'}"
    said(tmp_path / "model/config.json", translate, f"--model_dir={tmp_path / 'model'}")
    (tmp_path / "1").mkdir()
    (tmp_path / "1/saved_model.pb").touch()
    said(tmp_path / "1/model.json", translate, f"--model_dir={tmp_path}")
    said(tmp_path / "scores.json", plot, f"--evaluations={tmp_path / 'scores.json'}", picture)
    shutil.copy(model_dir / "config.json", tmp_path / "model/config.json")
    if content:
        said(tmp_path / "model/training.jsonl", plot, f"--model_dir={tmp_path / 'model'}", picture)
    assert not (tmp_path / "curves.svg").exists()


@pytest.mark.parametrize("name", ["no_utf8", "deep_lists", "list"])
def test_results_of_a_reproduction_that_are_not(capsys, tmp_path, corpus, name):
    flags = [f"--data={corpus}", "--test=valid", "--models=rnnsearch-30", "--preset_size=tiny"]
    path = tmp_path / "results" / "rnnsearch-30.json"
    path.parent.mkdir()
    path.write_bytes(BAD_JSON[name])
    assert str(path) in one_line(capsys, reproduce, *flags, f"--output={tmp_path}")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"updates": "x"}', "updates: expected int, not 'x'"),
        ('{"epoch": 1.0}', "updates: expected int, not None"),
        ('{"updates": 3, "bleu": {}}', "bleu: expected int or float or null, not {}"),
    ],
)
def test_a_log_with_other_records(capsys, copy, train_flags, record, said):
    log = copy / "training.jsonl"
    log.write_text(f"{log.read_text()}{record}\n")
    expected = f"{log}: line 2: "
    for script, flags in ((plot, ["--output=a.svg"]), (train, train_flags)):
        line = one_line(capsys, script, *flags, f"--model_dir={copy}")
        assert expected in line and said in line


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("low", "a", "low: expected int, not 'a'"),
        ("bleu", "x", "bleu: expected float, not 'x'"),
        ("bleu", 101.0, "bleu 101.0: must be at least 0 and at most 100"),
        ("interval", -3.0, "interval -3.0: must be at least 0"),
        ("p_value", [1], "p_value: expected float or null, not [1]"),
        ("width", 1, "unknown field width"),
        ("high", None, "high: expected int, not None"),
    ],
)
def test_scores_that_cannot_be_drawn(capsys, tmp_path, field, value, said):
    path = tmp_path / "scores.json"
    fields = {"low": 1, "high": 10, "sentences": 5, "bleu": 3.0, field: value}
    path.write_text(json.dumps({"by_length": [fields]}))
    assert said in one_line(capsys, plot, f"--evaluations={path}", "--output=a.svg")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"source_language": "xx"},
            "source_language 'xx': the Moses tokenizer has",
        ),
        ({"tokenizer": "words"}, "tokenizer 'words': choose one of moses, whitespace"),
        ({"decoding": {"beam_size": 10**6}}, "beam_size 1000000: must be at least 1"),
        ({"decoding": {"length_penalty": float("inf")}}, "length_penalty inf: must be"),
    ],
)
def test_settings_of_a_model_or_export_that_cannot_be(capsys, tmp_path, model_dir, settings, said):
    config = {**json.loads((model_dir / "config.json").read_text()), **settings}
    del config["sha256"]  # as an older version left it
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert said in one_line(capsys, translate, f"--model_dir={tmp_path}")
    (tmp_path / "saved_model.pb").touch()
    card = {**config, "models": [{"model": config["model"]}]}
    (tmp_path / "model.json").write_text(json.dumps(card))
    assert said in one_line(capsys, translate, f"--model_dir={tmp_path}")


# --- standard streams -----------------------------------------------------------------------------


def shell(redirection: str, script: str, *flags: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rnnsearch_tf", script, *flags]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command], capture_output=True, check=False
    )


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.mark.parametrize("target", [">&-", pytest.param(">/dev/full", marks=FULL), "<&- >&-"])
def test_help_that_cannot_be_printed_is_an_error(target):
    finished = shell(target, "plot", "--help")
    assert finished.returncode == 1
    (line,) = finished.stderr.decode().splitlines()
    assert line.startswith("rnnsearch-plot: ")


@pytest.mark.parametrize(
    "target", ["2>&-", pytest.param("2>/dev/full", marks=FULL), "<&- >&- 2>&-"]
)
def test_errors_that_nobody_hears_have_their_status(target):
    finished = shell(target, "client", "--batch_size=0")
    assert (finished.returncode, finished.stdout, finished.stderr) == (2, b"", b"")


def test_a_closed_input_is_an_error():
    finished = shell("<&-", "client", "--server=http://127.0.0.1:9")
    assert finished.returncode == 1
    (line,) = finished.stderr.decode().splitlines()
    assert line.startswith("rnnsearch-client: standard input")


def test_all_is_printed_whatever_the_locale(monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    finished = shell("", "plot", "--help")
    assert finished.returncode == 0
    assert b"\\u2212log p" in finished.stdout


@pytest.mark.slow
def test_without_standard_streams_files_are_whole(model_dir, tmp_path):
    """What TensorFlow prints must not go into them."""
    flags = [f"--model_dir={model_dir}", f"--output={tmp_path / 'curves.svg'}"]
    assert shell("<&- >&- 2>&-", "plot", *flags).returncode == 0
    content = (tmp_path / "curves.svg").read_text("utf-8")
    assert content.startswith("<?xml") and content.endswith("</svg>\n")


# --- bugs, and too little of something ------------------------------------------------------------


def raising(error: Exception) -> types.ModuleType:
    """A script that ends in an error."""

    def main() -> None:
        raise error

    command = Command("paint", "paint a wall.")
    script = types.SimpleNamespace(COMMAND=command, run=lambda flags: command.run(main, flags))
    return script  # type: ignore[return-value]


def test_a_package_that_is_missing_is_no_bug(capsys):
    """As grpcio and NumPy may be, where the client is used over REST alone."""
    assert raising(ModuleNotFoundError("No module named 'grpc'")).run([]) == 1
    said = "paint: No module named 'grpc': see docs/installation.md\n"
    assert capsys.readouterr().err == said
    assert raising(ModuleNotFoundError("No module named 'rnnsearch_tf.layer'")).run([]) == BUG


@pytest.mark.parametrize("arguments", [[], None])
def test_a_bug_is_a_line_below_its_traceback(capsys, monkeypatch, arguments):
    monkeypatch.setattr("sys.argv", ["paint"])  # where arguments are None, as in a process
    assert raising(KeyError("a\nb")).run(arguments) == BUG
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Traceback") and any("in main" in line for line in lines)
    said = "paint: this is a bug (KeyError: 'a\\nb'); please report it with the lines above "
    assert last.startswith(f"{said}(rnnsearch_tf {rnnsearch_tf.__version__}, Python 3.")


def test_too_little_memory_is_a_line(capsys):
    import tensorflow as tf

    for error in (
        MemoryError("Unable to allocate 8 TiB"),
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating\nmore"),
    ):
        assert "not enough memory or disk space: " in one_line(capsys, raising(error))
