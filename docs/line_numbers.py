"""Update the line numbers in docs/equations.md from the names beside them.

    python docs/line_numbers.py

A name stands in one cell of a table and its place in the next:

    | `GRUCell.call` | [layers/gru.py:94](../rnnsearch_tf/layers/gru.py#L94) |
"""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

EQUATIONS = Path(__file__).resolve().parent / "equations.md"
PACKAGE = EQUATIONS.parent.parent / "rnnsearch_tf"

_PLACE = re.compile(
    r"`(?P<name>[\w.]+)` \| \[(?P<file>[\w/]+\.py):\d+\]\(\.\./rnnsearch_tf/(?P=file)#L\d+\)"
)


def renumbered(text: str, package: Path = PACKAGE) -> str:
    """Return the text with the line at which each name is defined.

    Raises:
        LookupError: a name is not defined in its file.
        OSError: there is no such file.
    """

    def place(match: re.Match[str]) -> str:
        name, file = match["name"], match["file"]
        line = line_of(name, package / file)
        return f"`{name}` | [{file}:{line}](../rnnsearch_tf/{file}#L{line})"

    return _PLACE.sub(place, text)


def line_of(name: str, path: Path) -> int:
    """Return the line of a file at which a name is first defined.

    Args:
        name: of a class, function or variable, after the names of the scopes around it:
            `BahdanauAttention.call.energies`.
        path: a Python file.

    Raises:
        LookupError: the name is not defined there.
    """
    node: ast.AST = _tree(path)
    for part in name.split("."):
        definition = next((child for child in _statements(node) if part in _defined(child)), None)
        if definition is None:
            raise LookupError(f"{path}: no {part} of {name}")
        node = definition
    return node.lineno  # type: ignore[attr-defined]


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a node in order, without those of classes and functions in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.ClassDef | ast.FunctionDef):
            yield from _statements(child)


def _defined(node: ast.AST) -> set[str]:
    """Return the names that a statement defines; `self.W` is W."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return {node.id if isinstance(node, ast.Name) else node.attr}
    return set()


if __name__ == "__main__":
    EQUATIONS.write_text(renumbered(EQUATIONS.read_text("utf-8")), "utf-8")
