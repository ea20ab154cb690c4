"""Imports run one way; the layers need no TensorFlow; only the scripts know flags."""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import rnnsearch_tf

PACKAGE = Path(rnnsearch_tf.__file__).parent

# Each part of the package imports parts of its own floor or below; a new module is on the third.
FLOORS = [
    {
        "cache",
        "errors",
        "files",
        "graph",
        "nonbreaking_prefixes",
        "permutation",
        "pipelines",
        "progress",
    },
    {"client", "config", "text", "vocabulary", "layers", "losses", "beam_search"},
    {
        "models",
        "corpus",
        "dataset",
        "optimizer",
        "pairs",
        "preparation",
        "prepared_text",
        "ensemble",
        "row_blocks",
        "search",
        "text_ids",
        "tokenizers",
        "word_links",
        "update",
    },
    {"training", "translator", "evaluation", "model_directory", "experiment"},
    {"scripts"},
]
STANDING_ALONE = FLOORS[0] | FLOORS[1]  # import nothing of ours but the lowest floor
WITHOUT_TENSORFLOW = (
    "layers", "models", "ensemble", "losses", "config", "corpus", "vocabulary", "errors", "files",
)  # fmt: skip
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part(module: str) -> str:
    """rnnsearch_tf.layers.gru -> layers; "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def floor(module: str) -> int:
    return next((i for i, parts in enumerate(FLOORS) if part(module) in parts), 3)


def import_nodes(node: ast.AST, inside_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif inside_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from import_nodes(child, inside_functions)


def imported(module: str, inside_functions: bool = True) -> set[str]:
    """The full names a module imports: "absl.flags", "rnnsearch_tf.layers.gru.GRUCell"."""
    names = set()
    for node in import_nodes(ast.parse(PATHS[module].read_text("utf-8")), inside_functions):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{module} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def our_modules(module: str) -> set[str]:
    """The modules of the package that a module imports, also inside functions."""
    ours = {name for name in imported(module) if name.split(".")[0] == "rnnsearch_tf"}
    return {name if name in PATHS else name.rpartition(".")[0] for name in ours} - {module}


def test_the_package_is_found():
    assert {"rnnsearch_tf.layers.gru", "rnnsearch_tf.scripts.train"} <= set(PATHS)
    assert our_modules("rnnsearch_tf.layers.gru") == {"rnnsearch_tf.layers.initializers"}


@pytest.mark.parametrize("module", PATHS)
def test_imports_point_down(module):
    for other in our_modules(module):
        assert other in PATHS, f"{module} imports {other}, which is no module"
        assert floor(other) <= floor(module), f"{module} imports {other}"
        if part(module) in STANDING_ALONE and part(other) != part(module):
            assert part(other) in FLOORS[0], f"{module} imports {other}"


def test_there_are_no_cycles():
    graph = {module: our_modules(module) for module in PATHS}
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the cycle


@pytest.mark.parametrize("module", [m for m in PATHS if part(m) in WITHOUT_TENSORFLOW])
def test_layers_and_models_import_no_tensorflow(module):
    for name in imported(module, inside_functions=False):
        assert name.split(".")[0] not in ("tensorflow", "tensorflow_datasets")


@pytest.mark.parametrize("module", [m for m in PATHS if part(m) != "scripts"])
def test_only_scripts_know_flags(module):
    assert not imported(module) & {"absl.flags", "absl.app", "argparse", "optparse"}


@pytest.mark.parametrize("module", PATHS)
def test_every_module_has_a_name_that_says_something(module):
    assert not FORBIDDEN_NAMES & set(module.split("."))
