"""docs/equations.md: names, lines, weights, shapes and distributions are as it says."""

import dataclasses
import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch_tf.config import RNNENCDEC, RNNSEARCH, ModelConfig
from rnnsearch_tf.models.translation_model import TranslationModel

DOCS = Path(__file__).parent.parent / "docs"
TEXT = (DOCS / "equations.md").read_text("utf-8")
SIZES = {"Kx": 61, "Ky": 67, "m": 47, "n": 53, "n'": 59, "l": 43}


def load_line_numbers():
    spec = importlib.util.spec_from_file_location("line_numbers", DOCS / "line_numbers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


line_numbers = load_line_numbers()


def build(architecture):
    sizes: Any = SIZES.values()
    return TranslationModel(
        dataclasses.replace(ModelConfig(architecture, *sizes), initial_weights="paper")
    )


@pytest.fixture(scope="module")
def weights():
    """The weights of a new RNNsearch by the last two parts of their paths."""
    return {ending(weight): np.asarray(weight) for weight in build(RNNSEARCH).weights}


def ending(weight):
    return "/".join(weight.path.split("/")[-2:])


def table_of_weights():
    """Path to (shape, distribution), as the table of weights says."""
    rows = re.findall(r"\| ((?:`\w+/\w+` ?)+)\| \[(.+?)\] \| (.+?) \|", TEXT)
    return {
        path: (tuple(map(size, shape.split(", "))), distribution)
        for paths, shape, distribution in rows
        for path in paths.replace("`", "").split()
    }


def size(axis):
    return 2 * SIZES[axis[1:]] if axis.startswith("2") else SIZES[axis]


WEIGHTS = table_of_weights()


def test_line_numbers_are_those_of_the_names():
    assert line_numbers.renumbered(TEXT) == TEXT, "stale: make docs"


def test_every_row_about_code_is_looked_up():
    places = re.findall(r"\.py:\d+\]", TEXT)
    assert len(places) == len(line_numbers._PLACE.findall(TEXT)) > 30


def test_all_weights_are_in_the_table_and_no_other():
    for architecture in (RNNSEARCH, RNNENCDEC):
        endings = {ending(weight) for weight in build(architecture).weights}
        absent = () if architecture == RNNSEARCH else ("backward/", "attention/")
        assert endings == {path for path in WEIGHTS if not path.startswith(absent or "-")}


@pytest.mark.parametrize("path", WEIGHTS)
def test_a_weight_has_the_shape_and_the_distribution_of_the_table(weights, path):
    shape, distribution = WEIGHTS[path]
    values = weights[path]
    assert values.shape == shape
    if distribution == "0":
        assert not values.any()
    elif distribution == "orthogonal":
        np.testing.assert_allclose(values @ values.T, np.eye(len(values)), atol=1e-5)
    else:
        normal = re.fullmatch(r"N\(0, (0\.\d+)²\)", distribution)
        assert normal is not None
        deviation = float(normal[1])
        assert values.std() == pytest.approx(deviation, rel=0.1)
        assert abs(values.mean()) < deviation / 10


SOURCE = """\
import math

class Cell:
    size: int = 2

    def call(self, x):
        def gate(y):
            z = y
            return z

        if x:
            a, self.b = gate(x), x
        z = a

def call():
    pass
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Cell", 3),
        ("Cell.size", 4),
        ("Cell.call", 6),
        ("Cell.call.gate", 7),
        ("Cell.call.gate.z", 8),
        ("Cell.call.a", 12),
        ("Cell.call.b", 12),
        ("Cell.call.z", 13),
        ("call", 15),
    ],
)
def test_where_a_name_is_defined(tmp_path, name, line):
    (tmp_path / "cell.py").write_text(SOURCE)
    text = f"| `{name}` | [cell.py:{{0}}](../rnnsearch_tf/cell.py#L{{0}}) |"
    assert line_numbers.renumbered(text.format(999), tmp_path) == text.format(line)


@pytest.mark.parametrize("name", ["gate", "Cell.gate", "Cell.call.y", "Cell.call.x", "math", "z"])
def test_a_name_that_is_defined_nowhere(tmp_path, name):
    (tmp_path / "cell.py").write_text(SOURCE)
    with pytest.raises(LookupError, match=r"cell\.py: no "):
        line_numbers.line_of(name, tmp_path / "cell.py")
