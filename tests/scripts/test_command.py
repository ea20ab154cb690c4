"""The frame of the console scripts: flags of a fixed choice, in help and when they are wrong."""

from typing import Literal

import pytest

from rnnsearch_tf.limits import Limits
from rnnsearch_tf.scripts import reproduce, train
from rnnsearch_tf.scripts.shared.command import Command

Colour = Literal["red", "green"]


@pytest.fixture
def command() -> Command:
    command = Command("paint", "paint a wall.")
    command.define("colour", Colour, "of the wall", "red")
    command.define("primer", Colour, "of what lies under it")
    command.define("coats", int, "how many", 1, Limits(1, 9))
    return command


def test_help_shows_the_choices(capsys, command):
    assert command.run(lambda: None, ["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  --colour=red|green" in lines
    assert "      of the wall (default: red)" in lines
    assert "  --coats=INTEGER" in lines or "  --coats=INT" in lines


@pytest.mark.parametrize("flag", ["--colour=green", "--primer=red", "--coats=2"])
def test_a_choice_is_taken(command, flag):
    assert command.run(lambda: 3, [flag]) == 3
    name, _, value = flag.removeprefix("--").partition("=")
    assert str(command.flags[name].value) == value


@pytest.mark.parametrize("flag", ["--colour=blue", "--primer=blue"])
def test_what_is_no_choice_is_one_line_before_anything_is_done(capsys, command, flag):
    done = []
    assert command.run(lambda: done.append(1), [flag]) == 1
    name = flag.partition("=")[0]
    assert capsys.readouterr().err == f"paint: {name} 'blue': choose one of red, green\n"
    assert not done


@pytest.mark.parametrize(
    ("script", "flag"),
    [
        (train, "--strategy=tpu"),
        (train, "--optimizer=sgd"),
        (train, "--tokenizer=words"),
        (reproduce, "--preset_size=huge"),
    ],
)
def test_the_scripts_name_flag_and_choices(capsys, script, flag):
    assert script.run([flag]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    name, _, value = flag.partition("=")
    assert line.startswith(f"{script.COMMAND.name}: {name} {value!r}: choose one of ")
