"""The frame of the console scripts: flags of a fixed choice, in help and when they are wrong."""

import importlib
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.limits import Limits
from rnnsearch_tf.scripts import export, reproduce, train
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start

Color = Literal["red", "green"]


@pytest.fixture
def command() -> Command:
    command = Command("paint", "paint a wall.", "paint --wall=wall.txt", alone="coats")
    command.group("Wall")
    command.define("wall", INPUT_FILE, "what is painted", required=True)
    command.group("Paint")
    command.define("color", Color, "of the wall", "red")
    command.define("primer", Color, "of what lies under it")
    command.define("coats", int, "how many", 2, Limits(1, 9))
    command.define("brush", str, "what paints", repeated=True)
    command.define("roller", int, "its width", limits=Limits(1, 9))
    command.define("spray", str, "no brush")
    command.define("gloss", float, "its share", limits=Limits(0, 1))
    command.one_of(("brush", "roller"), ("spray",))
    command.define("a_flag_with_a_long_name", bool, "whether it is long, as the name is, and its "
                   "text, which is broken", False)  # fmt: skip
    return command


def test_help_has_groups_choices_defaults_and_what_is_required(capsys, command):
    assert command.run(lambda: None, ["--help"]) == 0
    assert (
        capsys.readouterr().out
        == """\
usage: paint --wall=FILE (--brush=TEXT --roller=N | --spray=TEXT) [--FLAG=VALUE
    …]

Paint a wall.

Example:
  paint --wall=wall.txt

Wall:
  --wall=FILE             required: what is painted

Paint:
  --color=red|green       of the wall (default: red)
  --primer=red|green      of what lies under it
  --coats=N               how many (default: 2)
  --brush=TEXT            required, or --spray: what paints; may be repeated
  --roller=N              required, or --spray: its width
  --spray=TEXT            instead of --brush and --roller: no brush
  --gloss=X               its share
  --[no]a_flag_with_a_long_name
                          whether it is long, as the name is, and its text,
                          which is broken

All commands:
  --flagfile=FILE         read flags from a file, one per line
  --version               print the version
  --help                  print this help
"""
    )


COMMANDS = [
    importlib.import_module(f"rnnsearch_tf.scripts.{path.stem}").COMMAND
    for path in sorted(Path(train.__file__).parent.glob("*.py"))
    if path.stem != "__init__"
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_is_readable_in_80_columns(command):
    text = command.help()
    assert text.startswith(f"usage: {command.name} ")
    assert f"\nExample:\n  {command.name} --" in text
    assert max(map(len, text.splitlines())) <= 80
    for name in command.flags:
        assert f"--{name}=" in text or f"--[no]{name}" in text


@pytest.mark.parametrize(
    ("command", "flag", "default"),
    [
        (train.COMMAND, "--preset=rnnsearch-50", "1000"),
        (train.COMMAND, "--preset=rnnsearch-tiny", "128"),
        (train.COMMAND, "--preset=no_such", "256"),
        (train.COMMAND, "--config={config}", "77"),
        (train.COMMAND, "--config=no_such", "256"),
        (reproduce.COMMAND, "--preset_size=paper", "1000"),
    ],
)
def test_help_has_the_defaults_of_the_preset_or_the_file(tmp_path, command, flag, default):
    (tmp_path / "config").write_text("model: {hidden_size: 77}")
    flag = flag.format(config=tmp_path / "config")
    text = " ".join(command.help([flag]).split())
    assert f"n, hidden units of each recurrent network (default: {default})" in text


def test_the_version(capsys):
    """Where --version is a flag, too, it is one with a value."""
    assert train.run(["--model_dir=x", "--version"]) == 0
    assert capsys.readouterr().out == f"rnnsearch-train {rnnsearch_tf.__version__}\n"
    assert export.run(["--version"]) == 0
    assert capsys.readouterr().out == f"rnnsearch-export {rnnsearch_tf.__version__}\n"
    assert export.run(["--version=0"]) == 2
    assert "--version 0: must be at least 1" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--color=blue", "--primer=blue"])
def test_what_is_no_choice_is_one_line_before_anything_is_done(capsys, command, flag):
    done = []
    assert command.run(lambda: done.append(1), [flag]) == 2
    name = flag.partition("=")[0]
    assert capsys.readouterr().err == f"paint: {name} 'blue': choose one of red, green\n"
    assert not done


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--coats=1e3", "--coats '1e3': must be a whole number"),
        ("--roller=", "--roller '': must be a whole number"),
        ("--gloss=high", "--gloss 'high': must be a number"),
        ("--a_flag_with_a_long_name=no", "--a_flag_with_a_long_name 'no': must be true or false"),
    ],
)
def test_what_is_no_number_is_one_line(capsys, command, flag, said):
    assert command.run(lambda: None, [flag]) == 2
    assert capsys.readouterr().err == f"paint: {said}\n"


def test_models_after_each_other_are_traced_without_a_warning():
    class Model:
        @tf.function
        def search(self):
            return tf.constant(1)

    with quiet_start():
        pass
    handler = logging.Handler()
    said: list[str] = []
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    tf.get_logger().addHandler(handler)
    for _ in range(9):
        Model().search()
    tf.get_logger().warning("another")
    tf.get_logger().removeHandler(handler)
    assert said == ["another"]


@pytest.mark.parametrize("debug", [True, False])
def test_words_of_a_library_that_crashes_are_shown_where_that_is_asked_for(monkeypatch, debug):
    if not debug:
        monkeypatch.delenv("RNNSEARCH_DEBUG")
    code = """
import os
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
with quiet_start():
    os.write(2, b"no AVX")
    os._exit(3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "no AVX" if debug else "")


def test_no_garbage_is_collected_while_tensorflow_loads():
    code = """
import gc, sys
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
with quiet_start():
    assert not gc.isenabled()
    sys.modules["tensorflow"] = gc  # which is as good
assert gc.isenabled() and gc.get_freeze_count()
gc.unfreeze()
with quiet_start():
    pass
assert gc.isenabled() and not gc.get_freeze_count()  # a user's models are no part of it
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("given", "used"), [(None, "true"), ("false", "false")])
def test_a_gpu_keeps_memory_for_other_processes(monkeypatch, given, used):
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    if given:
        monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", given)
    code = """
import os
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
with quiet_start():
    print(os.environ["TF_FORCE_GPU_ALLOW_GROWTH"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == used


@pytest.mark.parametrize("before", ["--coats", "-coats", "--spray"])
def test_a_flag_without_a_value_does_not_take_the_next_flag_for_one(capsys, command, before):
    arguments = [before, "--color=green"]
    assert command.run(lambda: None, arguments) == 2
    assert f"{before} has no value: --color=green follows it" in capsys.readouterr().err


def test_a_value_may_be_the_name_of_a_flag(command):
    assert command.run(lambda: None, ["--wall", __file__, "--spray", "coats", "--coats=3"]) == 0


@pytest.mark.parametrize(
    ("arguments", "status", "out", "err"),
    [
        (["--help"], 0, "usage: python -m rnnsearch_tf NAME", ""),
        (["--version"], 0, rnnsearch_tf.__version__, ""),
        ([], 2, "", "score, select, train, translate"),
        (["trnslate"], 2, "", "trnslate: no such command; usage: "),
        (["beam-translate", "--version"], 0, "rnnsearch-beam-translate", ""),
    ],
)
def test_the_package_runs_its_commands(arguments, status, out, err):
    run = [sys.executable, "-m", "rnnsearch_tf", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}  # as where there is no UTF-8
    done = subprocess.run(run, capture_output=True, text=True, env=environment)
    assert done.returncode == status
    assert out in done.stdout and err in done.stderr
    assert bool(done.stdout) == bool(out) and bool(done.stderr) == bool(err)
    assert len((done.stdout + done.stderr).splitlines()) == 1


def test_a_scripts_module_is_no_command():
    run = [sys.executable, "-m", "rnnsearch_tf.scripts.plot", "--output=new.png"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    said = "rnnsearch-plot: use python -m rnnsearch_tf plot, or rnnsearch-plot\n"
    assert (done.returncode, done.stderr) == (2, said)
