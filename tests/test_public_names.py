"""The package's face: its public names, imported on first use."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rnnsearch_tf
import rnnsearch_tf.client

# Run in a process of its own: names what is loaded after each step.
FRESH = """
import json, sys
def loaded():
    return sorted({"keras", "numpy", "tensorflow"} & set(sys.modules))
import rnnsearch_tf
steps = {"import": loaded()}
from rnnsearch_tf import Config, InputError, PRESETS
steps["config"] = loaded()
from rnnsearch_tf import BahdanauAttention
steps["layer"] = "keras" in loaded()
from rnnsearch_tf import Translator
steps["translator"] = loaded()
import rnnsearch_tf.decoding.model_search, rnnsearch_tf.models.translation_model
checks = {"jaxtyping", "beartype"}  # for tests alone
steps["checks"] = sorted(checks & set(sys.modules))
print(json.dumps(steps))
"""


def test_a_fresh_process_loads_only_what_it_uses():
    finished = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr.decode()
    assert json.loads(finished.stdout) == {
        "import": [],
        "config": [],
        "layer": True,
        "translator": ["keras", "numpy", "tensorflow"],
        "checks": [],
    }


@pytest.mark.parametrize("name", rnnsearch_tf.__all__)
def test_every_public_name_is_there_and_its_own(name):
    value = getattr(rnnsearch_tf, name)
    assert name in dir(rnnsearch_tf)
    if name != "PRESETS":
        assert value.__name__ == name
        assert value.__doc__


def test_subpackages_are_attributes():
    code = "import rnnsearch_tf; print(rnnsearch_tf.text.__name__, rnnsearch_tf.limits.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rnnsearch_tf.text rnnsearch_tf.limits\n"


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="'rnnsearch_tf' has no attribute 'Transformer'"):
        rnnsearch_tf.Transformer  # type: ignore[attr-defined]  # noqa: B018
    code = "import rnnsearch_tf; rnnsearch_tf.Translater"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("Did you mean: 'Translator'?\n")
    with pytest.raises(ImportError, match="cannot import name 'Transformer'"):
        from rnnsearch_tf import Transformer  # type: ignore[attr-defined]  # noqa: F401


def test_editors_and_type_checkers_see_the_same_names():
    tree = ast.parse(Path(rnnsearch_tf.__file__).read_text("utf-8"))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert sorted(seen) == sorted(rnnsearch_tf.__all__)
    for name, module in seen.items():
        assert getattr(rnnsearch_tf, name) is getattr(importlib.import_module(module), name)


def test_the_api_page_has_every_public_name():
    page = (Path(__file__).parent.parent / "docs" / "api.md").read_text("utf-8")
    shown = re.findall(r"^::: rnnsearch_tf\.(.+)$", page, re.MULTILINE)
    of_client = {name.removeprefix("client.") for name in shown if name.startswith("client.")}
    assert of_client <= set(rnnsearch_tf.client.__all__)
    own = [name for name in shown if not name.startswith("client.")]
    assert sorted(own) == sorted(rnnsearch_tf.__all__)


def test_type_hints_are_declared():
    assert (Path(rnnsearch_tf.__file__).parent / "py.typed").exists()
